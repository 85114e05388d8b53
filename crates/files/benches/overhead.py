#!/usr/bin/env python3
"""CPU time of 1 000 scenarios in shards, put together, over that of one process.

    cargo build --release --bin TOOL
    python3 crates/files/benches/overhead.py [--tool TOOL] [--scenarios 1000] [--shards 8] [--rounds 3]
        [--case TRACE PROFILE]... [--data-dir DIR]

The scenarios are the cases, or else the four of testdata/scenarios, under many names. Every process works on one thread. A round is one whole
run and one run in shards, in the same minute; printed is the smallest time of each, user and system, and their ratio.
"""
import argparse
import os
import pathlib
import resource
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
SHIPPED = ROOT / "testdata/scenarios"
FOLDERS = ["qwen3_32b_prefill", "qwen3_32b_decode", "deepseek_v3_prefill", "deepseek_v3_decode"]


def cpu_seconds(arguments, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(arguments, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", default="generate-op-comparison")
    parser.add_argument("--scenarios", type=int, default=1000)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", nargs=2, action="append", type=os.path.abspath, metavar=("TRACE", "PROFILE"))
    parser.add_argument("--data-dir", type=os.path.abspath, default=SHIPPED)
    options = parser.parse_args()
    cases = options.case or [(SHIPPED / name / "trace.json", SHIPPED / name / "forward_pass.csv") for name in FOLDERS]
    program = ROOT / "target/release" / options.tool
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "list.yaml"), "w") as file:
            for number in range(options.scenarios):
                trace, profile = cases[number % len(cases)]
                file.write(f"- {{name: 's{number}', tc_trace: {trace}, trace_csv: {profile}}}\n")
        output = "--output" if options.tool == "generate-op-comparison" else "--json"
        command = [program, "--scenarios", "list.yaml", "--data-dir", options.data_dir, "--jobs", "1", output]
        whole, parts, merges = [], [], []
        for _ in range(options.rounds):
            whole.append(cpu_seconds([*command, "whole.json"], folder))
            # What `perfdb merge-shards` runs is the tool with --from-shards.
            shards = range(1, options.shards + 1)
            parts.append(sum(cpu_seconds([*command, "o.json", "--shard", f"{i}/{options.shards}"], folder) for i in shards))
            merges.append(cpu_seconds([*command, "o.json", "--from-shards", "shards"], folder))
            same = subprocess.run(["cmp", "whole.json", "o.json"], cwd=folder).returncode == 0
            assert same, "the merge differs from the whole run"
        ratio = (min(parts) + min(merges)) / min(whole)
        print(f"{options.tool}: whole {min(whole):.2f} s, {options.shards} shards {min(parts):.2f} s, merge {min(merges):.2f} s")
        print(f"shards and merge over whole: {ratio:.3f}")


if __name__ == "__main__":
    main()
