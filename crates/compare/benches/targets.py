#!/usr/bin/env python3
"""Measure the comparison tools against their targets and print a Markdown table.

  cargo build --release --bins --examples
  python3 -m pip install orjson
  python3 crates/compare/benches/targets.py --folder /tmp/perfdb-bench

CPU time is user + system of the whole process, the smallest of some runs, over that of a process that reads the same trace
with orjson.loads (garbage collector off) in the same minute. Elapsed times are only compared with each other. Private
memory is the peak of RssAnon: what the process holds that is not backed by a file. Nothing else should run meanwhile.

Inputs are written into --folder by the example write_large_inputs, unless files of these names are there already:
trace-100.json, profile-100.csv (134 000 events and rows), trace-500.json, profile-500.csv (672 000), trace-2000.json
(2 700 000 events).
"""
import argparse
import gzip
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

REPOSITORY = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
SETS = {"100": (134_000, 134_000), "500": (672_000, 672_000), "2000": (2_700_000, 0)}
ORJSON = "import gc,sys,orjson; gc.disable(); orjson.loads(open(sys.argv[1],'rb').read())"
MIB = 1 << 20


class Run:
    """One run of a command: exit status, seconds of CPU, seconds elapsed, peak private bytes (when watched)."""

    def __init__(self, command, cwd, watch=False, stdout=subprocess.DEVNULL, stdin=None):
        begin = time.perf_counter()
        process = subprocess.Popen(command, cwd=cwd, stdout=stdout, stdin=stdin, stderr=subprocess.PIPE)
        self.private = 0
        watcher = threading.Thread(target=self.watch, args=(process.pid,)) if watch else None
        if watcher:
            watcher.start()
        self.stderr = process.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
        self.elapsed = time.perf_counter() - begin
        process.returncode = self.status = os.waitstatus_to_exitcode(status)
        if watcher:
            watcher.join()
        self.cpu = usage.ru_utime + usage.ru_stime

    def watch(self, pid):
        try:
            while True:
                with open(f"/proc/{pid}/status") as status:
                    lines = [line for line in status if line.startswith("RssAnon:")]
                if not lines:
                    return
                self.private = max(self.private, int(lines[0].split()[1]) * 1024)
                time.sleep(0.0005)
        except (OSError, ValueError):
            return


def best(command, cwd, runs, key, **options):
    """The smallest figure of some runs, all of which must succeed. Each makes its output anew: replacing a large file, the
    file system takes longer to free the old one than to take the new one."""
    figures = []
    for _ in range(runs):
        if "--output" in command:
            pathlib.Path(command[command.index("--output") + 1]).unlink(missing_ok=True)
        run = Run(command, cwd, **options)
        if run.status != 0:
            sys.exit(f"{' '.join(command)}: exit {run.status}\n{run.stderr}")
        figures.append(key(run))
    return min(figures)


class Bench:
    def __init__(self, options):
        self.options = options
        self.folder = os.path.abspath(options.folder)
        self.bin = os.path.abspath(options.bin_dir)
        self.rows = []

    def path(self, name):
        return os.path.join(self.folder, name)

    def note(self, what, value, must, aim=None, unit=""):
        verdict = "**missed**" if value > must else "aim" if aim is not None and value <= aim else "must"
        text = f"{value:.3f}" if unit == "" else f"{value:.1f} {unit}"
        self.rows.append((what, text, f"≤ {must:g} {unit}".strip(), "" if aim is None else f"≤ {aim:g}", verdict))
        print(f"  {what}: {text} ({verdict})", file=sys.stderr, flush=True)

    def say(self, what, holds):
        self.rows.append((what, "yes" if holds else "no", "yes", "", "must" if holds else "**missed**"))
        print(f"  {what}: {'yes' if holds else 'NO'}", file=sys.stderr, flush=True)

    def inputs(self):
        os.makedirs(self.folder, exist_ok=True)
        writer = os.path.join(self.bin, "examples", "write_large_inputs")
        for name, (events, rows) in SETS.items():
            trace, profile = self.path(f"trace-{name}.json"), self.path(f"profile-{name}.csv")
            if not os.path.exists(trace) or (rows and not os.path.exists(profile)):
                print(f"writing set {name}", file=sys.stderr, flush=True)
                csv = [profile, str(rows)] if rows else []
                subprocess.run([writer, trace, str(events), *csv], check=True)
        packed = self.path("trace-500.json.gz")
        if not os.path.exists(packed):
            with open(self.path("trace-500.json"), "rb") as plain, gzip.open(packed, "wb", compresslevel=6) as out:
                shutil.copyfileobj(plain, out, MIB)
        for name in os.listdir(self.folder):
            if os.path.isfile(self.path(name)):
                with open(self.path(name), "rb") as file:
                    while file.read(1 << 24):
                        pass

    def scenarios(self, name, count, trace="500"):
        text = "".join(
            f"- {{name: S{i}, tc_trace: {self.path(f'trace-{trace}.json')}, trace_csv: {self.path('profile-500.csv')}, n_forward_passes: 600}}\n"
            for i in range(count)
        )
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def tools(self, trace, profile, out):
        """name -> (command that writes to files, must, aim)"""
        tool = lambda name: os.path.join(self.bin, name)
        scenario = self.path(f"{os.path.basename(trace)}.yaml")
        with open(scenario, "w") as file:
            file.write(f"- {{name: S, tc_trace: {trace}, trace_csv: {profile}, n_forward_passes: 600}}\n")
        return {
            "compute-m6": ([tool("compute-m6"), "--tc-trace", trace, "--prof-trace", profile], 0.20, 0.13),
            "generate-op-comparison": ([tool("generate-op-comparison"), "--scenarios", scenario, "--data-dir", self.folder, "--output", os.path.join(out, "op.json")], 0.22, 0.15),
            "generate-per-shape-comparison": ([tool("generate-per-shape-comparison"), "--tc-trace", trace, "--prof-trace", profile, "--output", os.path.join(out, "shapes.csv")], 0.28, 0.18),
            "trace-to-csv": ([tool("trace-to-csv"), "--trace", trace, "--output", os.path.join(out, "events.csv")], 0.40, 0.28),
        }

    def measure(self):
        runs, one_core = self.options.runs, ["taskset", "-c", self.options.core]
        out = tempfile.mkdtemp(dir=self.folder)
        big, profile = self.path("trace-500.json"), self.path("profile-500.csv")
        orjson = best([sys.executable, "-c", ORJSON, big], out, runs, lambda run: run.cpu)
        print(f"orjson.loads of {os.path.getsize(big) / 1e6:.0f} MB: {orjson:.2f} s of CPU here", file=sys.stderr)
        tools = self.tools(big, profile, out)
        alone = {}
        for name, (command, must, aim) in tools.items():
            alone[name] = best(one_core + command, out, runs, lambda run: run.elapsed)
            self.note(f"CPU of {name}, set 500, over orjson", best(one_core + command, out, runs, lambda run: run.cpu) / orjson, must, aim)
        for name, (command, _, _) in tools.items():
            elapsed = best(command, out, runs, lambda run: run.elapsed)
            self.note(f"elapsed time of {name}, all cores over one", elapsed / alone[name], 0.65)
        self.memory(out)
        self.gzip(tools["compute-m6"][0], out, profile)
        self.four_scenarios(out)
        self.truncated(out, profile)
        self.small()
        shutil.rmtree(out)

    def memory(self, out):
        peaks = {}
        for size in SETS:
            trace, profile = self.path(f"trace-{size}.json"), self.path("profile-500.csv" if size != "100" else "profile-100.csv")
            for name, (command, _, _) in self.tools(trace, profile, out).items():
                peaks[name, size] = Run(command, out, watch=True).private / MIB
        for name in self.tools(self.path("trace-100.json"), self.path("profile-100.csv"), out):
            for size in SETS:
                self.note(f"private memory of {name}, set {size}", peaks[name, size], 64, unit="MiB")
            self.note(f"growth of it from set 500 to 2000 ({name})", max(0.0, peaks[name, "2000"] - peaks[name, "500"]), 8, unit="MiB")
        stdout = [os.path.join(self.bin, "trace-to-csv"), "--trace", self.path("trace-500.json")]
        self.note("private memory of trace-to-csv to stdout, set 500", Run(stdout, out, watch=True).private / MIB, 64, unit="MiB")

    def gzip(self, command, out, profile):
        packed = self.path("trace-500.json.gz")
        cpu = lambda run: run.cpu
        plain = best(command, out, self.options.runs, cpu)
        inflate = best(["gzip", "-dc", packed], out, self.options.runs, cpu)
        zipped = [packed if part.endswith("trace-500.json") else part for part in command]
        run = Run(zipped, out, watch=True)
        self.note("CPU of compute-m6 on gzip over (1.5 × plain + gzip -dc)", best(zipped, out, self.options.runs, cpu) / (1.5 * plain + inflate), 1.0)
        self.note("private memory of compute-m6 on gzip", run.private / MIB, 64, unit="MiB")

    def four_scenarios(self, out):
        tool = [os.path.join(self.bin, "generate-op-comparison"), "--data-dir", self.folder]
        one = tool + ["--scenarios", self.scenarios("one.yaml", 1), "--output", os.path.join(out, "one.json")]
        four = tool + ["--scenarios", self.scenarios("four.yaml", 4), "--output", os.path.join(out, "four.json")]
        elapsed = lambda run: run.elapsed
        # One scenario on one core, four on two: that is what two workers can do.
        ratio = best(four + ["--jobs", "2"], out, self.options.runs, elapsed) / best(["taskset", "-c", self.options.core, *one], out, self.options.runs, elapsed)
        self.note("elapsed time of four scenarios with --jobs 2 over one (one core)", ratio, 2.2)
        texts = []
        for jobs in ("1", "2"):
            with open(os.path.join(out, "stdout"), "wb") as stdout:
                Run(four + ["--jobs", jobs], out, stdout=stdout)
            texts.append((open(os.path.join(out, "four.json"), "rb").read(), open(os.path.join(out, "stdout"), "rb").read()))
        self.say("JSON and stdout equal for --jobs 1 and 2", texts[0] == texts[1])

    def truncated(self, out, profile):
        cut = self.path("trace-500-cut.json")
        shutil.copyfile(self.path("trace-500.json"), cut)
        os.truncate(cut, os.path.getsize(cut) - 1000)
        folder = os.path.join(out, "cut")
        os.makedirs(folder)
        for name, (command, _, _) in self.tools(cut, profile, folder).items():
            run = Run(command, folder, watch=True)
            refused = run.status == 1 and run.stderr.startswith("error: ") and run.private <= 64 * MIB and not os.listdir(folder)
            self.say(f"{name} refuses a truncated set 500 within the limits and leaves no file", refused)
        os.remove(cut)

    def small(self):
        data = os.path.join(REPOSITORY, "testdata", "scenarios")
        command = [os.path.join(self.bin, "generate-op-comparison"), "--scenarios", os.path.join(REPOSITORY, "testdata", "scenarios.yaml"), "--data-dir", data, "--output", self.path("small.json")]
        elapsed = best(command, REPOSITORY, 5, lambda run: run.elapsed)
        self.note("four small scenarios, start to exit", elapsed * 1000, 50, unit="ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True, help="where inputs and outputs go (4 GB)")
    parser.add_argument("--bin-dir", default=os.path.join(REPOSITORY, "target", "release"))
    parser.add_argument("--runs", type=int, default=3, help="runs of each command (default 3)")
    parser.add_argument("--core", default="0", help="the core for one-core runs (default 0)")
    bench = Bench(parser.parse_args())
    bench.inputs()
    bench.measure()
    print("| what | measured | must | aim | reached |\n|---|---|---|---|---|")
    for row in bench.rows:
        print("| " + " | ".join(row) + " |")
    sys.exit(any("missed" in row[-1] for row in bench.rows))


if __name__ == "__main__":
    main()
