#!/usr/bin/env python3
"""Measures compare-traces against orjson on the same two files, in one run, and checks the targets.

    crates/tracediff/benches/targets.py --bin target/release/compare-traces --generator GEN.py [--size-mb 300]
    crates/tracediff/benches/targets.py --bin target/release/compare-traces --pair amd.json nvidia.json

Needs Python 3.9+ and, for the yardstick, orjson (`pip install orjson`). GEN.py writes a pair of synthetic traces
(`GEN.py --pair DIR --size-mb N`). Every figure is a ratio: to T0, the time orjson.loads takes for the two files one after the
other, measured between the runs, or to S, the size of the inflated files. Exit status 1 when a `must` is missed.
"""
import argparse
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

YARDSTICK = """
import sys, time
import orjson
total = 0.0
for path in sys.argv[1:]:
    data = open(path, "rb").read()
    start = time.perf_counter()
    orjson.loads(data)
    total += time.perf_counter() - start
print(total)
"""


def yardstick(pair):
    done = subprocess.run([sys.executable, "-c", YARDSTICK, *map(str, pair)], capture_output=True, text=True, check=True)
    return float(done.stdout)


def run(command, env=None):
    """Wall seconds, CPU seconds, peak resident bytes of one run."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def best(command, repeat):
    runs = [run(command) for _ in range(repeat)]
    return tuple(min(figures) for figures in zip(*runs))


class Table:
    def __init__(self):
        self.rows, self.failed = [], False

    def add(self, case, value, must, aim=None):
        self.failed |= value > must
        verdict = "MISSED" if value > must else "aim" if aim is not None and value <= aim else "must"
        self.rows.append((case, f"{value:.3f}", f"{must:g}", "" if aim is None else f"{aim:g}", verdict))

    def show(self):
        head = ("case", "measured", "must", "aim", "reached")
        print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
        for row in self.rows:
            print("| " + " | ".join(row) + " |")


def small_pair(binary, folder, table, repeat):
    """A pair of about 50 KB: process start, thread start and output count here."""
    pair = []
    for name in ("a", "b"):
        events = [{"ph": "X", "cat": "kernel", "name": f"Cijk_{i % 7}", "pid": 0, "tid": 7, "ts": i * 10.125, "dur": 5.5,
                   "args": {"device": 0, "stream": 7, "correlation": i}} for i in range(370)]
        path = folder / f"{name}50k.json"
        path.write_text(json.dumps({"traceEvents": events}))
        pair.append(path)
    # The shell's own cost of starting a process is taken off by a run of --version.
    wall = min(run([binary, *pair, "--output", folder / "small.json", "--format", "json"])[0] for _ in range(10 * repeat))
    start = min(run([binary, "--version"])[0] for _ in range(10 * repeat))
    table.add("50 KB pair, ms wall", 1000 * wall, 20, 5)
    print(f"(--version alone: {1000 * start:.3f} ms)", file=sys.stderr)


def ten_pairs(binary, traces, folder, table, repeat):
    """Ten pairs of a list against ten single runs."""
    pairs = [(traces[i % len(traces)], traces[(i + 1 + i // len(traces)) % len(traces)]) for i in range(10)]
    listing = folder / "pairs.yaml"
    listing.write_text("pairs:\n" + "".join(
        f"- {{name: p{i}, trace1: {json.dumps(str(a))}, trace2: {json.dumps(str(b))}}}\n" for i, (a, b) in enumerate(pairs)))
    together = best([binary, "--pairs", listing, "--jobs", "2", "--output-dir", folder / "pairs", "--format", "json"], repeat)[0]
    single = sum(best([binary, a, b, "--format", "json", "--output", folder / "single.json"], repeat)[0] for a, b in pairs)
    table.add("ten pairs --jobs 2, of ten single runs", together / single, 0.6)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--generator", type=pathlib.Path)
    parser.add_argument("--pair", type=pathlib.Path, nargs=2)
    parser.add_argument("--size-mb", type=int, default=300)
    parser.add_argument("--large-mb", type=int, help="also a pair of that size, against the first (1000 for the target)")
    parser.add_argument("--single-step-layers", type=int, help="also a pair of one single step with so many layers (15200 for a million frames)")
    parser.add_argument("--eager", action="store_true", help="also a pair of the same size in which every step is eager, with Python frames")
    parser.add_argument("--small", type=pathlib.Path, nargs="*", default=[], help="small traces for the list of ten pairs")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--work", type=pathlib.Path, help="folder for generated files [default: a temporary one]")
    a = parser.parse_args()
    if not a.pair and not a.generator:
        parser.error("--generator or --pair is needed")
    work = a.work or pathlib.Path(tempfile.mkdtemp(prefix="compare-traces-"))
    work.mkdir(parents=True, exist_ok=True)
    binary = a.bin.resolve()
    try:
        measure(a, binary, work)
    finally:
        if not a.work:
            shutil.rmtree(work)


def generate(a, work, name, *options):
    folder = work / f"pair{name}"
    pair = [folder / "amd.json", folder / "nvidia.json"]
    if not all(path.exists() for path in pair):
        folder.mkdir(exist_ok=True)
        subprocess.run([sys.executable, a.generator, "--pair", folder, *options], check=True)
    return pair


def per_byte(figure, pair):
    return figure / sum(path.stat().st_size for path in pair)


def measure(a, binary, work):
    pair = a.pair or generate(a, work, a.size_mb, "--size-mb", str(a.size_mb))
    zipped = [work / (path.name + ".gz") for path in pair]
    for path, out in zip(pair, zipped):
        if not out.exists():
            with open(path, "rb") as source, gzip.open(out, "wb", compresslevel=6) as target:
                shutil.copyfileobj(source, target, 1 << 20)
    size = sum(path.stat().st_size for path in pair)
    out = ["--format", "json", "--output", work / "out.json"]
    t0 = min(yardstick(pair) for _ in range(a.repeat))
    plain = best([binary, *pair, *out], a.repeat)
    packed = best([binary, *zipped, *out], a.repeat)
    full = best([binary, *pair, "--full", *out], a.repeat)
    compat = best([binary, *pair, "--compat", "0.1.33", *out], a.repeat)
    no_stacks = best([binary, *pair, "--no-stacks", *out], a.repeat)
    t0 = min([t0] + [yardstick(pair) for _ in range(a.repeat)])
    table = Table()
    table.add("pair, wall / T0", plain[0] / t0, 0.10, 0.05)
    table.add("pair, CPU / T0", plain[1] / t0, 0.15, 0.08)
    table.add("pair as gz, wall / T0", packed[0] / t0, 0.18, 0.10)
    table.add("--full / plain, wall", full[0] / plain[0], 1.3)
    table.add("--compat 0.1.33 / plain, wall", compat[0] / plain[0], 1.5)
    table.add("--no-stacks / plain, CPU", no_stacks[1] / plain[1], 1.05)
    table.add("peak memory / S", plain[2] / size, 1.3)
    # A mapped file counts as resident while it is read; as gz nothing is mapped, so that is what the tool itself needs.
    table.add("peak memory beyond the mapped files / S", packed[2] / size, 1.3, 0.4)
    if a.large_mb and a.generator:
        large = generate(a, work, a.large_mb, "--size-mb", str(a.large_mb))
        table.add(f"pair of {a.large_mb} MB / this pair, wall", best([binary, *large, *out], a.repeat)[0] / plain[0], 4.0)
    odd = []
    if a.single_step_layers and a.generator:
        odd.append(("one single step", generate(a, work, "-step", "--steps", "1", "--layers", str(a.single_step_layers))))
    if a.eager and a.generator:
        odd.append(("all steps eager", generate(a, work, "-eager", "--size-mb", str(a.size_mb), "--prefill-every", "1")))
    for name, other in odd:
        cpu = best([binary, *other, *out], a.repeat)[1]
        table.add(f"{name}, CPU per byte / this pair", per_byte(cpu, other) / per_byte(plain[1], pair), 2.0)
    if len(a.small) >= 3:
        ten_pairs(binary, [path.resolve() for path in a.small], work, table, a.repeat)
    small_pair(binary, work, table, a.repeat)
    print(f"S = {size / 1e6:.0f} MB, {os.cpu_count()} cores, best of {a.repeat}\n")
    table.show()
    sys.exit(1 if table.failed else 0)


if __name__ == "__main__":
    main()
