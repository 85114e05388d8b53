#!/usr/bin/env python3
"""Writes the profiles of this folder: one made-up run, eight decode steps of a model of two layers, as five profilers write it."""
import csv
import json
import pathlib
import sqlite3

HERE = pathlib.Path(__file__).parent
START = 1_790_000_000_000_000_000  # ns
STEPS, LAYERS = 8, 2
# Operator, its shapes, microseconds, and its kernel on NVIDIA, AMD and Ascend devices.
LAYER = [
    ("vllm::fused_add_rms_norm", "[[32, 4096], [32, 4096], [4096]]", 3.2, "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)", "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)", "AddRmsNorm"),
    ("aten::mm", "[[32, 4096], [4096, 6144]]", 21.4, "nvjet_tst_64x32_64x16_4x1_v_bz_TNN", "Cijk_Alik_Bljk_BBS_BH_MT64x32x64", "MatMulV2"),
    ("vllm::rotary_embedding", "[[32], [32, 6144]]", 2.9, "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)", "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)", "RotaryMul"),
    ("vllm::unified_attention", "[[32, 4096], [32, 1024]]", 34.7, "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128>>(Params)", "kernel_unified_attention_2d", "FusedInferAttentionScore"),
    ("aten::mm", "[[32, 4096], [4096, 4096]]", 14.8, "nvjet_tst_64x32_64x16_4x1_v_bz_TNN", "Cijk_Alik_Bljk_BBS_BH_MT64x32x64", "MatMulV2"),
    ("vllm::all_reduce", "[[32, 4096]]", 12.1, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", "hcom_allReduce_"),
    ("aten::mm", "[[32, 4096], [4096, 28672]]", 78.5, "nvjet_tst_128x32_64x12_4x1_v_bz_TNN", "Cijk_Alik_Bljk_BBS_BH_MT128x32x64", "MatMulV3"),
    ("vllm::silu_and_mul", "[[32, 28672]]", 6.3, "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel>(c10::BFloat16*)", "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel>(c10::BFloat16*)", "SwiGlu"),
    ("aten::mm", "[[32, 14336], [14336, 4096]]", 41.2, "nvjet_tst_64x64_64x12_2x1_v_bz_TNN", "Cijk_Alik_Bljk_BBS_BH_MT64x64x64", "MatMulV3"),
]
STEP_TEXT = "execute_context_0(0)_generation_32(32)"
NVIDIA, AMD, ASCEND = 3, 4, 5


def run(attention=1.0):
    """Steps of the host, and kernels with their launches: (step, operator row, launch, start, end) in ns."""
    steps, kernels, clock = [], [], START
    for step in range(STEPS):
        begin, host, device = clock, clock + 30_000, clock + 40_000
        for layer in range(LAYERS):
            for row, operator in enumerate(LAYER):
                launch, host = host, host + 9_000
                start = max(device, launch + 6_000)
                factor = attention if "attention" in operator[0] else 1.0
                end = start + round(operator[2] * 1000 * factor * (1 + 0.004 * (step % 3)))
                device = end + 800
                kernels.append((step, row, launch, start, end))
        steps.append((begin, host + 20_000))
        clock = device + 10_000
    return steps, kernels


def database(name, statements):
    path = HERE / name
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA page_size = 1024")
    connection.executescript(statements)
    return connection


def insert(connection, table, rows):
    rows = list(rows)
    places = ", ".join("?" * len(rows[0]))
    connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)


def finish(connection):
    connection.commit()
    connection.execute("VACUUM")
    connection.close()


def nsys():
    steps, kernels = run()
    out = database("nsys.sqlite", """
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER,
            globalPid INTEGER, demangledName INTEGER, shortName INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER);
        CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER, textId INTEGER);
        CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, smCount INTEGER, totalMemory INTEGER, computeMajor INTEGER, computeMinor INTEGER);
    """)
    names = ["cudaLaunchKernelExC_v11060"] + [row[NVIDIA] for row in LAYER]
    insert(out, "StringIds", enumerate(names))
    process = 4242 << 24
    insert(out, "CUPTI_ACTIVITY_KIND_KERNEL", ((start - START, end - START, 0, 7, at, process, row + 1, row + 1)
                                               for at, (_, row, _, start, end) in enumerate(kernels)))
    insert(out, "CUPTI_ACTIVITY_KIND_RUNTIME", ((launch - START, launch - START + 4_000, process + 1, at, 0)
                                                for at, (_, _, launch, _, _) in enumerate(kernels)))
    ranges = [(begin - START, end - START, 59, STEP_TEXT, process + 1, None) for begin, end in steps]
    ranges += [(launch - START - 2_000, launch - START + 5_000, 59,
                f"{LAYER[row][0]}, op_id = {at}, sizes = {LAYER[row][1]}", process + 1, None)
               for at, (_, row, launch, _, _) in enumerate(kernels)]
    insert(out, "NVTX_EVENTS", ranges)
    insert(out, "TARGET_INFO_GPU", [(0, "NVIDIA H100 80GB HBM3", 132, 85_000_000_000, 9, 0)])
    finish(out)


def rpd():
    steps, kernels = run()
    out = database("vllm.rpd", """
        CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT);
        CREATE TABLE rocpd_api (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start INTEGER, end INTEGER, apiName_id INTEGER, args_id INTEGER);
        CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, gpuId INTEGER, queueId INTEGER, sequenceId INTEGER, start INTEGER, end INTEGER,
            description_id INTEGER, opType_id INTEGER);
        CREATE TABLE rocpd_api_ops (id INTEGER PRIMARY KEY, api_id INTEGER, op_id INTEGER);
        CREATE TABLE rocpd_kernelapi (api_ptr_id INTEGER PRIMARY KEY, kernelName_id INTEGER);
    """)
    names = ["", "hipModuleLaunchKernel", "UserMarker", STEP_TEXT, "KernelExecution"] + [row[AMD] for row in LAYER]
    insert(out, "rocpd_string", enumerate(names))
    calls = [(at, 4242, 4243, launch, launch + 4_000, 1, 0) for at, (_, _, launch, _, _) in enumerate(kernels)]
    marks = [(len(kernels) + at, 4242, 4243, begin, end, 2, 3) for at, (begin, end) in enumerate(steps)]
    insert(out, "rocpd_api", calls + marks)
    insert(out, "rocpd_op", ((at, 0, 0, at, start, end, 0, 4) for at, (_, _, _, start, end) in enumerate(kernels)))
    insert(out, "rocpd_api_ops", ((at, at, at) for at in range(len(kernels))))
    insert(out, "rocpd_kernelapi", ((at, row + 5) for at, (_, row, _, _, _) in enumerate(kernels)))
    finish(out)


def rocpd():
    steps, kernels = run()
    out = database("rocprofv3.db", """
        CREATE TABLE rocpd_string_0a1b (id INTEGER PRIMARY KEY, guid TEXT, string TEXT);
        CREATE TABLE rocpd_info_agent_0a1b (id INTEGER PRIMARY KEY, guid TEXT, type TEXT, absolute_index INTEGER, product_name TEXT);
        CREATE TABLE rocpd_info_kernel_symbol_0a1b (id INTEGER PRIMARY KEY, guid TEXT, kernel_name TEXT, display_name TEXT);
        CREATE TABLE rocpd_track_0a1b (id INTEGER PRIMARY KEY, guid TEXT, pid INTEGER, tid INTEGER, agent_id INTEGER, queue_id INTEGER, stream_id INTEGER);
        CREATE TABLE rocpd_timestamp_0a1b (id INTEGER PRIMARY KEY, guid TEXT, value INTEGER);
        CREATE TABLE rocpd_event_0a1b (id INTEGER PRIMARY KEY, guid TEXT, category_id INTEGER, stack_id INTEGER, correlation_id INTEGER, extdata TEXT);
        CREATE TABLE rocpd_region_0a1b (id INTEGER PRIMARY KEY, guid TEXT, track_id INTEGER, name_id INTEGER, start_id INTEGER, end_id INTEGER, event_id INTEGER);
        CREATE TABLE rocpd_kernel_dispatch_0a1b (id INTEGER PRIMARY KEY, guid TEXT, track_id INTEGER, kernel_id INTEGER, start_id INTEGER,
            end_id INTEGER, event_id INTEGER);
    """)
    guid = "00000a1b"
    strings = ["HIP_RUNTIME_API_EXT", "MARKER_CORE_API", "KERNEL_DISPATCH", "hipModuleLaunchKernel", "roctxRangePushA"]
    insert(out, "rocpd_string_0a1b", ((at + 1, guid, text) for at, text in enumerate(strings)))
    insert(out, "rocpd_info_agent_0a1b", [(1, guid, "CPU", 0, "AMD EPYC"), (2, guid, "GPU", 1, "AMD Instinct MI300X")])
    insert(out, "rocpd_info_kernel_symbol_0a1b", ((at + 1, guid, row[AMD], row[AMD]) for at, row in enumerate(LAYER)))
    insert(out, "rocpd_track_0a1b", [(1, guid, 4242, 4243, None, None, None), (2, guid, 4242, 4243, 2, 1, 1)])
    times, events, regions, dispatches = [], [], [], []

    def span(start, end):
        times.extend([(len(times) + 1, guid, start), (len(times) + 2, guid, end)])
        return len(times) - 1, len(times)

    def event(category, stack, data):
        events.append((len(events) + 1, guid, category, stack, 0, json.dumps(data)))
        return len(events)

    for begin, end in steps:
        first, last = span(begin, end)
        regions.append((len(regions) + 1, guid, 1, 5, first, last, event(2, 0, {"message": STEP_TEXT})))
    for at, (_, row, launch, start, end) in enumerate(kernels):
        first, last = span(launch, launch + 4_000)
        regions.append((len(regions) + 1, guid, 1, 4, first, last, event(1, at + 1, {})))
        first, last = span(start, end)
        dispatches.append((at + 1, guid, 2, row + 1, first, last, event(3, at + 1, {})))
    insert(out, "rocpd_timestamp_0a1b", times)
    insert(out, "rocpd_event_0a1b", events)
    insert(out, "rocpd_region_0a1b", regions)
    insert(out, "rocpd_kernel_dispatch_0a1b", dispatches)
    finish(out)


def microseconds(time):
    return f"{time // 1000}.{time % 1000:03}"


def ascend(folder, attention):
    steps, kernels = run(attention)
    folder = HERE / folder / "ASCEND_PROFILER_OUTPUT"
    folder.mkdir(parents=True, exist_ok=True)
    header = ["Device_id", "Task ID", "Stream ID", "Name", "Type", "Accelerator Core", "Start Time(us)", "Duration(us)", "Wait Time(us)", "Input Shapes"]
    device, program, calls = 800, 4242, 4300
    rows, events, wait = [header], [], 0
    names = {program: "Python", device: "Ascend Hardware", calls: "CANN"}
    events += [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}} for pid, name in names.items()]
    events += [{"ph": "X", "name": f"ProfilerStep#{at + 2}", "cat": "cpu_op", "pid": program, "tid": program, "ts": microseconds(begin),
                "dur": (end - begin) / 1000} for at, (begin, end) in enumerate(steps)]
    for at, (_, row, launch, start, end) in enumerate(kernels):
        operator, shapes, _, _, _, kind = LAYER[row]
        core = {"hcom_allReduce_": "HCCL"}.get(kind, "AI_CORE")
        shape = '"' + ";".join(",".join(map(str, dims)) for dims in json.loads(shapes)) + '"'
        cells = [0, at + 1, 2, f"{kind}_{at}", kind, core, microseconds(start) + "\t", (end - start) / 1000, wait / 1000, shape]
        rows.append(cells)
        if core == "HCCL":
            rows.append(cells[:2] + ["N/A"] + cells[3:])
        wait = 800
        flow = {"name": "HostToDevice", "cat": "HostToDevice", "id": str(at)}
        of_program = {"name": "async_npu", "cat": "async_npu", "id": str(at)}
        events += [
            {"ph": "X", "name": operator, "cat": "cpu_op", "pid": program, "tid": program, "ts": microseconds(launch - 2_000), "dur": 7.0,
             "args": {"Input Dims": json.loads(shapes), "Input type": ["c10::BFloat16"] * len(json.loads(shapes))}},
            {"ph": "s", **of_program, "pid": program, "tid": program, "ts": microseconds(launch - 2_000)},
            {"ph": "X", "name": "launch", "pid": calls, "tid": program, "ts": microseconds(launch), "dur": 4.0},
            {"ph": "s", **flow, "pid": calls, "tid": program, "ts": microseconds(launch)},
            {"ph": "X", "name": f"aclnn_{kind}" if core == "AI_CORE" else f"{kind}_{at}", "pid": device, "tid": 2, "ts": microseconds(start),
             "dur": (end - start) / 1000, "args": {"Task Type": core}},
            {"ph": "f", **flow, "pid": device, "tid": 2, "ts": microseconds(start), "bp": "e"},
            {"ph": "f", **of_program, "pid": device, "tid": 2, "ts": microseconds(start), "bp": "e"},
        ]
    with open(folder / "kernel_details.csv", "w", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerows(rows)
    (folder / "trace_view.json").write_text("[" + ",\n".join(json.dumps(event) for event in events) + "]\n", encoding="utf-8")


nsys()
rpd()
rocpd()
ascend("cann85_ascend_pt", 1.0)
ascend("cann86_ascend_pt", 1.4)
