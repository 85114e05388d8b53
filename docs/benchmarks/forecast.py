#!/usr/bin/env python3
"""Error and coverage of forecasts with constants fitted on other models, and the constants of the program.

usage: forecast.py POINTS.csv OUT.jsonl [CALIBRATION.json]

OUT.jsonl is what `perfdb forecast --points POINTS.csv ... -o OUT.jsonl` wrote. Each model is judged by constants of the other models;
the calibration that is written is fitted on all of them. Needs numpy and scipy.
"""

import collections
import csv
import json
import sys

import numpy as np
from scipy.optimize import least_squares

FAMILIES = ["Qwen3-32B", "Qwen3-235B", "Qwen3.5", "Llama-3.1-70B", "MiniMax", "DeepSeek", "gpt-oss", "Llama-3.1-8B", "Kimi", "GLM"]
GROUPS = {"dense": ["Qwen3-32B", "Llama"], "mla": ["DeepSeek", "Kimi", "GLM"], "moe": [""]}
FRAMEWORKS = ["vllm", "trtllm", "sglang"]
# Frameworks whose steps run prefills and decodes together unless they are told otherwise.
MIXES = {"vllm", "trtllm"}
# Microseconds of six small kernels around a layer of experts, where a framework calls them one by one.
ROUTING_US = {"vllm": 12.0, "sglang": 12.0, "trtllm": 0.0}
# Interference of prefills, microseconds a sum over devices waits; where they start, and how far they usually go.
START, SPREAD, BOUNDS = np.array([1.0, 2.0]), np.array([0.3, 4.0]), ([0.3, 0], [1.3, 15])
# Share of each other prefill that a first token waits for, milliseconds of the front end, decode steps before it.
FIRST, FIRST_SPREAD, FIRST_BOUNDS = np.array([0.1, 50.0, 0.5]), np.array([0.1, 100.0, 0.5]), ([0, 0, 0], [1, 600, 5])


def batch(row):
    """Requests of a group; lists divide them among N x N groups where there are N, as the program reads them."""
    sizes = [int(float(row[name] or 1)) for name in ("tp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size")]
    squared = sizes[2] == sizes[3] > 2 and sizes[0] == 1 and sizes[1] == sizes[3] ** 2
    return float(row["batch_size"]) * (sizes[3] if squared else 1)


def read(points, answers):
    measured = {row["id"]: row for row in csv.DictReader(open(points))}
    rows = []
    for line in open(answers):
        answer = json.loads(line)
        row = measured.get(answer["id"])
        if "tpot_ms" not in answer or not row:
            continue
        model = row["model_path"]
        rows.append(
            dict(
                family=next((name for name in FAMILIES if name in model), model),
                group=next(name for name, marks in GROUPS.items() if any(mark in model for mark in marks)),
                framework=row["backend"],
                sweep=(model, row["system"], row["gemm_quant_mode"]),
                batch=batch(row),
                output=float(row["osl"]),
                tpot=float(row["silicon_tpot_ms"]),
                ttft=float(row["silicon_ttft_ms"] or 0),
                **{key: float(answer[key]) for key in ("decode_ms", "prefill_ms", "joined_ms", "collectives", "layers", "expert_layers")},
            )
        )
    return rows


def column(rows, key):
    return np.array([row[key] for row in rows], float)


def weights(rows):
    """Rows of one sweep are near copies of each other."""
    count = collections.Counter((row["framework"], row["sweep"]) for row in rows)
    return np.array([1 / np.sqrt(count[(row["framework"], row["sweep"])]) for row in rows])


def steps(rows, constants):
    """Milliseconds of a decode step and of a prefill."""
    found = np.array([constants[row["framework"]][1] for row in rows])
    routing = np.array([ROUTING_US[row["framework"]] for row in rows]) * column(rows, "expert_layers")
    waiting = (found * column(rows, "collectives") + routing) / 1e3
    return column(rows, "decode_ms") + waiting, column(rows, "prefill_ms") + waiting


def first_token(rows, constants):
    share, start_ms, own = np.array([constants[row["framework"]][2:] for row in rows]).T
    decode, prefill = steps(rows, constants)
    return prefill * (1 + share * (column(rows, "batch") - 1)) + start_ms + own * decode


def per_token(rows, constants):
    """Of the requests in flight those that wait for their first token delay nobody."""
    decode, prefill = steps(rows, constants)
    delay = np.where([row["framework"] in MIXES for row in rows], column(rows, "joined_ms"), prefill)
    interference = np.array([constants[row["framework"]][0] for row in rows])
    delayed = interference * (column(rows, "batch") - 1) / column(rows, "output") * delay
    waits = first_token(rows, constants) / column(rows, "output")
    half = (decode + delayed - waits) / 2
    return half + np.sqrt(half * half + decode * waits)


def robust(ratios, weight, start, spread, bounds, prior, width):
    """Constants by logarithms of forecast over measured; points far from all others lose their weight (Cauchy)."""
    found = start
    for _ in range(8):
        own = weight / np.sqrt(1 + (np.log(ratios(found)) / width) ** 2)
        found = least_squares(lambda x: np.r_[own * np.log(ratios(x)), prior * (x - start) / spread], found, bounds=bounds).x
    return found


def fit(rows):
    """Interference, microseconds of a sum, share, milliseconds of the front end, decode steps: by framework."""
    constants = {}
    for framework in FRAMEWORKS:
        found = np.r_[START, FIRST]
        own = [row for row in rows if row["framework"] == framework]
        timed = [row for row in own if row["ttft"] > 0]
        for _ in range(2 if timed else 0):
            ratios = lambda x: first_token(timed, {framework: np.r_[found[:2], x]}) / column(timed, "ttft")
            found = np.r_[found[:2], robust(ratios, weights(timed), FIRST, FIRST_SPREAD, FIRST_BOUNDS, 0.1, 0.2)]
            ratios = lambda x: per_token(own, {framework: np.r_[x, found[2:]]}) / column(own, "tpot")
            found = np.r_[robust(ratios, weights(own), START, SPREAD, BOUNDS, 0.3, 0.15), found[2:]]
        constants[framework] = found
    return constants


def quantile(values, weight, part):
    order = np.argsort(values)
    below = (np.cumsum(weight[order]) - weight[order] / 2) / weight.sum()
    return float(np.interp(part, below, values[order]))


def main():
    rows = read(sys.argv[1], sys.argv[2])
    tpot, ttft = np.zeros(len(rows)), np.zeros(len(rows))
    for family in {row["family"] for row in rows}:
        constants = fit([row for row in rows if row["family"] != family])
        at = [i for i, row in enumerate(rows) if row["family"] == family]
        own = [rows[i] for i in at]
        tpot[at], ttft[at] = per_token(own, constants), first_token(own, constants)
    miss = np.log(column(rows, "tpot") / tpot)
    has_first = column(rows, "ttft") > 0
    miss_first = np.log(np.maximum(column(rows, "ttft"), 1e-3) / ttft)
    weight = weights(rows)
    constants = fit(rows)
    frameworks = np.array([row["framework"] for row in rows])
    everywhere = np.ones(len(rows), bool)

    def interval(values, chosen, framework, parts=(0.05, 0.95)):
        """Half of it from the framework's own residuals, half from all."""
        own = chosen & (frameworks == framework) if framework else chosen
        ends = [(quantile(values[own], weight[own], part) + quantile(values[chosen], weight[chosen], part)) / 2 for part in parts]
        return {"low": round(ends[0], 3), "high": round(ends[1], 3)}

    found = {}
    for framework in FRAMEWORKS:
        interference, collective_us, share, start_ms, own_steps = constants[framework]
        mask = frameworks == framework
        found[framework] = {
            "factor": 1.0, "host_ms": 0.0, "collective_us": round(collective_us, 2), "routing_us": ROUTING_US[framework], "mixes": framework in MIXES, "interference": round(interference, 3),
            "waiting": round(share, 4), "start_ms": round(start_ms, 1), "steps": round(own_steps, 3),
            "tpot": interval(miss, everywhere, framework), "ttft": interval(miss_first, has_first, framework),
            "points": [int(mask.sum()), len({row["family"] for row in rows if row["framework"] == framework})],
        }
    found["other"] = {
        "factor": 1.0, "host_ms": 0.0, "collective_us": 2.0, "routing_us": 12.0, "mixes": True, "interference": 0.9, "waiting": 0.1, "start_ms": 100.0, "steps": 0.5,
        "tpot": interval(miss, everywhere, None, (0.03, 0.97)), "ttft": interval(miss_first, has_first, None, (0.03, 0.97)),
        "points": [len(rows), len({row["family"] for row in rows})],
    }
    low, high = (np.array([found[name]["tpot"][end] for name in frameworks]) for end in ("low", "high"))
    held = (miss >= low) & (miss <= high)
    error = np.abs(np.exp(-miss) - 1) * 100
    print(f"{'':24}{'points':>8}{'mean %':>8}{'median':>8}{'held %':>8}")
    for name, key in [(name, "group") for name in ("dense", "moe", "mla")] + [(name, "family") for name in sorted({r["family"] for r in rows})]:
        mask = np.array([row[key] == name for row in rows])
        print(f"{name:24}{mask.sum():8}{error[mask].mean():8.1f}{np.median(error[mask]):8.1f}{held[mask].mean() * 100:8.0f}")
    print(f"{'all':24}{len(rows):8}{error.mean():8.1f}{np.median(error):8.1f}{held.mean() * 100:8.0f}")
    print(f"median ratio of the ends of an interval: {np.median(np.exp(high - low)):.2f}")
    few = has_first & (column(rows, "batch") <= 8)
    late = np.abs(np.exp(-miss_first[few]) - 1) * 100
    print(f"TTFT at a batch up to 8: {few.sum()} points, mean {late.mean():.1f} %, median {np.median(late):.1f} %")
    if len(sys.argv) > 3:
        json.dump({"usual_deviation": 0.1, "frameworks": found}, open(sys.argv[3], "w"), indent=2)


if __name__ == "__main__":
    main()
