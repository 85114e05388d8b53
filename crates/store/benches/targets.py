#!/usr/bin/env python3
"""Time and memory of parse-kernel-details and start-microbench --prof-path against a plain Python reader of the same input.

usage: targets.py --bin-dir target/release --inputs DIR [--runs N] [--only NAME...]

DIR holds the inputs by name: kd50, kd400, kdv (profiles for parse-kernel-details), mb1, mb2 (db/ and PROF_*/ for start-microbench). Those that are
missing are left out, and said so. Every figure is the best of N runs; baseline and tool take turns, so that both see the same machine.

Ratio = CPU time (user + system) of the plain reader / CPU time of the tool, in one run of this script. The plain reader walks once over the same CSV
files with Python's csv.DictReader and converts the 26 numbers of each row: the least that a Python tool has to do. For parse-kernel-details there is a
second baseline, examples/plain_reader.rs: one pass of Rust's csv crate, one hash map, the 26 numbers of each row.
"""
import argparse, os, pathlib, resource, shutil, subprocess, sys, tempfile, time

READER = r"""
import csv, sys
def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return 0.0
total = 0.0
for path in sys.argv[1:]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        names = [n for n in reader.fieldnames or [] if n.startswith(("aic", "aiv", "cube", "Duration", "Task Duration"))]
        for row in reader:
            for name in names:
                total += number(row[name])
print(total)
"""


def measure(command, **options):
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if status:
        sys.exit(f"{command[0]} ended with status {status}")
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024


def best(results):
    return [min(column) for column in zip(*results)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin-dir", type=pathlib.Path, default=pathlib.Path("target/release"))
    parser.add_argument("--inputs", type=pathlib.Path, required=True)
    parser.add_argument("--plain-reader", type=pathlib.Path, help="the built example [default: BIN_DIR/examples/plain_reader]")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=["kd50", "kd400", "kdv", "mb1", "mb2"])
    arguments = parser.parse_args()
    bins = arguments.bin_dir.resolve()
    plain_reader = arguments.plain_reader or bins / "examples" / "plain_reader"
    print("| input | input MB | Python reader CPU / tool CPU | tool CPU / Rust reader CPU | Python reader wall / tool wall | peak MiB |")
    print("|---|---|---|---|---|---|")
    for name in arguments.only:
        source = arguments.inputs / name
        if not source.is_dir():
            print(f"{name}: no {source}, left out", file=sys.stderr)
            continue
        readers, rust_readers, tools = [], [], []
        for _ in range(arguments.runs):
            with tempfile.TemporaryDirectory(dir=arguments.inputs) as scratch:
                if name.startswith("kd"):
                    files = sorted(str(p) for p in source.rglob("*kernel_details*.csv"))
                    command = [bins / "parse-kernel-details", "--profiling-path", source, "--database-path", scratch]
                else:
                    shutil.copytree(source / "db", scratch, dirs_exist_ok=True)
                    profile = next(source.glob("PROF_*"))
                    files = sorted(str(p) for p in [*profile.rglob("op_summary_*.csv"), *(source / "db").glob("*.csv")])
                    command = [bins / "start-microbench", "--prof-path", profile, "--database-path", scratch]
                readers.append(measure([sys.executable, "-c", READER, *files]))
                tools.append(measure(command))
                if name.startswith("kd"):
                    rust_readers.append(measure([plain_reader, source]))
        size = sum(os.path.getsize(file) for file in files)
        reader, tool = best(readers), best(tools)
        to_rust = f"{tool[0] / best(rust_readers)[0]:.2f}" if rust_readers else ""
        print(f"| {name} | {size / 1e6:.0f} | {reader[0] / tool[0]:.1f} | {to_rust} | {reader[1] / tool[1]:.1f} | {tool[2]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
