#!/usr/bin/env python3
"""How often verdicts of `perfdb trace diff` are wrong, and how often they find what is planted, on made-up servers.

usage: verdicts.py PROGRAM [--runs N] [--found N] [--grid N] [--seed N] [--only TEXT]

Each row is a server of its own make: numbers of passes, layers and operations, how calls and passes vary, and with which
distribution. Both traces of a pair are drawn from the same server. A report is false if it says `slower` or `faster` of the
whole or of any operation. Prints the tables of verdicts.md: first servers of 8 layers and 4 operations by how much their passes
vary, then one pass each of runs that differ, then the other rows. Needs the standard library alone.
"""

import argparse
import json
import math
import os
import random
import subprocess
import tempfile

# Names that the program knows, one for each of twelve operations, with usual times in microseconds.
KERNELS = (
    ("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 23.0),
    ("void flash::flash_fwd_splitkv_kernel<Traits>(Params)", 14.0),
    ("void vllm::act_and_mul_kernel<c10::BFloat16>(int)", 5.0),
    ("void vllm::rms_norm_kernel<c10::BFloat16>(int)", 3.0),
    ("void vllm::rotary_embedding_kernel<c10::BFloat16>(int)", 2.6),
    ("void vllm::reshape_and_cache_flash_kernel<c10::BFloat16>(int)", 2.2),
    ("void at::native::vectorized_elementwise_kernel<4, add>(int)", 2.0),
    ("fused_moe_kernel", 61.0),
    ("void vllm::moe::topkGatingSoftmax<8, 128>(float*)", 4.2),
    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage)", 17.0),
    ("void at::native::index_elementwise_kernel<128>(int)", 2.4),
    ("void at::native::reduce_kernel<512, 1>(int)", 3.3),
)

# What is the same in all rows unless a row says otherwise: calls vary by 3 %, passes by 2 %, runs by nothing.
USUAL = dict(passes=10, layers=20, operations=6, call=0.03, pass_=0.02, run=0.0, tail=None, memory=0.0, fall=0.0, own=0.0)
USUAL |= dict(options=())
ROWS = (
    ("calls vary by 3 %, passes by 2 %", {}),
    ("5 passes", dict(passes=5)),
    ("5 passes that vary by 5 %", dict(passes=5, pass_=0.05)),
    ("7 passes of 3 layers", dict(passes=7, layers=3)),
    ("30 passes", dict(passes=30)),
    ("61 layers, 12 operations", dict(layers=61, operations=12)),
    ("5 passes, 12 operations, calls vary by 12 %", dict(passes=5, operations=12, call=0.12)),
    ("passes do not vary", dict(pass_=0.0)),
    ("each operation of a pass varies by 3 % on its own", dict(own=0.03)),
    ("heavy tails: Student's t with 3 degrees of freedom", dict(tail="t")),
    ("1 call of 50 takes three times as long", dict(tail="interrupted")),
    ("*passes inherit half of the deviation of the one before*", dict(passes=20, memory=0.5)),
    ("clocks fall by 4 % within each run", dict(passes=12, fall=0.04)),
    ("one pass; runs vary by 2 %", dict(passes=1, run=0.02, pass_=0.0)),
    ("one pass of 61 layers; runs vary by 2 %", dict(passes=1, layers=61, run=0.02, pass_=0.0)),
    ("3 passes; runs vary by 2 %", dict(passes=3, run=0.02)),
    ("10 passes; runs vary by 2 %, and `--run-variation 2` says so", dict(run=0.02, options=("--run-variation", "2"))),
    ("*10 passes; runs vary by 2 %*", dict(run=0.02)),
)
# How much passes vary in the table of the guide, and the servers of that table.
VARY = (0.0, 0.005, 0.01, 0.02, 0.03)
SMALL = dict(layers=8, operations=4)
# Numbers of passes that planted differences are looked for with.
FOUND = (5, 10)
PLANTED = (1, 2, 5, 10)


def deviation(rng, tail):
    """A draw with a standard deviation of about 1."""
    normal = rng.gauss(0.0, 1.0)
    if tail == "t":
        return normal / math.sqrt(sum(rng.gauss(0.0, 1.0) ** 2 for _ in range(3)) / 3) / math.sqrt(3)
    return normal


def server(rng, row, slower=None, by=1.0, of_run=None):
    """The events of a run: annotated decode passes; the operation `slower` takes `by` times as long, each one `of_run`."""
    kernels = KERNELS[: row["operations"]]
    events, now, launch, number = [], 1000.0, 1000.0, 1
    run = math.exp(row["run"] * rng.gauss(0.0, 1.0))
    common = 0.0
    for step in range(row["passes"]):
        kept = row["memory"]
        common = kept * common + math.sqrt(1 - kept * kept) * row["pass_"] * rng.gauss(0.0, 1.0)
        clock = run * math.exp(common) * (1 + row["fall"] * step / max(1, row["passes"] - 1))
        own = [math.exp(row["own"] * rng.gauss(0.0, 1.0)) for _ in kernels]
        own = [factor * more for factor, more in zip(own, of_run or [1.0] * len(own))]
        begin = launch = max(launch, now - 40.0)
        for _ in range(row["layers"]):
            for at, (name, usual) in enumerate(kernels):
                time = usual * clock * own[at] * math.exp(row["call"] * deviation(rng, row["tail"]))
                if row["tail"] == "interrupted" and rng.random() < 0.02:
                    time *= 3
                time = round(time * (by if at == slower else 1.0), 3)
                ids = {"correlation": number, "External id": number}
                call = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1}
                events.append(call | {"ts": round(launch, 3), "dur": 0.4, "args": ids})
                kernel = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7}
                where = {"device": 0, "stream": 7} | ids
                events.append(kernel | {"ts": round(now, 3), "dur": time, "args": where})
                now, launch, number = now + time + 0.5, launch + 0.5, number + 1
        step_name = "execute_context_0(0)_generation_8(8)"
        step = {"ph": "X", "cat": "user_annotation", "name": step_name, "pid": 1, "tid": 1, "args": {}}
        events.append(step | {"ts": round(begin - 0.2, 3), "dur": round(launch - begin + 0.2, 3)})
        now, launch = now + 20.0, launch + 1.0
    return events


def written(folder, name, events):
    path = os.path.join(folder, name)
    device = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0, "numSms": 132}
    with open(path, "w") as file:
        json.dump({"traceEvents": events, "deviceProperties": [device]}, file)
    return path


def reported(program, folder, rng, row, slower=None, by=1.0):
    first = written(folder, "a.json", server(rng, row))
    second = written(folder, "b.json", server(rng, row, slower, by))
    command = [program, "trace", "diff", first, second, "--format", "json", "--no-kernels", *row["options"]]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def compared(program, folder, rng, row, slower=None, by=1.0):
    found = reported(program, folder, rng, row, slower, by)["confidence"]
    return found["whole"], found["operations"]


def false_verdicts(program, folder, seed, row, runs):
    """Reports with a false verdict on the whole, and anywhere."""
    rng, of_whole, anywhere = random.Random(seed), 0, 0
    for _ in range(runs):
        whole, operations = compared(program, folder, rng, row)
        loud = [found["verdict"] in ("slower", "faster") for found in [whole, *operations]]
        of_whole, anywhere = of_whole + loud[0], anywhere + any(loud)
    return of_whole, anywhere


def false_reports_by_variation(program, folder, seed, runs):
    """Rows of reports with a false verdict, by passes and by how much these vary."""
    for number, passes in enumerate(FOUND):
        cells = []
        for at, vary in enumerate(VARY):
            row = USUAL | SMALL | dict(passes=passes, pass_=vary)
            cells.append(false_verdicts(program, folder, seed + 2000 + 10 * number + at, row, runs)[1])
        yield passes, cells


def single_passes(program, folder, seed, runs):
    """Reports on one pass each of runs that vary by 2 %: with a false verdict, and that say more than they can tell."""
    rng, false, loud = random.Random(seed + 3000), 0, 0
    row = USUAL | SMALL | dict(passes=1, layers=32, run=0.02, pass_=0.0)
    for _ in range(runs):
        found = reported(program, folder, rng, row)
        verdicts = [found["confidence"]["whole"], *found["confidence"]["operations"]]
        false += any(verdict["verdict"] in ("slower", "faster") for verdict in verdicts)
        claims = " takes " in found["verdict"] or bool(found["next_steps"])
        loud += verdicts[0]["verdict"] == "cannot tell" and claims
    return false, loud


def finds(program, folder, seed, row, runs, percent):
    """How often a planted operation is found, and how often its interval holds what was planted."""
    rng, found, held = random.Random(seed), 0, 0
    by = 1 + percent / 100
    for _ in range(runs):
        # The second operation: attention.
        _, operations = compared(program, folder, rng, row, 1, by)
        verdict = next(one for one in operations if one["operation"] == "Attention")
        found += verdict["verdict"] == "slower"
        low, high = verdict["interval"] or (0.0, math.inf)
        held += low <= by <= high
    return found, held


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--runs", type=int, default=400, help="comparisons of a row of false verdicts")
    parser.add_argument("--found", type=int, default=100, help="comparisons of a cell of planted differences")
    parser.add_argument("--grid", type=int, default=120, help="comparisons of a cell of the table of the guide")
    parser.add_argument("--seed", type=int, default=2024)
    parser.add_argument("--only", default="", help="rows whose name holds this")
    options = parser.parse_args()
    folder = tempfile.mkdtemp()
    if options.grid and not options.only:
        print("| passes vary by | " + " | ".join(f"{100 * vary:g} %" for vary in VARY) + " |")
        print("|---" * (len(VARY) + 1) + "|")
        for passes, cells in false_reports_by_variation(options.program, folder, options.seed, options.grid):
            print(f"| {passes} passes | " + " | ".join(map(str, cells)) + " |", flush=True)
        false, loud = single_passes(options.program, folder, options.seed, 100)
        print(f"\none pass each, runs vary by 2 %: {false} of 100 false, {loud} of 100 claim more than they can tell\n")
    if not options.runs:
        return
    print(f"| the same server twice, {options.runs} times | false verdict on the whole | anywhere |")
    print("|---|---|---|")
    for number, (name, changes) in enumerate(ROWS):
        if options.only not in name:
            continue
        whole, anywhere = false_verdicts(
            options.program, folder, options.seed + number, USUAL | changes, options.runs
        )
        print(f"| {name} | {100 * whole / options.runs:.2g} % | {100 * anywhere / options.runs:.2g} % |", flush=True)
    if options.only or not options.found:
        return
    print()
    print("| one operation slower by | " + " | ".join(f"{percent} %" for percent in PLANTED) + " |")
    print("|---" * (len(PLANTED) + 1) + "|")
    for number, passes in enumerate(FOUND):
        cells = []
        for at, percent in enumerate(PLANTED):
            row, seed = USUAL | dict(passes=passes), options.seed + 1000 + 10 * number + at
            found, held = finds(options.program, folder, seed, row, options.found, percent)
            cells.append(f"{100 * found / options.found:.0f} ({100 * held / options.found:.0f})")
        print(f"| {passes} passes | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
