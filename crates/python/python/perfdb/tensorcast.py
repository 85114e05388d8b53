"""A data source for TensorCast: the simulator's profiling model asks perfdb instead of its own readers.

    python -m perfdb.tensorcast --semantics best text_generate MODEL ...

runs the simulator's own command with it. In code:

    from perfdb.tensorcast import PerfdbDataSource
    model = EmpiricalPerformanceModel(device_profile, PerfdbDataSource(data_dir, device_profile, parallel_config))

With the simulator installed, results are its own classes; without it, classes of the same form stand here, so that answers can
be looked at and tested anywhere.
"""

import copy
import json
import os
import pathlib
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Dict, List, Optional, Tuple, Union

from ._perfdb import Answer, Database, Error

__all__ = ["MAX_FACTOR", "PerfdbDataSource", "QueryResult", "QuerySource", "ShapeMatchInfo", "SubKernelShapeInfo"]

try:
    from tensor_cast.performance_model.profiling_database.data_source import (  # type: ignore[import-not-found]
        DataSourcePerformanceModel,
        QueryResult,
        QuerySource,
        ShapeMatchInfo,
        SubKernelShapeInfo,
    )
except ImportError:

    class DataSourcePerformanceModel:  # type: ignore[no-redef]
        """What the simulator calls a data source."""

    class QuerySource(Enum):  # type: ignore[no-redef]
        """Where an answer comes from."""

        MEASURED = auto()
        INTERPOLATED = auto()
        EXTRAPOLATED = auto()
        PARTIAL = auto()

    @dataclass
    class ShapeMatchInfo:  # type: ignore[no-redef]
        """The shapes of a call and of the row that answered."""

        simulation_shapes: List[List[int]]
        kernel_shapes: List[List[int]]
        shape_match_rule: str

    @dataclass
    class SubKernelShapeInfo:  # type: ignore[no-redef]
        """The same for one kernel of a sum."""

        kernel_type: str
        simulation_shapes: List[List[int]]
        kernel_shapes: List[List[int]]
        shape_match_rule: str

    @dataclass
    class QueryResult:  # type: ignore[no-redef]
        """An answer: microseconds, how far it can be trusted, and where it comes from."""

        latency_us: float
        confidence: float
        source: QuerySource
        details: Dict[str, Any] = field(default_factory=dict)
        shape_match_info: Optional[ShapeMatchInfo] = None
        sub_kernel_shapes: Optional[List[SubKernelShapeInfo]] = None

        def shape_debug_statistics(self) -> Dict[str, str]:
            """The shapes as the texts of a trace."""
            if self.sub_kernel_shapes is not None:
                parts = [
                    {
                        "kernel_type": part.kernel_type,
                        "simulation_shapes": str(part.simulation_shapes),
                        "kernel_shapes": str(part.kernel_shapes),
                        "shape_match_rule": part.shape_match_rule,
                    }
                    for part in self.sub_kernel_shapes
                ]
                return {"sub_kernel_shapes": json.dumps(parts)}
            info = self.shape_match_info
            if info is None:
                return {}
            shapes = str(info.kernel_shapes) if info.kernel_shapes else ""
            return {"kernel_shapes": shapes, "shape_match_rule": info.shape_match_rule}


# How far an end of a predicted interval may be from its duration, as a factor, for the prediction to replace the simulator's roofline.
MAX_FACTOR = 1.5

# Where a prediction may lie to the measured rows.
_KNOWN_CLASSES = ("measured", "padded", "inside")

# The first line of a file of which Git LFS has left only the address.
_LFS = b"version https://git-lfs.github.com/spec/v1"


class PerfdbDataSource(DataSourcePerformanceModel):  # type: ignore[misc, unused-ignore]
    """Answers the simulator's calls from a perfdb database.

    data_dir: the database, a folder with op_mapping.yaml and tables. device_profile, parallel_config: the simulator's; by these
    collectives find their tier, and shapes their tensor- and expert-parallel sizes. semantics: "corrected", "best" (predictions with
    intervals between rows), "upstream" (the simulator's reader of 2026, to the last bit, with the same arguments in the trace; between
    several axes by SciPy's triangulation, where SciPy is installed as the simulator needs it) or "upstream-2025". interpolate: whether
    also between rows. sequence_parallel: whether the simulation runs with it; None asks the simulator's configuration.

    A prediction of "best" is given only inside the measured range, with an interval of at most max_factor to each side, and not
    below what the device's memory and arithmetic allow. Everything else is left to the simulator's analytic model, as are sums of
    which a part is missing; last_miss_reason says why.
    """

    def __init__(
        self,
        data_dir: Union[str, "os.PathLike[str]"],
        device_profile: Any = None,
        parallel_config: Any = None,
        *,
        semantics: str = "corrected",
        interpolate: bool = True,
        sequence_parallel: Optional[bool] = None,
        max_factor: float = MAX_FACTOR,
    ) -> None:
        if not max_factor > 1.0:
            raise ValueError(f"max_factor is {max_factor}: it is a factor above 1")
        self.database = _opened(data_dir, semantics, interpolate)
        self.interpolate = interpolate
        self.max_factor = max_factor
        self.last_miss_reason = ""
        self.last_answer: Optional[Answer] = None
        self._device_profile = device_profile
        self._sequence_parallel = sequence_parallel
        self._is_upstream = semantics.startswith("upstream")
        self._surroundings: Dict[str, Any] = {
            "ep_size": getattr(parallel_config, "expert_parallel_size", None),
            "tp_size": getattr(parallel_config, "tensor_parallel_size", None),
            "grid": _grid(getattr(device_profile, "comm_grid", None)),
        }

    def lookup(self, op_invoke_info: Any) -> Optional[QueryResult]:
        """The answer to a call, or None; last_miss_reason then says why. last_answer has the rows."""
        name = str(op_invoke_info.func)
        answer = self.database.lookup_operator(
            name[len("torch.ops.") :] if name.startswith("torch.ops.") else name,
            op_invoke_info.args,
            outputs=op_invoke_info.out,
            keywords=op_invoke_info.kwargs or None,
            sequence_parallel=_sequence_parallel() if self._sequence_parallel is None else self._sequence_parallel,
            **self._surroundings,
        )
        self.last_answer = answer
        self.last_miss_reason = (answer.reason or "") if not answer.hit else self._why_not(answer, op_invoke_info)
        if not answer.hit or self.last_miss_reason:
            return None
        return self._result(answer, _input_shapes(op_invoke_info.args))

    def store(self, op_invoke_info: Any, result: QueryResult) -> None:
        """Databases are made by perfdb's tools, not by simulations."""
        raise NotImplementedError("a perfdb database is read only here")

    def interpolating(self) -> "PerfdbDataSource":
        """The same source, with answers between rows: what the simulator's wrapper makes of its reader."""
        other = copy.copy(self)
        other.database = Database(self.database.path, self.database.semantics)
        other.interpolate = True
        return other

    def _why_not(self, answer: Answer, op_invoke_info: Any) -> str:
        """Why the simulator's analytic model knows better than this answer; empty where it does not."""
        # The reader of rows alone reports partial sums, as the simulator's does.
        if answer.source == "PARTIAL" and not (self._is_upstream and not self.interpolate):
            missed = answer.to_dict().get("missed_kernels", [])
            return f"sub_kernel_miss:{','.join(missed)}"
        low_us, duration_us, high_us = answer.low_us, answer.duration_us, answer.high_us
        # Rows of another data type are rows too: the simulator queries float16 for models of bfloat16.
        if low_us is None or high_us is None or not duration_us or answer.class_ == "measured":
            return ""
        if answer.class_ not in _KNOWN_CLASSES:
            return f"prediction_outside_measured_range:{answer.class_}"
        factor = max(high_us / duration_us, duration_us / low_us) if low_us > 0 else float("inf")
        if factor > self.max_factor:
            return f"prediction_too_wide:{factor:.2f}"
        floor_us = _floor_us(op_invoke_info, self._device_profile)
        if duration_us < floor_us:
            return f"prediction_below_device_limit:{floor_us:.2f}"
        return ""

    def _result(self, answer: Answer, simulation_shapes: List[List[int]]) -> QueryResult:
        statistics = answer.statistics(_corners if self._is_upstream else None) or {}
        details = statistics["details"]
        if not self._is_upstream:
            details.update(_basis(answer))
        parts = statistics["parts"]
        is_shaped = parts is None or details.get("ep_size") is not None
        return QueryResult(
            latency_us=statistics.get("duration_us", answer.duration_us),
            confidence=answer.confidence,
            source=_source(answer),
            details=details,
            shape_match_info=ShapeMatchInfo(simulation_shapes, statistics["kernel_shapes"], statistics["rule"])
            if is_shaped
            else None,
            sub_kernel_shapes=None if parts is None else [SubKernelShapeInfo(*part) for part in parts],
        )


def _opened(data_dir: Union[str, "os.PathLike[str]"], semantics: str, interpolate: bool) -> Database:
    """The database of a folder that has what a simulation needs; a folder without it is an error now, not a miss at each call."""
    database = Database(data_dir, semantics, layer="interpolating" if interpolate else "measured")
    folder = pathlib.Path(data_dir)
    mapping = folder / "op_mapping.yaml"
    if not mapping.is_file():
        raise Error(f"{mapping}: no such file: without a mapping no operator has a table")
    tables = sorted(folder.glob("*.csv"))
    if not tables:
        raise Error(f"{folder}: no table: a database has a CSV file for each kernel type")
    pointers = [table.name for table in tables if _is_pointer(table)]
    if pointers:
        raise Error(
            f"{folder}: {len(pointers)} of {len(tables)} tables are Git LFS pointers ({pointers[0]}): fetch them with git lfs pull"
        )
    return database


def _is_pointer(path: pathlib.Path) -> bool:
    with open(path, "rb") as file:
        return file.read(len(_LFS)) == _LFS


def _basis(answer: Answer) -> Dict[str, Any]:
    """What an answer is based on: rows, interval and class."""
    values = answer.to_dict()
    keys: Tuple[str, ...] = ("rows", "low_us", "high_us", "class")
    basis: Dict[str, Any] = {key: values[key] for key in keys if key in values}
    if answer.source == "PADDED":
        basis["padded"] = True
    return basis


def _source(answer: Answer) -> QuerySource:
    """The simulator has no name for the row of a smaller call, which its kernel rounds up to the next tile."""
    return QuerySource.EXTRAPOLATED if answer.source == "PADDED" else QuerySource[answer.source or "MEASURED"]


def _corners(places: List[List[float]], target: List[float]) -> Optional[List[Tuple[int, float, float]]]:
    """The corners around a target, as the library of the simulator's reader has them: their order is that in which it built the
    triangulation, and where several triangulations are right, nothing else shows which it took. None without the library."""
    try:
        import numpy  # type: ignore[import-not-found, unused-ignore]
        from scipy.spatial import Delaunay, QhullError  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return None
    try:
        triangulation = Delaunay(numpy.asarray(places))
    except QhullError:
        return None
    at = numpy.asarray(target)
    simplex = int(triangulation.find_simplex(at))
    if simplex < 0:
        return None
    transform = triangulation.transform[simplex]
    told = numpy.dot(transform[: len(at)], at - transform[len(at)])
    weights = [*told.tolist(), float(1.0 - told.sum())]
    # The library's interpolation adds up in another order than its products do.
    *rows, last = transform.tolist()
    shares, rest = [], 1.0
    for row in rows:
        share = 0.0
        for factor, value, corner in zip(row, target, last):
            share += factor * (value - corner)
        shares.append(share)
        rest -= share
    return list(zip(triangulation.simplices[simplex].tolist(), weights, [*shares, rest]))


def _sequence_parallel() -> bool:
    """Whether the simulation in this process runs with sequence parallelism."""
    try:
        from tensor_cast import config  # type: ignore[import-not-found]
    except ImportError:
        return False
    return bool(config.compilation.passes.enable_sequence_parallel)


def _floor_us(op_invoke_info: Any, device: Any) -> float:
    """What a call takes at least on a device: its bytes at full bandwidth, or its arithmetic at full speed. 0 where that is not known."""
    if device is None or not hasattr(op_invoke_info, "get_perf_properties"):
        return 0.0
    properties = op_invoke_info.get_perf_properties()
    moved = properties.memory_read_bytes + properties.memory_write_bytes + 2 * properties.memory_readwrite_bytes
    seconds = moved / device.memory_bandwidth_bytes_ps if device.memory_bandwidth_bytes_ps else 0.0
    for dtype, operations in properties.compute_ops.items():
        for count, speeds in ((operations.mma_ops, device.mma_ops), (operations.gp_ops, device.gp_ops)):
            speed = speeds.get(dtype)
            if count and speed:
                seconds = max(seconds, count / speed)
    return float(seconds * 1e6)


def _grid(comm_grid: Any) -> Optional[Tuple[List[int], List[int]]]:
    if comm_grid is None:
        return None
    return [int(size) for size in comm_grid.grid.shape], [int(tier) for tier in comm_grid.topologies]


def _input_shapes(arguments: Any) -> List[List[int]]:
    """Shapes of the tensors among the arguments, one level deep; scalars are passed over."""
    shapes = []
    for argument in arguments:
        for value in argument if isinstance(argument, (list, tuple)) else [argument]:
            shape = getattr(value, "shape", None)
            if shape is not None and len(shape) > 0:
                shapes.append([int(size) for size in shape])
    return shapes


if __name__ in ("__main__", "__mp_main__"):
    # Processes that the simulator spawns import this module again, under the second name.
    from perfdb import _simulate

    if __name__ == "__main__":
        _simulate.main()
    else:
        _simulate.install_from_environment()
