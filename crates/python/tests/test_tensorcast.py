"""The simulator's data source: recorded answers of its readers, with and without the simulator."""

import gzip
import importlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import perfdb
import pytest
from conftest import MAPPING, MATMUL
from perfdb.tensorcast import PerfdbDataSource, QuerySource

NAMES = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
    "fp64": "float64",
    "fp8_e4m3": "float8_e4m3fn",
    "fp8_e5m2": "float8_e5m2",
    "bool": "bool",
}


class Type:
    """Prints as the framework's types do."""

    def __init__(self, name):
        self.name = NAMES.get(name, name)

    def __str__(self):
        return f"torch.{self.name}"


class Tensor:
    """A tensor as the simulator has them: a shape, a type, rarely contents."""

    def __init__(self, shape, dtype, values=None):
        self.shape, self.dtype, self.values = tuple(shape), Type(dtype), values

    def tolist(self):
        if self.values is None:
            raise NotImplementedError("no contents")
        return self.values


class Call:
    def __init__(self, query):
        self.func = "torch.ops." + query["op"]
        self.args = tuple(value(item) for item in query.get("args", query.get("inputs", [])))
        self.kwargs = {name: value(item) for name, item in query.get("kwargs", {}).items()}
        outputs = query.get("outputs")
        self.out = tuple(value(item) for item in outputs) if outputs else value(query.get("output"))


def value(item):
    if isinstance(item, dict):
        return Tensor(item["shape"], item["dtype"], item.get("values"))
    return [value(inner) for inner in item] if isinstance(item, list) else item


class Grid:
    def __init__(self, grid):
        self.grid, self.topologies = Tensor(grid["shape"], "int64"), dict.fromkeys(grid["tiers"])


class Profile:
    def __init__(self, grid):
        self.comm_grid = Grid(grid) if grid else None


class Parallel:
    def __init__(self, query):
        self.expert_parallel_size, self.tensor_parallel_size = query.get("ep_size"), query.get("tp_size")


def recorded(testdata, name):
    folder = testdata / "golden" / name
    vectors = json.loads((folder / "vectors.json").read_text())
    return folder / vectors["database"], vectors["cases"]


@pytest.mark.parametrize("layer, interpolate", [("exact", False), ("with_interpolation", True)])
@pytest.mark.parametrize("name, semantics, least", [("lookup-newest", "upstream", 1100), ("lookup", "upstream-2025", 46)])
def test_recorded_answers(testdata, name, semantics, least, layer, interpolate):
    folder, cases = recorded(testdata, name)
    sources, compared = {}, 0
    for case in cases:
        query, expected = case["query"], case[layer]
        # Entries of their own have no place in a simulator's call.
        if "error" in expected or "entry" in query or "attention" in query or "kernel" in query or "devices" in query:
            continue
        key = json.dumps([query.get(name) for name in ("ep_size", "tp_size", "sequence_parallel", "grid")])
        if key not in sources:
            sources[key] = PerfdbDataSource(
                folder,
                Profile(query.get("grid")),
                Parallel(query),
                semantics=semantics,
                interpolate=interpolate,
                sequence_parallel=query.get("sequence_parallel", False),
            )
        source = sources[key]
        result = source.lookup(Call(query))
        compared += 1
        if not expected["hit"]:
            assert result is None, case["name"]
            assert source.last_miss_reason.split(";")[0] == expected["reason"], case["name"]
            continue
        assert result.source is QuerySource[expected["source"]], case["name"]
        assert result.confidence == pytest.approx(expected["confidence"], rel=1e-12), case["name"]
        if expected.get("unique") is False:
            low, high = expected["range_us"]
            assert low * (1 - 1e-9) <= result.latency_us <= high * (1 + 1e-9), case["name"]
        else:
            assert result.latency_us == pytest.approx(expected["latency_us"], rel=1e-9), case["name"]
    assert compared >= least


def test_what_a_trace_gets(folder):
    source = PerfdbDataSource(folder, semantics="best")
    operands = [{"shape": [16, 512], "dtype": "bf16"}, {"shape": [512, 2048], "dtype": "bf16"}]
    result = source.lookup(Call({"op": "aten.mm.default", "inputs": operands}))
    assert result.latency_us == 5.0 and result.details["kernel_type"] == "MatMulV2"
    assert result.details["rows"] == ["MatMulV2.csv:2"]
    assert result.shape_debug_statistics() == {
        "kernel_shapes": "[[16, 512], [512, 2048]]",
        "shape_match_rule": "identity",
    }
    assert result.shape_match_info.simulation_shapes == [[16, 512], [512, 2048]]
    assert source.lookup(Call({"op": "aten.nothing.default"})) is None and source.last_miss_reason == "wrapper_unmapped"
    with pytest.raises(NotImplementedError):
        source.store(None, result)


def product(rows):
    return Call({"op": "aten.mm.default", "inputs": [{"shape": [rows, 512], "dtype": "bf16"}, {"shape": [512, 2048], "dtype": "bf16"}]})


def test_predictions_answer_only_where_they_know_better(folder):
    inside, outside = product(24), product(512)
    source = PerfdbDataSource(folder, semantics="best", max_factor=100.0)
    result = source.lookup(inside)
    assert 5.0 < result.latency_us < 7.5 and result.source is QuerySource.INTERPOLATED
    assert result.details["class"] == "inside" and result.details["low_us"] < result.latency_us < result.details["high_us"]
    assert source.lookup(outside) is None and source.last_miss_reason.startswith("prediction_outside_measured_range:")
    assert source.last_answer.duration_us > 12.0
    narrow = PerfdbDataSource(folder, semantics="best", max_factor=1.0001)
    assert narrow.lookup(inside) is None and narrow.last_miss_reason.startswith("prediction_too_wide:")
    # A row is a row, however narrow the limit.
    assert narrow.lookup(product(16)).latency_us == 5.0
    with pytest.raises(ValueError, match="max_factor"):
        PerfdbDataSource(folder, semantics="best", max_factor=1.0)


def test_predictions_are_not_below_the_device(folder):
    class Properties:
        memory_read_bytes, memory_write_bytes, memory_readwrite_bytes, compute_ops = 90_000_000, 0, 0, {}

    class Device:
        comm_grid, memory_bandwidth_bytes_ps, mma_ops, gp_ops = None, 1e12, {}, {}

    call = product(24)
    call.get_perf_properties = Properties
    source = PerfdbDataSource(folder, Device, semantics="best", max_factor=100.0)
    assert source.lookup(call) is None and source.last_miss_reason == "prediction_below_device_limit:90.00"
    Device.memory_bandwidth_bytes_ps = 1e14
    assert source.lookup(call).latency_us < 7.5

    class Operations:
        mma_ops, gp_ops = 1e12, 0

    Properties.compute_ops, Device.mma_ops = {"bf16": Operations}, {"bf16": 1e16}
    assert source.lookup(call) is None and source.last_miss_reason == "prediction_below_device_limit:100.00"


COMPOSITE = """operator_mappings:
  tensor_cast.matmul_all_reduce.default: {composite: true, sub_kernels: [MatMulV2, hcom_allReduce_]}
  tensor_cast.all_reduce.default: {category: communication, kernel_type: hcom_allReduce_}
"""
COLLECTIVE = """message_bytes,num_devices,topology_tier,Average Duration(us)
65536,2,0,10.0
131072,2,0,16.0
"""


def test_sums_tell_their_kernels(folder):
    (folder / "op_mapping.yaml").write_text(COMPOSITE)
    (folder / "hcom_allReduce_.csv").write_text(COLLECTIVE)
    call = product(16)
    call.func, call.args = "torch.ops.tensor_cast.matmul_all_reduce.default", (*call.args, 0, [0, 1])
    grid = Profile({"shape": [2], "tiers": [0]})
    result = PerfdbDataSource(folder, grid, semantics="upstream").lookup(call)
    sent = {
        "kernel_type": "hcom_allReduce_",
        "message_bytes": 65536,
        "message_bytes_mode": "full_output",
        "group_type": None,
        "num_devices": 2,
        "topology_tier": 0,
        "interpolation_method": "alpha_beta",
        "interpolated": False,
    }
    assert result.latency_us == 15.0 and result.details == {
        "kernel_type": "MatMulV2",
        "sub_kernel_durations": [("MatMulV2", 5.0), ("hcom_allReduce_", 10.0)],
        "composite": True,
        "note": "compute + comm sub-kernels",
        "compute_latency_details": {},
        "communication_variant": None,
        "communication_sub_kernels": [sent],
    }
    shapes = json.loads(result.shape_debug_statistics()["sub_kernel_shapes"])
    assert [part["kernel_shapes"] for part in shapes] == ["[[16, 512], [512, 2048]]", "[]"]
    assert [part["shape_match_rule"] for part in shapes] == ["identity", "comm"]
    call = Call({"op": "tensor_cast.all_reduce.default", "inputs": [{"shape": [32768], "dtype": "bf16"}]})
    call.args = (*call.args, 0, [0, 1])
    result = PerfdbDataSource(folder, grid, semantics="upstream").lookup(call)
    assert result.details == {"kernel_type": "hcom_allReduce_", "topology_tier": 0}
    assert result.shape_match_info.kernel_shapes == [[65536]]


def test_a_folder_without_what_a_simulation_needs_is_an_error_at_opening(tmp_path):
    with pytest.raises(perfdb.Error, match="op_mapping.yaml: no such file"):
        PerfdbDataSource(tmp_path)
    (tmp_path / "op_mapping.yaml").write_text(MAPPING)
    with pytest.raises(perfdb.Error, match="no table"):
        PerfdbDataSource(tmp_path)
    (tmp_path / "MatMulV2.csv").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    with pytest.raises(perfdb.Error, match=r"1 of 1 tables are Git LFS pointers \(MatMulV2.csv\): .*git lfs pull"):
        PerfdbDataSource(tmp_path)


STUB_RUNNER = """
class ProfilingDataSource: pass
class InterpolatingDataSource: pass
class Result:
    def __init__(self, seconds): self.execution_time_s = seconds
class Record:
    def __init__(self, found): self.lookup_result = found
class EmpiricalPerformanceModel:
    def __init__(self, device_profile, data_source): self.data_source, self.op_records = data_source, []
    def process_op(self, call):
        found = self.data_source.lookup(call)
        self.op_records.append(Record(found))
        return Result(found.latency_us * 1e-6 if found else 1e-3)
class Event:
    def __init__(self, call, result): self.op_invoke_info, self.perf_results = call, {"empirical": result}
class Runtime: pass
class ModelRunner:
    def __init__(self, model): self.model = model
    def run_inference(self, calls, runtime_observer=None):
        runtime, known = Runtime(), {}
        runtime.event_list = []
        for call in calls:
            if call.key not in known: known[call.key] = self.model.process_op(call)
            runtime.event_list.append(Event(call, known[call.key]))
        if runtime_observer is not None: runtime_observer(runtime)
"""
STUB_TOOL = """
import sys
from tensor_cast.core import model_runner
class Type:
    def __str__(self): return "torch.bfloat16"
class Tensor:
    def __init__(self, *shape): self.shape, self.dtype = shape, Type()
class Call:
    kwargs, out = {}, None
    def __init__(self, func, *args): self.func, self.args, self.key = func, args, (func, *(arg.shape for arg in args))
def main():
    source = model_runner.InterpolatingDataSource(model_runner.ProfilingDataSource(sys.argv[1], None, parallel_config=None))
    model = model_runner.EmpiricalPerformanceModel(None, data_source=source)
    calls = [Call("aten.mm.default", Tensor(rows, 512), Tensor(512, 2048)) for rows in (16, 16, 24)]
    model_runner.ModelRunner(model).run_inference([*calls, Call("aten.nothing.default")])
    print("simulated", sys.argv[2:])
"""


@pytest.fixture
def simulator(tmp_path_factory):
    """A simulator with the names that the launcher replaces."""
    root = tmp_path_factory.mktemp("simulator")
    for path, text in {
        "tensor_cast/__init__.py": "",
        "tensor_cast/core/__init__.py": "",
        "tensor_cast/core/model_runner.py": STUB_RUNNER,
        "cli/__init__.py": "",
        "cli/inference/__init__.py": "",
        "cli/inference/text_generate.py": STUB_TOOL,
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def launched(simulator, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(simulator)}
    command = [sys.executable, "-m", "perfdb.tensorcast", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_the_simulators_command_runs_with_perfdb(simulator, folder, tmp_path):
    report = tmp_path / "report.json"
    options = ["--semantics", "best", "--max-factor", "100", "--report", report]
    done = launched(simulator, "text_generate", folder, *options, "--tp-size", "16")
    assert (done.returncode, done.stdout) == (0, "simulated ['--tp-size', '16']\n"), done.stderr
    told = json.loads(report.read_text())
    sources = told["sources"]
    assert (sources["measured"], sources["predicted"]["calls"]) == ({"calls": 2, "total_us": 10.0}, 1)
    assert sources["analytic"] == {"calls": 1, "total_us": 1000.0}
    assert told["low_us"] < told["total_us"] < told["high_us"]
    assert sum(call["total_us"] for call in told["calls"]) == pytest.approx(told["total_us"])
    by_source = {call["source"]: call for call in told["calls"]}
    assert by_source["measured"]["basis"] == "MatMulV2.csv:2" and by_source["measured"]["calls"] == 2
    assert by_source["analytic"]["basis"] == "wrapper_unmapped" and by_source["analytic"]["low_us"] is None
    text = tmp_path / "report.txt"
    assert launched(simulator, "text_generate", folder, "--report", text).returncode == 0
    lines = text.read_text().splitlines()
    assert lines[0] == "simulated operators, semantics corrected: 1.016 ms" and len(lines) < 40, lines
    assert lines[-1] == "Only --semantics best gives intervals."


def test_the_launcher_refuses_in_one_line(simulator, folder, tmp_path):
    for arguments, status, words in [
        (["text_generate", tmp_path / "missing"], 1, "missing"),
        (["text_generate", folder, "--report", tmp_path / "no" / "folder"], 1, "folder"),
        (["text_generate", folder, "--max-factor", "1"], 2, "not a factor above 1"),
        (["throughput_optimizer", "--report", "x"], 2, "--report is for text_generate"),
    ]:
        done = launched(simulator, *arguments)
        assert done.returncode == status and words in done.stderr, done
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1, done.stderr
    done = launched(tmp_path, "text_generate", folder)
    assert done.returncode == 1 and "the simulator is not installed" in done.stderr


SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.mark.parametrize(
    "name, ranks, least", [("qwen3_pf", 16, 50), ("qwen3_dc", 16, 50), ("dsv3_pf", 16, 50), ("dsv3_dc", 16, 50)]
)
def test_traces_are_those_of_the_simulators_reader(name, ranks, least):
    path = SHARED / "tc-traces-newest" / f"{name}_trace.json.gz"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    (folder,) = (mapping.parent for mapping in (SHARED / "db").rglob("op_mapping.yaml") if "vllm_ascend" in str(mapping))
    query = {"ep_size": ranks if name.startswith("dsv3") else 1, "tp_size": ranks}
    grid = {"shape": [48, 8, 2], "tiers": [0, 1, 2]}
    source = PerfdbDataSource(folder, Profile(grid), Parallel(query), semantics="upstream")
    compared = set()
    for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]:
        told = event.get("args", {})
        if "Inputs" not in told or (event["name"], told["Inputs"]) in compared:
            continue
        compared.add((event["name"], told["Inputs"]))
        result = source.lookup(traced(event["name"], told["Inputs"], told["Output"]))
        if told.get("shape_match_rule") == "analytic":
            assert result is None, event
            continue
        assert result is not None, (event, source.last_miss_reason)
        assert abs(result.latency_us - event["dur"]) <= 0.5 + 1e-9, event
        assert arguments(result) == {key: value for key, value in told.items() if key not in OF_THE_CALL}, event
    assert len(compared) >= least


# What a trace has of the call itself, whoever answers it.
OF_THE_CALL = ("Inputs", "Output", "simulation_shapes")


def arguments(result):
    """What the simulator writes of an answer into a trace."""
    statistics = {"source": result.source.name, "confidence": result.confidence}
    return {key: str(value) for key, value in {**statistics, **result.details, **result.shape_debug_statistics()}.items()}


def traced(name, inputs, output):
    """A call from the texts of a trace, which are Python's but for the heading of parameters."""
    inputs, _, keywords = inputs.replace("Parameter containing:\n", "").rpartition(" kwargs: ")
    call = Call({"op": name})
    names = {"tensor": tensor, "torch": Torch(), "inf": float("inf"), "nan": float("nan")}
    read = lambda text: eval(text, names)  # noqa: E731, S307
    call.args, call.kwargs, call.out = read(inputs), read(keywords), read(output.replace("Parameter containing:\n", ""))
    return call


def tensor(contents, *, device=None, size=None, dtype=None, requires_grad=False):
    if contents is ...:
        return Tensor(size, str(dtype or "torch.float32").rpartition(".")[2])
    shape = [len(contents)] if isinstance(contents, list) else []
    return Tensor(shape, str(dtype or "torch.int64").rpartition(".")[2], contents)


class Torch:
    def __getattr__(self, name):
        return Type(name)


def as_told(details):
    """As JSON has it: tuples are lists."""
    return json.loads(json.dumps(details))


def is_close(own, expected, is_inner=False):
    """Equal, numbers but for the last bits: not every machine's linear algebra has the same. Inner dictionaries are texts in a trace, so
    their order counts."""
    if isinstance(expected, dict):
        if not isinstance(own, dict) or own.keys() != expected.keys() or (is_inner and list(own) != list(expected)):
            return False
        return all(is_close(own[key], expected[key], True) for key in expected)
    if isinstance(expected, list):
        return isinstance(own, list) and len(own) == len(expected) and all(is_close(a, b, True) for a, b in zip(own, expected))
    return own == (pytest.approx(expected, rel=1e-12) if isinstance(expected, float) else expected)


def test_answers_between_rows_tell_what_the_simulators_reader_tells(testdata):
    expected = json.loads((testdata / "simulator" / "details.json").read_text())["cases"]
    folder, cases = recorded(testdata, "lookup-newest")
    compared = 0
    for case in cases:
        told = expected.get(case["name"])
        # Corners between several axes are those of SciPy, which is there wherever the simulator is.
        if told is None or ("simplex" in json.dumps(told) and importlib.util.find_spec("scipy") is None):
            continue
        query = case["query"]
        source = PerfdbDataSource(folder, None, Parallel(query), semantics="upstream", sequence_parallel=query.get("sequence_parallel", False))
        result = source.lookup(Call(query))
        assert is_close(as_told(result.details), told["details"]), case["name"]
        assert result.shape_debug_statistics() == told["shapes"], case["name"]
        assert result.latency_us == pytest.approx(told["latency_us"], rel=1e-9), case["name"]
        compared += 1
    assert compared > 20


CORNERS = """Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Average Duration(us)
"16,512;512,1024",DT_BF16;DT_BF16,ND;ND,"16,1024",DT_BF16,ND,4.0
"16,512;512,2048",DT_BF16;DT_BF16,ND;ND,"16,2048",DT_BF16,ND,5.0
"64,512;512,1024",DT_BF16;DT_BF16,ND;ND,"64,1024",DT_BF16,ND,8.0
"64,512;512,2048",DT_BF16;DT_BF16,ND;ND,"64,2048",DT_BF16,ND,12.0
"""


def test_who_asks_may_choose_the_corners(folder):
    (folder / "MatMulV2.csv").write_text(CORNERS)
    operands = [{"shape": [40, 512], "dtype": "bf16"}, {"shape": [512, 1536], "dtype": "bf16"}]
    source = PerfdbDataSource(folder, semantics="upstream")
    source.lookup(Call({"op": "aten.mm.default", "inputs": operands}))
    answer, asked = source.last_answer, []
    # The middle of a rectangle: on either diagonal.
    assert answer.duration_us == 7.25
    for numbers, duration_us in [((3, 0, 1), 8.0), ((2, 1, 3), 6.5)]:
        corners = [(number, weight, weight) for number, weight in zip(numbers, (0.5, 0.5, 0.0))]
        statistics = answer.statistics(lambda places, target: asked.append((places, target)) or corners)
        assert asked.pop() == ([[16.0, 1024.0], [16.0, 2048.0], [64.0, 1024.0], [64.0, 2048.0]], [40.0, 1536.0])
        assert statistics["duration_us"] == duration_us
        simplex = statistics["details"]["simplex"]
        assert simplex == {"simplex_vertex_indices": list(numbers), "barycentric_weights": [0.5, 0.5, 0.0]}
        assert statistics["kernel_shapes"][0] == [64.0, 2048.0 if numbers[0] == 3 else 1024.0]
    for nothing in (None, lambda places, target: None, lambda places, target: [(9, 1.0, 1.0)]):
        statistics = answer.statistics(nothing)
        assert "duration_us" not in statistics and len(statistics["kernel_shapes"]) == 4
    with pytest.raises(ZeroDivisionError):
        answer.statistics(lambda places, target: 1 / 0)
    with pytest.raises(TypeError):
        answer.statistics(lambda places, target: "corners")


def test_the_real_simulator_agrees(testdata, folder):
    package = "tensor_cast.performance_model.profiling_database"
    base = pytest.importorskip(f"{package}.data_source", reason="the simulator is not installed")
    readers = importlib.import_module(f"{package}.profiling_data_source")
    interpolating = importlib.import_module(f"{package}.interpolating_data_source")
    torch = pytest.importorskip("torch")
    own = PerfdbDataSource(folder)
    assert isinstance(own, base.DataSourcePerformanceModel) and QuerySource is base.QuerySource

    def real(value):
        if isinstance(value, Tensor):
            dtype = getattr(torch, value.dtype.name)
            if value.values is not None:
                return torch.tensor(value.values, dtype=dtype)
            return torch.empty(value.shape, dtype=dtype, device="meta")
        return type(value)(map(real, value)) if isinstance(value, (list, tuple)) else value

    database, cases = recorded(testdata, "lookup-newest")
    theirs = interpolating.InterpolatingDataSource(readers.ProfilingDataSource(database))
    ours = PerfdbDataSource(database, semantics="upstream")
    compared = 0
    for case in cases:
        query = case["query"]
        if "inputs" not in query or {"entry", "ep_size", "tp_size", "grid", "sequence_parallel", "kwargs"} & set(query):
            continue
        call = Call(query)
        call.args, call.out = real(call.args), real(call.out)
        try:
            expected = theirs.lookup(call)
        except Exception:  # noqa: BLE001, S112  the simulator's own faults
            continue
        result = ours.lookup(call)
        assert (result is None) == (expected is None), case["name"]
        if expected is not None:
            assert result.latency_us == pytest.approx(expected.latency_us, rel=1e-9), case["name"]
            assert result.source is expected.source, case["name"]
            assert as_told(result.details) == as_told(expected.details), case["name"]
            assert result.shape_debug_statistics() == expected.shape_debug_statistics(), case["name"]
        compared += 1
    assert compared > 200
