#!/usr/bin/env python3
"""How often verdicts of `perfdb trace diff --before --after` are wrong, and how often they find what is planted.

usage: runs.py PROGRAM [--traces DIR] [--reports N] [--found N] [--pool N] [--seed N]

False alarms: steps of one trace, each as a run, in all ways to give them to two sides; and runs of made-up servers, drawn from one
pool of traces. A report is false if it says `slower` or `faster` of the elapsed time or
of any row. Power: the operator of a made-up server takes longer in the runs after. Every trace is read by PROGRAM, once, into the
JSON that it stores runs in; what is drawn and planted is drawn and planted there. Prints the tables of runs.md. Needs the
standard library and verdicts.py alone.
"""

import argparse
import copy
import itertools
import json
import os
import random
import subprocess
import tempfile

import verdicts

# Servers of which pools are made. `pass_` and `call` are what steps and calls vary by, `run` what all operations of a run vary by
# together, `own` what each operation of a step varies by, `of_run` what each operation of a run varies by on its own.
USUAL = verdicts.USUAL | dict(passes=10, layers=4, run=0.005, pass_=0.01, of_run=0.003)
SERVERS = (
    ("runs vary by 0.5 %, steps by 1 %, operators of a run by 0.3 %", {}),
    ("runs vary by 2 %", dict(run=0.02)),
    ("runs vary by 2 %, operators by 2 % on their own", dict(run=0.02, of_run=0.02)),
    ("operators vary by 2 % on their own, runs by nothing", dict(run=0.0, of_run=0.02)),
    ("12 operators, calls vary by 12 %", dict(operations=12, call=0.12)),
    ("runs and steps do not vary", dict(run=0.0, of_run=0.0, pass_=0.0)),
    ("steps inherit half of the deviation of the one before", dict(passes=20, memory=0.5, pass_=0.02)),
    ("3 steps a run", dict(passes=3)),
    ("one step a run", dict(passes=1)),
    ("heavy tails: Student's t with 3 degrees of freedom", dict(tail="t")),
    ("1 call of 50 takes three times as long", dict(tail="interrupted")),
    ("clocks fall by 4 % within each run", dict(fall=0.04)),
)
SIDES = (3, 5)
# Runs of a side, and steps of a run, with which planted differences are looked for.
FOUND = ((3, 10), (5, 10), (10, 10), (5, 3), (5, 1))
PLANTED = (1, 2, 5)


def recorded(program, folder, traces):
    """The runs that the program keeps of traces; nothing of traces that it refuses."""
    path = os.path.join(folder, "recorded.json")
    done = subprocess.run([program, "trace", "diff", "--after", *traces, "-o", path, "-q"], capture_output=True, text=True)
    if done.returncode:
        return []
    with open(path) as file:
        return json.load(file)["after"]


def stored(folder, name, runs):
    path = os.path.join(folder, name)
    runs = [run | {"path": f"{name}-{number}"} for number, run in enumerate(runs)]
    with open(path, "w") as file:
        json.dump({"format": "perfdb-runs", "format_version": 1, "before": [], "after": runs}, file)
    return path


def compared(program, folder, before, after):
    sides = [stored(folder, "before.json", before), stored(folder, "after.json", after)]
    command = [program, "trace", "diff", "--before", sides[0], "--after", sides[1], "--format", "json", "-q"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def part(run, steps):
    """A run of some of the steps of another one."""
    rows = [row | {"ms": [row["ms"][step] for step in steps]} for row in run["rows"]]
    share = len(steps) / len(run["steps"])
    rows = [row | {"kernels": row["kernels"] * share} for row in rows]
    return run | {"steps": [run["steps"][step] for step in steps], "rows": rows}


def splits(steps, side):
    """All ways to give steps to two sides of so many runs of one step each."""
    for chosen in itertools.combinations(range(steps), 2 * side):
        for before in itertools.combinations(chosen[1:], side):
            yield before, tuple(step for step in chosen if step not in before)


def is_false(report):
    rows = [report["elapsed"], *report["rows"]] if report["elapsed"] else []
    loud = [row["verdict"] in ("slower", "faster") for row in rows]
    return bool(loud and loud[0]), any(loud)


def rate(program, folder, pairs):
    """Reports; those with a false verdict on the elapsed time, and anywhere; and those refused as different workloads."""
    reports = of_elapsed = anywhere = refused = 0
    for before, after in pairs:
        report = compared(program, folder, before, after)
        found = is_false(report)
        reports, refused = reports + 1, refused + (report["verdict"] == "different workloads")
        of_elapsed, anywhere = of_elapsed + found[0], anywhere + found[1]
    return reports, of_elapsed, anywhere, refused


def percent(count, of):
    return f"{100 * count / of:.2g} %" if of else "-"


def line(name, found):
    reports, of_elapsed, anywhere, refused = found
    print(f"| {name} | {reports} | {percent(of_elapsed, reports)} | {percent(anywhere, reports)} | {refused} |", flush=True)


def added(lines):
    return tuple(map(sum, zip(*lines)))


HEADER = "| {} | reports | false on the elapsed time | anywhere | different workloads |\n|---|---|---|---|---|"


def public_traces(program, folder, options):
    print(HEADER.format("one trace, its steps as runs"))
    lines = []
    files = [os.path.join(at, name) for at, _, names in os.walk(options.traces) for name in names]
    for path in sorted(path for path in files if path.endswith((".json", ".json.gz"))):
        runs = recorded(program, folder, [path])
        steps = len(runs[0]["steps"]) if runs else 0
        for side in range(1, steps // 2 + 1):
            pairs = [[[part(runs[0], [step]) for step in steps] for steps in both] for both in splits(steps, side)]
            lines.append(rate(program, folder, pairs))
            runs_of_side = "1 run" if side == 1 else f"{side} runs"
            line(f"{os.path.relpath(path, options.traces)}, {steps} steps: {runs_of_side} a side", lines[-1])
    line("**all of these**", added(lines))


def pool(program, folder, seed, row, count):
    """Runs of one server."""
    rng, traces = random.Random(seed), []
    for number in range(count):
        own = [random_factor(rng, row["of_run"]) for _ in verdicts.KERNELS]
        traces.append(verdicts.written(folder, f"run{number}.json", verdicts.server(rng, row, of_run=own)))
    return recorded(program, folder, traces)


def random_factor(rng, deviation):
    return 1.0 + deviation * rng.gauss(0.0, 1.0)


def servers(program, folder, options):
    print(HEADER.format("made-up servers"))
    lines = []
    for number, (name, changes) in enumerate(SERVERS):
        runs = pool(program, folder, options.seed + number, USUAL | changes, options.pool)
        rng = random.Random(options.seed + number)

        def pairs(side):
            for _ in range(options.reports):
                drawn = rng.sample(runs, 2 * side)
                yield drawn[:side], drawn[side:]

        lines.append(added(rate(program, folder, pairs(side)) for side in SIDES))
        line(name, lines[-1])
    line("**all of these**", added(lines))


def planted(run, class_name, by):
    """A run in which the kernels of a class take longer, and every step by as much."""
    run = copy.deepcopy(run)
    row = {(row["kind"], row["name"]): row["ms"] for row in run["rows"]}
    more = [(by - 1.0) * ms for ms in row["class", class_name]]
    for key in (("class", class_name), ("part", "compute"), ("elapsed", "elapsed")):
        row[key][:] = [ms + added for ms, added in zip(row[key], more)]
    return run


def power(program, folder, options):
    print("| one operator slower by | " + " | ".join(f"{percent} %" for percent in PLANTED) + " |")
    print("|---" * (len(PLANTED) + 1) + "|")
    for number, (side, passes) in enumerate(FOUND):
        runs = pool(program, folder, options.seed + 100 + number, USUAL | dict(passes=passes), options.pool)
        cells = []
        for percent in PLANTED:
            rng, found, held, by = random.Random(options.seed + percent), 0, 0, 1 + percent / 100
            for _ in range(options.found):
                drawn = rng.sample(runs, 2 * side)
                after = [planted(run, "Attention", by) for run in drawn[side:]]
                report = compared(program, folder, drawn[:side], after)
                row = next(row for row in report["rows"] if row["name"] == "Attention")
                found += row["verdict"] == "slower"
                low, high = row["interval_percent"]
                held += low <= percent <= high
            cells.append(f"{100 * found / options.found:.0f} ({100 * held / options.found:.0f})")
        print(f"| {side} runs of {passes} step{'s'[:passes > 1]} a side | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--traces", help="folder of traces whose steps are given to both sides")
    parser.add_argument("--reports", type=int, default=200, help="reports of a made-up server and number of runs")
    parser.add_argument("--found", type=int, default=100, help="reports of a cell of planted differences")
    parser.add_argument("--pool", type=int, default=60, help="traces that runs of a made-up server are drawn from")
    parser.add_argument("--seed", type=int, default=2026)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.traces:
            public_traces(options.program, folder, options)
            print()
        if options.reports:
            servers(options.program, folder, options)
            print()
        if options.found:
            power(options.program, folder, options)


if __name__ == "__main__":
    main()
