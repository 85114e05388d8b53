#!/usr/bin/env python3
"""A large export of nsys: makes one, and compares what explain-trace says of it with sums by SQL, to the nanosecond.

    docs/benchmarks/profiles.py PERFDB [--kernels 5000000] [--folder DIR] [--runs 3]

PERFDB: the program. The file is a made-up server that decodes: steps of 1,000 kernels on two streams, a launch for each kernel, six calls that
launch nothing for each seven that do (as in public exports), copies, and NVTX ranges for the steps. 5 million kernels are 0.8 GB. The same
arguments make the same file.
Prints the time and the memory of each run; exit status 1 where a sum differs.
"""
import argparse
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

KERNELS_PER_STEP = 1000
PROCESS = 4242 << 24
STREAMS = (7, 13)
NAMES = [f"void {kind}_kernel<{number}, __nv_bfloat16>(Params<{number}>)" for kind in ("gemm", "flash_fwd", "rms_norm", "silu_and_mul", "rotary") for number in range(8)]
SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT, smCount INTEGER, totalMemory INTEGER, computeMajor INTEGER, computeMinor INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, textId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
  blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL,
  gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER, qmdBulkReleaseDone INTEGER, qmdPreexitDone INTEGER, qmdLastCtaDone INTEGER, graphId INTEGER, clusterX INTEGER, clusterY INTEGER, clusterZ INTEGER, clusterSchedulingPolicy INTEGER, maxPotentialClusterSize INTEGER, maxActiveClusters INTEGER, sharedMemoryRequestedPercentage INTEGER, tensorSizeMinusOneElements TEXT NOT NULL);
"""
SUMS = "SELECT s.value, count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName GROUP BY 1"


def events(count):
    """Steps, launches, kernels and copies, in the order of time. Two kernels run beside each other now and then."""
    state, host, device, correlation = 1, 60_000_000_000, 60_000_100_000, 100
    for step in range(count // KERNELS_PER_STEP):
        begin, launches, kernels, copies = host, [], [], []
        for number in range(KERNELS_PER_STEP):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            noise = state >> 40
            length = 1_200 + noise % 4_000 + 211 * (number % 40)
            correlation += 1
            launch = correlation
            launches.append((host, host + 1_500 + noise % 700, correlation, 1))
            if number % 7 < 6:
                launches.append((host - 400, host - 100, correlation + 1, 3 + number % 3))
                correlation += 1
            device = max(device, host + 4_000)
            kernels.append((device, device + length, STREAMS[number % 10 == 9], launch, 10 + number % len(NAMES), step % 64 + number))
            device += length + 300 if number % 10 != 8 else length // 2
            host += 1_900 + noise % 900
        correlation += 1
        launches.append((host, host + 3_000, correlation, 2))
        copies.append((device, device + 1_800 + step % 256, STREAMS[0], correlation))
        device += 2_500
        host = max(host, device) + 20_000
        yield (begin, host - 10_000, step), launches, kernels, copies


def make(path, count):
    database = sqlite3.connect(path)
    database.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + SCHEMA)
    texts = [(1, "cudaLaunchKernel_v7000"), (2, "cudaMemcpyAsync_v3020"), (3, "cudaStreamIsCapturing_v10000"), (4, "cuKernelGetAttribute"), (5, "cudaEventRecord_v3020"), *((10 + at, name) for at, name in enumerate(NAMES))]
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", texts)
    database.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3', 132, 85017755648, 9, 0)")
    for (begin, end, step), launches, kernels, copies in events(count):
        name = f"execute_context_0(0)_generation_{step % 64 + 1}({step % 64 + 1})"
        database.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, 0, NULL, ?, ?, NULL)", (begin, end, name, PROCESS + 1))
        database.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, {PROCESS + 1}, ?, ?, 0, NULL)", launches)
        rows = f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 0, ?, ?, {PROCESS}, ?5, ?5, 1366243, 1, 1, 168, 132, 1, 1, 384, 1, 1, 1024, 213504, 0, 250871808, ?6, 233472, NULL, 0, NULL, NULL, NULL, NULL, 0, 0, 0, 1, 0, 0, NULL, '[]')"
        database.executemany(rows.replace("?, ?, 0, 1, 0, ?, ?,", "?1, ?2, 0, 1, 0, ?3, ?4,"), kernels)
        database.executemany(f"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 1, ?, ?, {PROCESS}, 4096, 2)", copies)
    database.commit()
    database.close()


def run(perfdb, path):
    """Output, wall seconds, CPU seconds and peak MiB of explain-trace."""
    command = [perfdb, "trace", "explain", "--json", "--top", "1000000", path]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit("explain-trace failed")
    return json.loads(output), time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("perfdb")
    parser.add_argument("--kernels", type=int, default=5_000_000)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as own:
        path = (options.folder or pathlib.Path(own)) / f"nsys-{options.kernels}.sqlite"
        if not path.exists():
            make(path, options.kernels)
        expected = {name: (count, time) for name, count, time in sqlite3.connect(f"file:{path}?mode=ro", uri=True).execute(SUMS)}
        print(f"{path.stat().st_size / 1e6:.0f} MB, {sum(count for count, _ in expected.values())} kernels, {sum(time for _, time in expected.values())} ns in {len(expected)} names")
        wrong = 0
        for _ in range(options.runs):
            found, wall, cpu, memory = run(options.perfdb, path)
            rows = {row["name"]: (row["count"], round(row["total_ms"] * 1e6)) for row in found["top_kernels"]}
            wrong += sum(rows.get(name) != sums for name, sums in expected.items()) + len(rows.keys() - expected.keys())
            print(f"{wall:.2f} s, CPU {cpu:.2f} s, {memory:.0f} MiB, {found['step_count']} steps, {wrong} of {len(expected)} sums differ")
        return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
