"""A data source for TensorCast: the simulator's profiling model asks perfdb instead of its own readers.

    from perfdb.tensorcast import PerfdbDataSource
    model = EmpiricalPerformanceModel(device_profile, PerfdbDataSource(data_dir, device_profile, parallel_config))

With the simulator installed, results are its own classes; without it, classes of the same form stand here, so that answers can
be looked at and tested anywhere.
"""

import json
import os
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Dict, List, Optional, Tuple, Union

from ._perfdb import Answer, Database

__all__ = ["PerfdbDataSource", "QueryResult", "QuerySource", "ShapeMatchInfo", "SubKernelShapeInfo"]

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


# Operators that cost nothing: the rules that say so.
_FREE = ("zero_cost", "accepted_miss")


class PerfdbDataSource(DataSourcePerformanceModel):
    """Answers the simulator's calls from a perfdb database.

    data_dir: the database. device_profile, parallel_config: the simulator's; by these collectives find their tier, and shapes
    their tensor- and expert-parallel sizes. semantics: "corrected", "best" (predictions with intervals between rows), "upstream"
    (the simulator's reader of 2026, to the last bit) or "upstream-2025". interpolate: whether also between rows.
    sequence_parallel: whether the simulation runs with it.
    """

    def __init__(
        self,
        data_dir: Union[str, "os.PathLike[str]"],
        device_profile: Any = None,
        parallel_config: Any = None,
        *,
        semantics: str = "corrected",
        interpolate: bool = True,
        sequence_parallel: bool = False,
    ) -> None:
        self.database = Database(data_dir, semantics, layer="interpolating" if interpolate else "measured")
        self.last_miss_reason = ""
        self._surroundings: Dict[str, Any] = {
            "ep_size": getattr(parallel_config, "expert_parallel_size", None),
            "tp_size": getattr(parallel_config, "tensor_parallel_size", None),
            "sequence_parallel": sequence_parallel,
            "grid": _grid(getattr(device_profile, "comm_grid", None)),
        }

    def lookup(self, op_invoke_info: Any) -> Optional[QueryResult]:
        """The answer to a call, or None; last_miss_reason then says why."""
        name = str(op_invoke_info.func)
        answer = self.database.lookup_operator(
            name[len("torch.ops.") :] if name.startswith("torch.ops.") else name,
            op_invoke_info.args,
            outputs=op_invoke_info.out,
            keywords=op_invoke_info.kwargs or None,
            **self._surroundings,
        )
        if not answer.hit:
            self.last_miss_reason = answer.reason or ""
            return None
        return self._result(answer, _input_shapes(op_invoke_info.args))

    def store(self, op_invoke_info: Any, result: QueryResult) -> None:
        """Databases are made by perfdb's tools, not by simulations."""
        raise NotImplementedError("a perfdb database is read only here")

    def _result(self, answer: Answer, simulation_shapes: List[List[int]]) -> QueryResult:
        values = answer.to_dict()
        rule = values.get("rule") or answer.method or ""
        details: Dict[str, Any] = {}
        if values.get("kernel_type") is not None:
            details["kernel_type"] = values["kernel_type"]
        if rule in _FREE:
            details["zero_cost"] = True
        if values.get("rows"):
            details["rows"] = values["rows"]
        for key in ("low_us", "high_us", "class"):
            if key in values:
                details[key] = values[key]
        parts = answer.parts
        if parts:
            details["composite"] = True
            details["sub_kernel_durations"] = [(part["kernel_type"], round(part["duration_us"], 2)) for part in parts]
        if answer.source == "PARTIAL":
            details["partial"] = True
            details["hit_kernels"] = [part["kernel_type"] for part in parts]
            details["missed_kernels"] = values.get("missed_kernels", [])
        sub_kernels = None
        if parts:
            sub_kernels = [SubKernelShapeInfo(part["kernel_type"], [], [], part["rule"]) for part in parts]
        kernel_shapes = [] if parts else self._kernel_shapes(answer)
        return QueryResult(
            latency_us=answer.duration_us,
            confidence=answer.confidence,
            source=QuerySource[answer.source],
            details=details,
            shape_match_info=ShapeMatchInfo(simulation_shapes, kernel_shapes, rule),
            sub_kernel_shapes=sub_kernels,
        )

    def _kernel_shapes(self, answer: Answer) -> List[List[int]]:
        rows = answer.rows
        if len(rows) != 1:
            return []
        kernel_type = os.path.splitext(os.path.basename(rows[0].file))[0]
        return self.database.row_shapes(kernel_type, rows[0].line) or []


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
