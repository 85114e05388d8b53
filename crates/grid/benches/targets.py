#!/usr/bin/env python3
"""Measures generate-shape-grid on the benchmark database and compares with the original scripts. Standard library only.

    cargo build --release -p perfdb-tools --bin generate-shape-grid
    python3 crates/grid/benches/targets.py

Every run gets a fresh copy of the database in a temporary folder (--folder to choose its file system); the middle of three counts,
and the bytes of every file are checked where the original's are known. The scripts themselves are not shipped. What they took is
published (docs/benchmarks/shape-grid.md); as machines differ, the same run also times what they spent two thirds of their time
on, compiling and evaluating one expression after the other in CPython, and scales the published seconds by it. Both ratios are
shown, to the published seconds and to the scaled ones; a target counts as met when the smaller one meets it.

Run it with a CPython that was built with optimisations (a distribution's); others exaggerate the scale.

Exit status 1 if bytes differ, 3 if a target is missed.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "testdata" / "golden" / "generate-shape-grid"

# arguments, the original's seconds, the ratio that is asked for (None: no target)
RUNS = [
    (["--rows", "0"], 22.06, 40),
    (["--rows", "2000", "--seed", "20260409"], 12.20, 100),
    (["--rows", "1000", "--seed", "1"], 11.72, None),
    (["--rows", "2000", "--seed", "20260409", "--target-models", "dsv3,qwen3-32b"], 4.50, None),
    (["--rows", "0", "--target-models", "dsv3,qwen3-32b"], 5.58, None),
]
MEMORY_TARGET_MIB = 64

# 66 % of the 12.03 s of a profiled run, for 1.9 million evaluations.
ORIGINAL_US_PER_EVALUATION = 0.66 * 12.03e6 / 1.9e6

SHAPES = [
    "(M, K)",
    "(N, K)",
    "(max(1, N//block_w), max(1, K//block_h), block_h, block_w)",
    "(N,)",
    "(M, N)",
    "(tokens, D*2)",
]


def calibrate(rounds=12000):
    """Microseconds that CPython takes here to split, compile and evaluate one dimension of a shape text."""
    names = {"M": 32, "N": 7168, "K": 1536, "block_h": 16, "block_w": 32, "tokens": 64, "D": 5120}
    allowed = {"__builtins__": {}, "max": max, "min": min, "abs": abs}
    evaluations = 0
    start = time.process_time()
    for _ in range(rounds):
        for shape in SHAPES:
            depth, piece, pieces = 0, "", []
            for character in shape.strip()[1:-1]:
                depth += (character == "(") - (character == ")")
                if character == "," and depth == 0:
                    pieces.append(piece.strip())
                    piece = ""
                else:
                    piece += character
            pieces.append(piece.strip())
            for piece in pieces:
                if piece and "__" not in piece and "." not in piece:
                    int(eval(compile(piece, "<shape>", "eval"), allowed, names))
                    evaluations += 1
    return (time.process_time() - start) * 1e6 / evaluations


def measure(binary, arguments, folder, expected):
    """Seconds of wall and processor time and the peak resident MiB of one run on a fresh copy."""
    with tarfile.open(GOLDEN / "bench-db.tar.gz") as archive:
        archive.extractall(folder)
    database = Path(folder) / "bench-db"
    start = time.perf_counter()
    process = subprocess.Popen(
        [binary, "--database-path", str(database), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    stderr = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"error: {' '.join(arguments)}: exit {process.returncode}: {stderr.decode()}")
    for name, digest in expected.items():
        if hashlib.sha256((database / name).read_bytes()).hexdigest() != digest:
            sys.exit(f"error: {name} differs after {' '.join(arguments)}")
    shutil.rmtree(database)
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=str(ROOT / "target" / "release" / "generate-shape-grid"))
    parser.add_argument("--folder", help="where to unpack the database [default: the system's temporary folder]")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    known = {tuple(run["args"]): run["sha256"] for run in json.loads((GOLDEN / "bench-expected.json").read_text())["runs"]}

    before = calibrate()
    rows = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for arguments, original, target in RUNS:
            expected = known.get(tuple(arguments), {})
            results = sorted(measure(options.bin, arguments, folder, expected) for _ in range(options.repeat))
            rows.append((arguments, original, target, bool(expected), results[len(results) // 2], max(r[2] for r in results)))
    scale = (before + calibrate()) / 2 / ORIGINAL_US_PER_EVALUATION

    print(f"CPython {sys.version.split()[0]} here takes {scale:.2f} of the published time per evaluation; {os.cpu_count()} cores\n")
    print("| arguments | wall | ratio | ratio, scaled | target | processor time | ratio | peak MiB | bytes |")
    print("|---|---|---|---|---|---|---|---|---|")
    missed = False
    for arguments, original, target, checked, (wall, processor, _), memory in rows:
        ratio = original / wall
        missed |= memory > MEMORY_TARGET_MIB or (target is not None and min(1, scale) * ratio < target)
        print(
            f"| `{' '.join(arguments)}` | {wall:.3f} s | {ratio:.0f} × | {ratio * scale:.0f} × |"
            f" {f'{target} ×' if target else ''} | {processor:.3f} s | {original / processor:.0f} × | {memory:.0f} |"
            f" {'equal' if checked else 'not known'} |"
        )
    sys.exit(3 if missed else 0)


if __name__ == "__main__":
    main()
