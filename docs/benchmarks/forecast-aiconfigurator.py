#!/usr/bin/env python3
"""AIConfigurator's forecasts of measured serving points, beside perfdb's on the same rows.

usage: forecast-aiconfigurator.py POINTS.csv PERFDB.jsonl AIC.jsonl

AIC.jsonl is made by calling `cli_estimate` of the package aiconfigurator with the row's parallelism and number formats: with the row's
version of the framework, else with the package's default one, as the project's own tool for its accuracy does. Lines that are there
already are kept, so that a run can be continued. PERFDB.jsonl is what `perfdb forecast --points POINTS.csv ... -o PERFDB.jsonl` wrote.

Where the package is not installed, AIC.jsonl is read as it is; without both there is nothing to compare, and a line says so.
"""

import collections
import contextlib
import csv
import json
import os
import sys

SIZES = ["batch_size", "tp_size", "pp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size"]
# What the package calls models that lists have by a newer name of the same weights.
BUNDLED = {"meta-llama/Llama-3.1-70B": "meta-llama/Meta-Llama-3.1-70B"}
GROUPS = {"dense": ["Qwen3-32B", "Llama"], "latent attention": ["DeepSeek", "Kimi", "GLM"], "experts": [""]}


def read(path):
    if not os.path.exists(path):
        return {}
    return {answer["id"]: answer for answer in map(json.loads, open(path))}


def estimate(row, estimator):
    arguments = dict(
        model_path=BUNDLED.get(row["model_path"], row["model_path"]),
        system_name=row["system"],
        mode="agg",
        backend_name=row["backend"],
        isl=int(row["isl"]),
        osl=int(row["osl"]),
        gemm_quant_mode=row["gemm_quant_mode"] or None,
        moe_quant_mode=row["moe_quant_mode"] or None,
        **{size: int(float(row[size])) for size in SIZES if row.get(size)},
    )
    reason = None
    for version in dict.fromkeys([row["backend_version"] or None, None]):
        try:
            with contextlib.redirect_stdout(sys.stderr):
                found = estimator(backend_version=version, **arguments)
            return {"tpot_ms": found.tpot, "ttft_ms": found.ttft}
        except Exception as error:  # What it refuses is counted as not answered.
            reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
    return {"error": reason}


def fill(points, path):
    known = read(path)
    try:
        from aiconfigurator.cli.api import cli_estimate
    except ImportError as error:
        print(f"aiconfigurator is not installed ({error}): {len(known)} of its forecasts are read from {path}", file=sys.stderr)
        return known
    with open(path, "a") as out:
        for row in points:
            if row["id"] not in known:
                known[row["id"]] = {"id": row["id"], **estimate(row, cli_estimate)}
                print(json.dumps(known[row["id"]]), file=out, flush=True)
    return known


def error(answer, row, key):
    return abs(answer[f"{key}_ms"] / float(row[f"silicon_{key}_ms"]) - 1) * 100


def figures(errors):
    errors = sorted(errors)
    return f"{sum(errors) / len(errors):7.1f} {errors[len(errors) // 2]:7.1f}"


def main():
    points, own, other = sys.argv[1:]
    rows = list(csv.DictReader(open(points)))
    perfdb, aic = read(own), fill(rows, other)
    if not aic:
        sys.exit("no forecasts of aiconfigurator: nothing to compare")
    answered = lambda answer: bool(answer) and (answer.get("tpot_ms") or 0) > 0
    both = [row for row in rows if answered(perfdb.get(row["id"])) and answered(aic.get(row["id"]))]
    count = lambda answers: sum(answered(answers.get(row["id"])) for row in rows)
    print(f"{len(rows)} points: perfdb answers {count(perfdb)}, aiconfigurator {count(aic)} of {len(aic)} asked, both {len(both)}")
    if not both:
        return
    names = collections.OrderedDict()
    for row in both:
        group = next(name for name, marks in GROUPS.items() if any(mark in row["model_path"] for mark in marks))
        for name in (group, f"  {row['model_path'].split('/')[-1]}", f"  {row['backend']}", "all"):
            names.setdefault(name, []).append(row)
    print(f"{'absolute error of TPOT, %':32}{'points':>7}   perfdb mean, median   aiconfigurator mean, median")
    for name in sorted(names, key=lambda name: (name == "all", name.startswith("  "), name)):
        chosen = names[name]
        ours, theirs = ([error(answers[row["id"]], row, "tpot") for row in chosen] for answers in (perfdb, aic))
        print(f"{name:32}{len(chosen):7}{figures(ours):>22}{figures(theirs):>30}")
    few = [row for row in both if float(row["batch_size"]) <= 8 and float(row["silicon_ttft_ms"] or 0) > 0]
    if few:
        ours, theirs = ([error(answers[row["id"]], row, "ttft") for row in few] for answers in (perfdb, aic))
        print(f"{'TTFT at a batch up to 8':32}{len(few):7}{figures(ours):>22}{figures(theirs):>30}")


if __name__ == "__main__":
    main()
