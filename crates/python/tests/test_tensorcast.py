"""The simulator's data source: recorded answers of its readers, with and without the simulator."""

import gzip
import importlib
import json
from pathlib import Path

import pytest
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


SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.mark.parametrize(
    "name, ranks, least", [("qwen3_pf", 16, 50), ("qwen3_dc", 16, 50), ("dsv3_pf", 16, 50), ("dsv3_dc", 16, 50)]
)
def test_answers_that_stand_in_traces(name, ranks, least):
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
        assert result.source.name == told["source"] and str(result.confidence) == told["confidence"], event
        assert result.details.get("kernel_type", "") == told.get("kernel_type", ""), event
        if told["shape_match_rule" if "shape_match_rule" in told else "source"] == "identity":
            assert result.shape_debug_statistics()["kernel_shapes"] == told["kernel_shapes"], event
    assert len(compared) >= least


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
        if expected is not None and case["with_interpolation"].get("unique") is not False:
            assert result.latency_us == pytest.approx(expected.latency_us, rel=1e-9), case["name"]
            assert result.source is expected.source, case["name"]
        compared += 1
    assert compared > 200
