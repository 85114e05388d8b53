#!/usr/bin/env python3
"""Held-out accuracy on the public GPU tables of AIConfigurator: the tables in gpu-tables.md.

    gpu-tables.py DATA ANSWER_TASKS [--only TEXT] [--process] [--aiconfigurator] [--most N]
    gpu-tables.py DATA ANSWER_TASKS --monotone [--only TEXT] [--most N]
    gpu-tables.py DATA PERFDB --imported SYSTEM/FRAMEWORK/VERSION [--only TEXT] [--most N]
    gpu-tables.py DATA PERFDB --rows SYSTEM
    gpu-tables.py DATA PERFDB --roofline h100_sxm/FRAMEWORK/VERSION [--only TEXT] [--most N]

DATA: `aic-core/src/aiconfigurator_core/systems/data` of github.com/ai-dynamo/aiconfigurator. ANSWER_TASKS: the example of perfdb-query.
With --imported the program itself is asked: it imports the tables of that version, each row is asked its own query, and values are left out of
copies of the imported tables. With --rows all versions of a system are imported, and each row of all tables is asked its own query.
With --roofline sizes between those of rows are asked, under the default rules and the best, and no answer and no lower end may be shorter than the
peaks of the device allow, but next to rows that are themselves: what they read lies in caches.
With --monotone pairs of calls are predicted of which the second has more of one size, and those pairs are counted in which it takes less time.
--process also fits a Gaussian process (Matern 3/2, one range per axis, logarithmic sizes) to the rows of the tables without a formula, and says
in how many of 1,000 samples of configurations, drawn with repetition, perfdb's median and 90th percentile are greater.
--aiconfigurator asks the package aiconfigurator (0.12) as well, with the same values of products left out of its tables.
Needs pyarrow (but for --imported and --rows); --process needs scikit-learn. Which rows are left out depends on a hash alone.
"""
import argparse, bisect, csv, hashlib, io, itertools, json, math, os, random, shutil, subprocess, sys, tempfile, warnings
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

try:
    import pyarrow.parquet as parquet
except ImportError:  # Not needed with --imported.
    parquet = None

# Name, file, family, names of columns, group, axes, size, configuration, the axes of which every value is left out, and those of which it is
# left out along with all within 3 %: where sizes come in pairs, such as 256 and 257, others lie between them.
GEMM = dict(family="gemm", rename={"gemm_dtype": "dtype"}, group=["dtype", "kernel_source"], axes=["m", "n", "k"], size="m", config=["n", "k"], out=["n", "k"], between=["m"])
PREFILL = dict(
    family="prefill_attention", rename={"isl": "query_tokens", "num_heads": "heads", "num_key_value_heads": "kv_heads", "batch_size": "batch", "attn_dtype": "dtype", "kv_cache_dtype": "kv_dtype"},
    group=["dtype", "kv_dtype", "head_dim", "window_size", "kernel_source"], axes=["batch", "query_tokens", "heads", "kv_heads"], size="query_tokens", config=["heads", "kv_heads"], out=["query_tokens", "batch"], only={"head_dim": 128, "window_size": 0})
DECODE = dict(PREFILL, family="decode_attention", rename=dict(PREFILL["rename"], step="past_tokens"), axes=["batch", "past_tokens", "heads", "kv_heads"], size="past_tokens", out=["past_tokens", "batch"])
GDN = dict(family="generic", rename={}, group=["phase", "kernel_source"], axes=["num_tokens", "batch_size", "d_model", "num_k_heads", "num_v_heads"], size="num_tokens", config=["d_model", "num_k_heads", "num_v_heads"], out=[])
MAMBA = dict(GDN, axes=["num_tokens", "batch_size", "d_model", "d_state", "nheads", "n_groups", "chunk_size"], config=["d_model", "d_state", "nheads", "n_groups", "chunk_size"])
DSA = dict(GDN, group=["model", "kv_cache_dtype", "gemm_type"], axes=["num_heads", "batch_size", "isl", "step"], size="isl", config=["num_heads"])
QUANT = dict(GDN, group=["quant_dtype"], axes=["m", "k"], size="m", config=["k"])
NCCL = dict(family="collective", rename={"op_name": "collective", "num_gpus": "ranks", "message_size": "message_elements", "nccl_dtype": "dtype"}, group=["collective", "dtype"], axes=["message_elements", "ranks"], size="message_elements", config=["ranks"], out=["ranks"])
TABLES = [
    ("gemm vllm", "h100_sxm/gemm/vllm/0.24.0/gemm_perf", GEMM), ("gemm trtllm", "h100_sxm/gemm/trtllm/1.3.0rc20/gemm_perf", GEMM),
    ("prefill vllm", "h100_sxm/attention/vllm/0.24.0/context_attention_perf", PREFILL),
    ("prefill trtllm", "h100_sxm/attention/trtllm/1.3.0rc20/context_attention_perf", PREFILL),
    ("decode vllm", "h100_sxm/attention/vllm/0.24.0/generation_attention_perf", DECODE),
    ("decode trtllm", "h100_sxm/attention/trtllm/1.3.0rc20/generation_attention_perf", DECODE),
    ("gdn b300 vllm", "b300_sxm/linear_attention/vllm/0.24.0/gdn_perf", GDN), ("gdn b300 sglang", "b300_sxm/linear_attention/sglang/0.5.14/gdn_perf", GDN),
    ("mamba b300 trtllm", "b300_sxm/linear_attention/trtllm/1.3.0rc20/mamba2_perf", MAMBA),
    ("dsa prefill b300 vllm", "b300_sxm/sparse_attention/vllm/0.24.0/dsa_context_module_perf", DSA),
    ("dsa decode b300 vllm", "b300_sxm/sparse_attention/vllm/0.24.0/dsa_generation_module_perf", dict(DSA, size="step")),
    ("quant scale h100 trtllm", "h100_sxm/quantize/trtllm/1.3.0rc20/scale_matrix_perf", QUANT),
    ("compute scale h100 trtllm", "h100_sxm/quantize/trtllm/1.3.0rc20/computescale_perf", QUANT),
    ("nccl h100", "h100_sxm/comm/nccl/2.29.2/nccl_perf", NCCL), ("oneccl b60", "b60/comm/oneccl/2021.17.2/oneccl_perf", NCCL),
]


# Where in a group the type of products stands, and that of what attention reads from a cache.
TYPE_AT = {"gemm": 0, "prefill_attention": 1, "decode_attention": 1}


def chance(*key):
    """A number from 0 to 1 that depends on the key alone."""
    return int.from_bytes(hashlib.sha256("|".join(map(str, key)).encode()).digest()[:7], "big") / 2.0**56


def read(path, kind):
    """Points of a table: group, axes, microseconds; the median of repeats."""
    names = {kind["rename"].get(name, name): name for name in parquet.read_schema(path).names}
    columns = {own: parquet.read_table(path, columns=[name]).column(0).to_pylist() for own, name in names.items() if own in kind["group"] + kind["axes"] + ["latency"]}
    for name, value in kind.get("only", {}).items():
        kept = [own == value for own in columns[name]]
        columns = {own: [cell for cell, is_kept in zip(cells, kept) if is_kept] for own, cells in columns.items()}
    group = [name for name in kind["group"] if name in columns]
    repeats = defaultdict(list)
    for row in zip(*[columns[name] for name in group + kind["axes"] + ["latency"]]):
        if row[-1] and row[-1] > 0:
            repeats[tuple(map(str, row[: len(group)])), tuple(row[len(group) : -1])].append(row[-1] * 1000)
    points = []
    for (slice_, at), times in sorted(repeats.items()):
        times.sort()
        points.append((slice_, at, (times[len(times) // 2] + times[(len(times) - 1) // 2]) / 2))
    return group, points


def tasks(name, kind, points, most):
    """Kind of the task, its name, and which points are asked (or nothing is known of)."""
    for left_out, axes, about in (("every", kind["out"], 1), ("between every", kind.get("between", []), 1.03)):
        for axis in axes:
            at = kind["axes"].index(axis)
            values = sorted({point[1][at] for point in points})
            for value in values if about == 1 else values[1:-1]:
                hidden = {i for i, point in enumerate(points) if value / about <= point[1][at] <= value * about}
                own = (i for i in hidden if points[i][1][at] == value)
                yield f"{left_out} {axis}", f"{name} {axis}={value}", hidden, set(sorted(own, key=lambda i: chance(name, axis, points[i][:2]))[:most])
    if kind["out"]:
        return
    known = {i for i, point in enumerate(points) if chance(name, "sparse", point[:2]) < 0.1}
    asked = set(range(len(points))) - known
    yield "10 % known", f"{name} sparse10", asked, set(sorted(asked, key=lambda i: chance(name, "s", points[i][:2]))[: 4 * most])
    asked = {i for i, point in enumerate(points) if chance(name, "loo", point[:2]) < 1 / 12}
    yield "1 of 12 left out", f"{name} loo", asked, set(sorted(asked, key=lambda i: chance(name, "l", points[i][:2]))[: 4 * most])
    places = [kind["axes"].index(axis) for axis in kind["config"]]
    configurations = sorted({tuple(point[1][at] for at in places) for point in points})
    for number in range(min(6, len(configurations))):
        chosen = [one for one in configurations if int(chance(name, "config", one) * min(6, len(configurations))) == number]
        asked = {i for i, point in enumerate(points) if tuple(point[1][at] for at in places) in chosen}
        if asked and len(asked) < len(points):
            yield "whole configurations", f"{name} config{number}", asked, set(sorted(asked, key=lambda i: chance(name, "c", points[i][:2]))[:most])


def text(name, kind, group, points, hidden, asked):
    head = dict(task=name, family=kind["family"], group=group, axes=kind["axes"], size_axis=kind["size"], config=kind["config"], constants={})
    out = io.StringIO()
    out.write("#" + json.dumps(head) + "\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["role", "point", *group, *kind["axes"], "time_us"])
    for i, (slice_, at, us) in enumerate(points):
        if i in asked:
            writer.writerow(["ask", i, *slice_, *at, ""])
        elif i not in hidden:
            writer.writerow(["known", i, *slice_, *at, f"{us:.9g}"])
    return out.getvalue()


def answer(program, task):
    done = subprocess.run([program], input=task, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return {int(row["point"]): tuple(float(row[column]) for column in ("predicted_us", "low_us", "high_us")) for row in csv.DictReader(io.StringIO(done.stdout))}


def process(points, hidden, asked):
    """A Gaussian process for each slice, as its library has it."""
    import numpy
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    found = {}
    for slice_ in sorted({points[i][0] for i in asked}):
        known = [i for i, point in enumerate(points) if point[0] == slice_ and i not in hidden]
        wanted = [i for i in asked if points[i][0] == slice_]
        known = sorted(known, key=lambda i: chance("gp", points[i][:2]))[:600]
        if len(known) < 3:
            continue
        x = lambda rows: numpy.log2(numpy.array([points[i][1] for i in rows], dtype=float) + 1)
        y = numpy.log([points[i][2] for i in known])
        axes = x(known).shape[1]
        kernel = ConstantKernel(1.0, (1e-3, 1e4)) * Matern([4.0] * axes, (0.1, 1e3), nu=1.5) + WhiteKernel(1e-3, (1e-6, 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=1).fit(x(known), y)
        mean, deviation = model.predict(x(wanted), return_std=True)
        found.update({i: (math.exp(m), math.exp(m - 1.645 * s), math.exp(m + 1.645 * s)) for i, m, s in zip(wanted, mean, deviation)})
    return found


def theirs(data, file, points, asked, axis, value):
    """What AIConfigurator says of products, from its own tables without a value of an axis."""
    import pyarrow.compute
    from aiconfigurator_core.sdk import common, engine, perf_database
    from aiconfigurator_core.sdk.operations.gemm import GEMM as Product

    path = data / f"{file}.parquet"
    system, _, framework, version, _ = path.relative_to(data).parts
    with tempfile.TemporaryDirectory() as folder:
        # A tree of links in which this one file is another.
        real, made = data.parent, Path(folder)
        for part in path.relative_to(real).parts[:-1]:
            for other in real.iterdir():
                if other.name != part:
                    os.symlink(other.resolve(), made / other.name)
            real, made = real / part, made / part
            made.mkdir()
        for other in real.iterdir():
            if other != path:
                os.symlink(other.resolve(), made / other.name)
        rows = parquet.read_table(path)
        parquet.write_table(rows.filter(pyarrow.compute.not_equal(rows[axis], value)), made / path.name)
        database = perf_database.get_database(system, framework, version, systems_paths=folder, shared_layer=False, database_mode="SILICON")
        handle = engine.EngineHandle.for_database(database, systems_path=folder)
        found, by_rows = {}, defaultdict(list)
        for i in asked:
            if points[i][0][0] in ("bfloat16", "fp8"):
                by_rows[points[i][1][0]].append(i)
        for m, some in by_rows.items():
            calls = [Product(str(i), 1.0, *points[i][1][1:], common.GEMMQuantMode[points[i][0][0]]) for i in some]
            answers = handle.evaluate_ops_json(engine.build_ops_json(calls), is_context=True, batch_size=1, s=m, prefix=0, x=m, imbalance_correction_scale=1.0)
            found.update({i: (answer[1] * 1000, math.nan, math.nan) for i, answer in zip(some, answers)})
        return found


def score(points, asked, found):
    """(error, whether the interval holds it, half width) of each answered point."""
    out = []
    for i in sorted(asked & found.keys()):
        us, (predicted, low, high) = points[i][2], found[i]
        out.append((abs(math.log(predicted / us)), low <= us <= high, math.sqrt(high / low) - 1))
    return out


def at(values, share):
    values = sorted(values)
    place = share * (len(values) - 1)
    low = int(place)
    return values[low] + (place - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def worse(configurations):
    """Of samples of configurations, the share (in %) in which the first of two errors is greater: by the median, and by the 90th percentile."""
    draw = random.Random(1)
    samples = ([pair for one in draw.choices(configurations, k=len(configurations)) for pair in one] for _ in range(1000))
    greater = [[at([one for one, _ in sample], share) > at([other for _, other in sample], share) for share in (0.5, 0.9)] for sample in samples]
    return [100 * sum(column) / len(greater) for column in zip(*greater)]


def line(scores, count):
    percent = lambda share: 100 * math.expm1(at([one[0] for one in scores], share))
    errors = f"{count} | {100 * len(scores) / count:.0f} % | {percent(0.5):.2f} | {percent(0.9):.1f}"
    if math.isnan(scores[0][2]):
        return f"{errors} | | "
    covered = 100 * sum(one[1] for one in scores) / len(scores)
    return f"{errors} | {covered:.1f} | ±{100 * at([one[2] for one in scores], 0.5):.1f} %"


# Sizes that grow, of tables whose rows are compared in pairs.
GROWING = {"gemm": ["m", "n", "k"], "prefill_attention": ["batch", "query_tokens"], "decode_attention": ["batch", "past_tokens"]}


def pairs_of(name, kind, points, most):
    """Pairs of calls of which the second has up to twice as much of one size: (slice, first, second, axis)."""
    growing = [kind["axes"].index(axis) for axis in GROWING[kind["family"]]]
    for number, i in enumerate(sorted(range(len(points)), key=lambda i: chance("pair", name, points[i][:2]))[:most]):
        draws = iter(range(10**9))
        draw = lambda: chance("pair size", name, number, next(draws))
        slice_, first, _ = points[i]
        first = list(first)
        for at in growing:
            if draw() < 0.5:
                first[at] = max(1, round(first[at] * 2 ** (1.8 * draw() - 0.9)))
        axis = growing[int(draw() * len(growing))]
        second = list(first)
        second[axis] = max(first[axis] + 1, round(first[axis] * 2 ** (0.1 + 0.9 * draw())))
        yield slice_, tuple(first), tuple(second), axis


class Lines:
    """Rows that differ in one size alone."""

    def __init__(self, points, growing):
        self.us, self.values, self.lines = {}, defaultdict(set), defaultdict(list)
        for slice_, at, us in points:
            self.us[slice_, at] = us
            for axis in growing:
                self.values[slice_, axis].add(at[axis])
                self.lines[slice_, axis, at[:axis] + at[axis + 1 :]].append((at[axis], us))
        self.values = {key: sorted(values) for key, values in self.values.items()}
        for line in self.lines.values():
            line.sort()
        self.growing = growing

    def around(self, slice_, axis, value):
        """The nearest sizes of rows on both sides."""
        values = self.values[slice_, axis]
        above = bisect.bisect_left(values, value)
        return {values[max(0, above - 1)], values[min(above, len(values) - 1)]} if values[min(above, len(values) - 1)] != value else {value}

    def fall(self, slice_, first, second, axis):
        """Whether rows around a pair fall along its axis."""
        others = [self.around(slice_, at, value) if at in self.growing else {value} for at, value in enumerate(first) if at != axis]
        low, high = min(self.around(slice_, axis, first[axis])), max(self.around(slice_, axis, second[axis]))
        for corner in itertools.product(*others):
            times = [us for value, us in self.lines.get((slice_, axis, corner), []) if low <= value <= high]
            if any(after < before for before, after in zip(times, times[1:])):
                return True
        return False


def monotone(arguments):
    """Counts pairs of calls of which the one with more of a size is said to take less time."""
    print("| table | pairs of | pairs | falls | where rows fall, too | beyond intervals | where no rows fall | median, % | 90th percentile, % | greatest, % |\n|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for name, file, kind in TABLES:
        if arguments.only not in name or kind["family"] not in GROWING:
            continue
        group, points = read(arguments.data / f"{file}.parquet", kind)
        lines = Lines(points, [kind["axes"].index(axis) for axis in GROWING[kind["family"]]])
        pairs = {}
        for dtype in sorted({slice_[0] for slice_, *_ in points}):
            pairs[dtype] = list(pairs_of(f"{name} {dtype}", kind, [point for point in points if point[0][0] == dtype], arguments.most))
        calls = sorted({(slice_, at) for some in pairs.values() for slice_, *both, _ in some for at in both} - lines.us.keys())
        number = {call: len(points) + at for at, call in enumerate(calls)}
        found = answer(arguments.program, text(name, kind, group, points + [(*call, 0) for call in calls], set(), set(number.values())))
        us = {call: (own,) * 3 for call, own in lines.us.items()} | {call: found[at] for call, at in number.items() if at in found}
        for dtype, some in pairs.items():
            cells = defaultdict(list)
            for slice_, first, second, axis in some:
                if (slice_, first) not in us or (slice_, second) not in us:
                    continue
                rows = sum((slice_, at) in lines.us for at in (first, second))
                (before, low, _), (after, _, high) = us[slice_, first], us[slice_, second]
                fall = 1 - after / before if after < before * (1 - 1e-9) else 0
                cells[rows].append((fall, fall and lines.fall(slice_, first, second, axis), rows < 2 and after < low and before > high))
            for rows, all_pairs in sorted(cells.items()):
                falls = [one for one in all_pairs if one[0]]
                percent = " | ".join(f"{100 * at([fall for fall, *_ in falls], share):.1f}" for share in (0.5, 0.9, 1)) if falls else "| |"
                of = ("two predictions", "a row and a prediction", "two rows")[rows]
                print(f"| {name} {dtype} | {of} | {len(all_pairs)} | {len(falls)} | {sum(own for _, own, _ in falls)} | {sum(beyond for *_, beyond in falls)} | {sum(beyond and not own for _, own, beyond in falls)} | {percent} |", flush=True)


# Tables by how their names begin, and the columns of which every value is left out.
IMPORTED = {"gemm_": ["n", "k"], "context_attention_": ["isl", "batch_size"], "generation_attention_": ["step", "batch_size"]}


def query_of(kernel, row):
    """The query of a row: its inputs, and over how many ranks experts are spread."""
    pairs = zip(row["Input Shapes"].split(";"), row["Input Data Types"].split(";"))
    query = {"kernel": kernel, "inputs": [{"shape": [int(size) for size in shape.split(",")], "dtype": dtype} for shape, dtype in pairs]}
    return query | ({"ep_size": int(row["EP Size"])} if row.get("EP Size") else {})


def message_of(operator, row):
    """The query of a row of a collective. What is scattered is told by the whole of it."""
    dtype, size = {"DT_BF16": ("bfloat16", 2), "DT_FP16": ("float16", 2), "DT_INT8": ("int8", 1)}[row["dtype"]]
    devices = int(row["num_devices"])
    elements = int(row["message_bytes"]) // size * (devices if "reduce_scatter" in operator else 1)
    return {"op": operator, "inputs": [{"shape": [elements], "dtype": dtype}], "devices": devices, "tier": int(row["topology_tier"])}


def asked(program, folder, queries, semantics="best"):
    """What the program answers to queries."""
    lines = "".join(json.dumps({"id": number, "query": query}) + "\n" for number, query in enumerate(queries))
    command = [program, "db", "query", str(folder), "--manifest", "-", "--semantics", semantics, "-o", "-.json", "-q"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return [json.loads(line)["answer"] for line in done.stdout.splitlines()]


def queried(program, folder, kernel, rows):
    """What the program answers to the queries of some rows."""
    return asked(program, folder, [query_of(kernel, row) for row in rows])


def operators_of(folder):
    """The operator of each kernel type that stands alone in the mapping."""
    found, operator = {}, None
    for line in (folder / "op_mapping.yaml").read_text().splitlines():
        if line.startswith("  ") and not line.startswith("   ") and line.endswith(":"):
            operator = line.strip(" :")
        elif line.startswith("    kernel_type: "):
            found.setdefault(line.split(": ")[1], operator)
    return found


def own_rows(arguments):
    """Each row of each version of a system is asked its own query."""
    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.program, "db", "import", "--from", "aiconfigurator", str(arguments.data / arguments.rows)]
        subprocess.run([*command, "--database-path", folder, "-q"], check=True)

        def of_table(path):
            rows = list(csv.DictReader(path.open()))
            name, operator = "Duration(us)", operators_of(path.parent).get(path.stem)
            if "Input Shapes" in rows[0]:
                name, queries = "Average Duration(us)", [query_of(path.stem, row) for row in rows]
            elif operator is None:
                return path, len(rows), None
            else:
                queries = [message_of(operator, row) for row in rows]
            answers = asked(arguments.program, path.parent, queries, "corrected")
            is_own = lambda row, answer: answer.get("source") == "MEASURED" and math.isclose(answer["duration_us"], float(row[name]), rel_tol=1e-9)
            return path, len(rows), sum(map(is_own, rows, answers))

        right = count = 0
        with ThreadPoolExecutor(2) as pool:
            for path, rows, own in pool.map(of_table, sorted(Path(folder).glob("**/*.csv"))):
                if own != rows:
                    found = "no operator" if own is None else f"{own} of them answer their own query"
                    print(f"{path.relative_to(folder)}: {rows} rows, {found}", file=sys.stderr)
                right, count = right + (own or 0), count + rows
        print(f"{right} of {count} rows answer their own query")


# Peaks of the H100 SXM (white paper): operations per second by bytes of the type, and bytes per second.
OPERATIONS, BANDWIDTH = {2: 989.4e12, 1: 1978.9e12, 0.5: 989.4e12}, 3.35e12
BYTES = {"DT_BF16": 2, "FLOAT8_E4M3FN": 1, "INT4": 0.5, "FLOAT4_E2M1": 0.5}


def shortest_us(stem, window, query):
    """The shortest time that the peaks allow a call; None where what it does is not described."""
    shapes = [one["shape"] for one in query["inputs"]]
    sizes = [BYTES.get(one["dtype"]) for one in query["inputs"]]
    fastest = max(OPERATIONS[size] for size in sizes[:2])
    if stem.startswith("gemm_"):
        (m, k), n = shapes[0], shapes[1][1]
        return max(2 * m * n * k / fastest, (m * k * sizes[0] + n * k * sizes[1] + 2 * m * n) / BANDWIDTH) * 1e6
    if stem.startswith("generation_attention_"):
        batch, tokens, heads, head_size = shapes[1]
        return 2 * batch * min(tokens, window or tokens) * heads * head_size * sizes[1] / BANDWIDTH * 1e6
    if stem.startswith(("context_attention_", "encoder_attention_")):
        batch, tokens, heads, head_size = shapes[0]
        pairs = tokens * min(tokens, 2 * window or tokens) / 2
        return 4 * batch * heads * head_size * pairs / fastest * 1e6
    if stem.startswith("moe_"):
        (tokens, hidden), intermediate, top_k = shapes[0], shapes[1][2], shapes[2][1]
        return 6 * tokens * top_k / query.get("ep_size", 1) * hidden * intermediate / fastest * 1e6
    return None


def resized(stem, query, draw):
    """A query of sizes between those of rows: up to twice as many, or half of them. Weights of experts, heads and the size of a head stay."""
    near = lambda size: max(1, round(size * 2 ** draw()))
    shapes = [list(one["shape"]) for one in query["inputs"]]
    if stem.startswith("gemm_"):
        m, k, n = near(shapes[0][0]), near(shapes[0][1]), near(shapes[1][1])
        shapes = [[m, k], [k, n]]
    elif stem.startswith("moe_"):
        shapes[0][0] = shapes[2][0] = near(shapes[0][0])
    else:
        batch, tokens = near(shapes[0][0]), near(shapes[1][1])
        prompts = tokens if shapes[0][1] > 1 else 1
        shapes = [[batch, prompts if at == 0 else tokens, *shape[2:]] for at, shape in enumerate(shapes)]
    return query | {"inputs": [one | {"shape": shape} for one, shape in zip(query["inputs"], shapes)]}


def roofline(arguments):
    """Places between rows are asked: no answer and no lower end may lie below what the device allows."""
    with tempfile.TemporaryDirectory() as folder:
        system, framework, version = arguments.roofline.split("/")
        if system != "h100_sxm":
            raise SystemExit("the peaks of h100_sxm alone are known here")
        for path in sorted(arguments.data.glob(f"{system}/*/{framework}/{version}")):
            shutil.copytree(path, Path(folder) / "from" / path.relative_to(arguments.data))
        subprocess.run([arguments.program, "db", "import", "--from", "aiconfigurator", f"{folder}/from", "--database-path", f"{folder}/to", "-q"], check=True)
        places = below = allowed = tables = 0
        for path in sorted(Path(folder).glob(f"to/{arguments.roofline}/*.csv")):
            rows = list(csv.DictReader(path.open()))
            if arguments.only not in path.stem or "Input Shapes" not in rows[0] or shortest_us(path.stem, 0, query_of(path.stem, rows[0])) is None:
                continue
            tables += 1
            window = int(float(rows[0].get("aiconfigurator window_size") or 0))
            is_quick = {at: float(row["Average Duration(us)"]) < shortest_us(path.stem, window, query_of(path.stem, row)) for at, row in enumerate(rows)}
            at_of = lambda query: [math.log2(size) for one in query["inputs"] for size in one["shape"] if size]
            quick = [at_of(query_of(path.stem, rows[at])) for at in is_quick if is_quick[at]]
            chosen = sorted(range(len(rows)), key=lambda at: chance("roofline", path.stem, at))[: arguments.most]
            draws = iter(range(10**9))
            draw = lambda: 1.8 * chance("size", path.stem, next(draws)) - 0.9
            queries = [resized(path.stem, query_of(path.stem, rows[at]), draw) for at in chosen]
            for semantics in ("corrected", "best"):
                for query, answer in zip(queries, asked(arguments.program, path.parent, queries, semantics)):
                    if not answer["hit"]:
                        continue
                    places += 1
                    least = shortest_us(path.stem, window, query) * (1 - 1e-9)
                    if min(answer["duration_us"], answer.get("low_us", math.inf)) >= least:
                        continue
                    # Rows that are quicker than their own roofline, up to four octaves away in all.
                    own = at_of(query)
                    if any(sum(abs(a - b) for a, b in zip(own, other)) <= 4 for other in quick):
                        allowed += 1
                    else:
                        below += 1
                        print(f"{path.stem}, {semantics}: {answer['duration_us']:.3f} us, at least {answer.get('low_us')}, where {least:.3f} us are possible: {query['inputs']}", file=sys.stderr)
        print(f"{tables} tables, {places} answers: {below} below the roofline, {allowed} next to rows that are")
        return 1 if below else 0


def left_out_of(program, path, lines, rows, column, most):
    """Each value of a column is left out in turn: errors, whether intervals hold the truth, half widths."""

    def one(value):
        asked = [row for row in rows if row[column] == value]
        asked = sorted(asked, key=lambda row: chance(path.stem, column, row["Input Shapes"]))[:most]
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(path.parent / "op_mapping.yaml", folder)
            kept = [line for line, row in zip(lines[1:], rows) if row[column] != value]
            (Path(folder) / path.name).write_text("\n".join([lines[0], *kept, ""]))
            return list(zip(asked, queried(program, folder, path.stem, asked)))

    with ThreadPoolExecutor(2) as pool:
        answers = [pair for pairs in pool.map(one, sorted({row[column] for row in rows})) for pair in pairs]
    found = [(float(row["Average Duration(us)"]), answer) for row, answer in answers if answer["hit"]]
    triples = {at: (answer["duration_us"], answer.get("low_us", answer["duration_us"]), answer.get("high_us", answer["duration_us"])) for at, (_, answer) in enumerate(found)}
    return score([(None, None, us) for us, _ in found], triples.keys(), triples), len(answers)


def imported(arguments):
    """The program's own way: import, query."""
    with tempfile.TemporaryDirectory() as folder:
        system, framework, version = arguments.imported.split("/")
        for path in sorted(arguments.data.glob(f"{system}/*/{framework}/{version}")):
            shutil.copytree(path, Path(folder) / "from" / path.relative_to(arguments.data))
        subprocess.run([arguments.program, "db", "import", "--from", "aiconfigurator", f"{folder}/from", "--database-path", f"{folder}/to", "-q"], check=True)
        print("| table | left out | queries | answered | median error, % | 90th percentile, % | coverage, % | half width |\n|---|---|---|---|---|---|---|---|", flush=True)
        for path in sorted(Path(folder).glob(f"to/{arguments.imported}/*.csv")):
            begin = next((begin for begin in IMPORTED if path.stem.startswith(begin)), None)
            if arguments.only not in path.stem or not begin:
                continue
            lines = path.read_text().splitlines()
            rows = list(csv.DictReader(lines))
            answers = queried(arguments.program, path.parent, path.stem, rows)
            wrong = sum(answer.get("source") != "MEASURED" or not math.isclose(answer["duration_us"], float(row["Average Duration(us)"]), rel_tol=1e-9) for row, answer in zip(rows, answers))
            print(f"{path.stem}: {len(rows) - wrong} of {len(rows)} rows answer their own query", file=sys.stderr)
            for name in IMPORTED[begin]:
                scores, count = left_out_of(arguments.program, path, lines, rows, f"aiconfigurator {name}", arguments.most)
                if scores:
                    print(f"| {path.stem} | every {name} | {line(scores, count)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("program")
    parser.add_argument("--only", default="")
    parser.add_argument("--process", action="store_true")
    parser.add_argument("--aiconfigurator", action="store_true")
    parser.add_argument("--most", type=int, default=200, help="rows asked of each task")
    parser.add_argument("--imported", metavar="SYSTEM/FRAMEWORK/VERSION", help="ask the program itself")
    parser.add_argument("--rows", metavar="SYSTEM", help="ask each row its own query")
    parser.add_argument("--roofline", metavar="SYSTEM/FRAMEWORK/VERSION", help="ask sizes between those of rows, and compare with the peaks of the device")
    parser.add_argument("--monotone", action="store_true", help="count pairs of calls of which the larger is said to take less time")
    arguments = parser.parse_args()
    if arguments.monotone:
        return monotone(arguments)
    if arguments.roofline:
        return roofline(arguments)
    if arguments.rows:
        return own_rows(arguments)
    if arguments.imported:
        return imported(arguments)
    print("| table | left out | by | queries | answered | median error, % | 90th percentile, % | coverage, % | half width |\n|---|---|---|---|---|---|---|---|---|", flush=True)
    totals = defaultdict(lambda: [[], 0])
    for name, file, kind in TABLES:
        if arguments.only not in name:
            continue
        group, points = read(arguments.data / f"{file}.parquet", kind)
        all_tasks = list(tasks(name, kind, points, arguments.most))
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda task: answer(arguments.program, text(task[1], kind, group, points, task[2], task[3])), all_tasks))
        cells = defaultdict(lambda: [[], 0])
        pairs = defaultdict(lambda: defaultdict(list))
        for (left_out, task, hidden, asked), found in zip(all_tasks, answers):
            ways = [("perfdb", found)]
            if arguments.process and kind["family"] in ("generic", "collective"):
                ways.append(("Gaussian process", process(points, hidden, asked)))
                places = [kind["axes"].index(axis) for axis in kind["config"]]
                for i in asked & ways[0][1].keys() & ways[1][1].keys():
                    errors = tuple(abs(math.log(found[i][0] / points[i][2])) for _, found in ways)
                    pairs[name, left_out][points[i][0], *(points[i][1][at] for at in places)].append(errors)
            if arguments.aiconfigurator and kind is GEMM and left_out.startswith("every"):
                axis, value = task.rsplit(" ", 1)[1].split("=")
                ways.append(("AIConfigurator", theirs(arguments.data, file, points, asked, axis, int(value))))
            for way, found in ways:
                by_type = defaultdict(set)
                for i in asked:
                    by_type[points[i][0][TYPE_AT[kind["family"]]] if kind["family"] in TYPE_AT else ""].add(i)
                for dtype, rows in by_type.items():
                    of = [cells[f"{name} {dtype}".strip(), left_out, way]]
                    if dtype:
                        of.append(totals[f"all {'products' if kind is GEMM else 'attention'}, {dtype}", "between sizes" if left_out.startswith("between") else "every value", way])
                    elif kind["family"] == "generic":
                        of.append(totals["all kernels that nobody described", left_out, way])
                    scores = score(points, rows, found)
                    for cell in of:
                        cell[0] += scores
                        cell[1] += len(rows)
        show(cells)
        for key, by_configuration in pairs.items():
            shares = "median {:.1f} %, 90th percentile {:.1f} %".format(*worse(list(by_configuration.values())))
            print("| " + " | ".join(key) + f" | samples in which perfdb's error is greater | {shares} |", flush=True)
    show(dict(sorted(totals.items())))


def show(cells):
    for key, (scores, count) in cells.items():
        if scores:
            print("| " + " | ".join(key) + " | " + line(scores, count) + " |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
