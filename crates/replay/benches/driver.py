#!/usr/bin/env python3
"""What the driver of op replay costs: planning, and the time per case besides the operator's own.

    python3 crates/replay/benches/driver.py [--bin-dir target/release] [--rows 20000]

Times per case are differences between a long and a short run, so that starting up does not count. Standard library only."""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HEADER = ("OP State,Accelerator Core,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,"
          "Output Formats,Average Duration(us),Profiling Average Duration(us)\r\n")
ROWS = {
    "Add": ('"""{n},64;{n},64"""', "DT_BF16;DT_BF16", "ND;ND", '"""{n},64"""', "DT_BF16"),
    "MatMulV2": ('"""{n},64;32,64"""', "DT_BF16;DT_BF16", "ND;ND", '"""{n},32"""', "DT_BF16"),
    "RmsNorm": ('"""{n},64;64"""', "DT_BF16;DT_BF16", "ND;ND", '"""{n},64;{n},1"""', "DT_BF16;FLOAT"),
}
WORKER = '''
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        answer = {"type": "hello", "protocol": 1, "ops": None, "versions": {}}
    elif message["type"] == "case":
        answer = {"type": "result", "id": message["id"], "api": "x", "outputs": [], "samples": [[0.0, 0.0]] * message["case"]["repeat"]}
    else:
        break
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
'''


def table(op, rows, first=1, same=False):
    shapes, types, formats, outputs, output_types = ROWS[op]
    lines = [HEADER]
    for row in range(rows):
        n = 1 if same else first + row
        lines.append(f"dynamic,AI_CORE,{shapes.format(n=n)},{types},{formats},{outputs.format(n=n)},{output_types},ND,,\r\n")
    return "".join(lines)


def run(command, **options):
    """Elapsed and CPU seconds of a command."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def planning(programs, folder):
    """CPU seconds for 120 tables of 2000 rows, their cases printed."""
    for part in range(40):
        (folder / f"part{part:02}").mkdir(parents=True)
        for op in ROWS:
            (folder / f"part{part:02}" / f"{op}.csv").write_text(table(op, 2000), newline="")
    command = lambda op: [programs / "op-replay", op, "--database-path", folder, "--plan"]
    return min(sum(run(command(op))[1] for op in ROWS) for _ in range(3))


def per_case(programs, folder, rows, extra):
    """Elapsed µs per case besides the samples, by difference of a long and a short run."""
    def one(count):
        path = folder / "Add.csv"
        path.write_text(table("Add", count, same=True), newline="")
        elapsed, _ = run([programs / "op-replay", "Add", "--csv", path, "--repeat-count", 1, "--output", folder,
                          "--results", folder / "results.json", *extra])
        results = json.loads((folder / "results.json").read_text())
        return elapsed * 1e6 - sum(result["mean_us"] for result in results)

    short = rows // 10
    return min((one(rows) - one(short)) / (rows - short) for _ in range(3))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin-dir", type=pathlib.Path, default=pathlib.Path("target/release"))
    parser.add_argument("--rows", type=int, default=20000)
    options = parser.parse_args()
    programs = options.bin_dir.resolve()
    os.environ["TMPDIR"] = tempfile.gettempdir()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        worker = folder / "worker.py"
        worker.write_text(WORKER)
        print(f"| planning 120 tables x 2000 rows, cases printed | {planning(programs, folder / 'db'):.2f} s CPU |")
        native = per_case(programs, folder, options.rows, ["--threads", 1])
        print(f"| driver per case, native | {native:.0f} us |")
        through = per_case(programs, folder, options.rows // 4,
                           ["--backend", "torch-cpu", "--worker", f"{sys.executable} {worker}"])
        print(f"| driver per case, through a worker that computes nothing | {through:.0f} us |")


if __name__ == "__main__":
    main()
