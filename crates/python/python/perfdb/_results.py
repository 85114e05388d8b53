"""Results of comparisons, checks and forecasts: the JSON that the tools write, as objects."""

import copy
import html
import json
import os
from typing import Any, Dict, Iterator, List, Optional, Sequence, Type, TypeVar, Union

from . import _perfdb

__all__ = [
    "Comparison",
    "Explanation",
    "Forecast",
    "Result",
    "TraceCheck",
    "check_trace",
    "compare_traces",
    "explain_prediction",
    "forecast",
]

Path = Union[str, "os.PathLike[str]"]


class Result:
    """An object of a tool's JSON: its keys are attributes and items; lists hold objects of the same kind.

    Keys that are no names in Python are items only: result["class"].
    """

    def __init__(self, values: Dict[str, Any], outcome: Optional[_perfdb.Outcome] = None) -> None:
        self._values = values
        self._outcome = outcome

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return _wrapped(self._values[name])
        except KeyError:
            raise AttributeError(f"there is no {name!r}; there are {', '.join(self._values)}") from None

    def __getitem__(self, name: str) -> Any:
        return _wrapped(self._values[name])

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._values]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and self._values == other._values

    def __reduce__(self) -> Any:
        return type(self), (self._values,)

    def __copy__(self) -> "Result":
        return self

    def __deepcopy__(self, memo: Any) -> "Result":
        return type(self)(copy.deepcopy(self._values, memo), self._outcome)

    def to_dict(self) -> Dict[str, Any]:
        """All of it as plain dictionaries and lists."""
        return self._values

    def __repr__(self) -> str:
        shown = [f"{name}={_short(value)}" for name, value in self._values.items()]
        return f"{type(self).__name__}({', '.join(shown)})"

    def to_html(self) -> Optional[str]:
        """The page of the tool's --html, with charts and tables; None for a part of a result."""
        return None if self._outcome is None else self._outcome.html()

    def _repr_html_(self) -> str:
        """The page in a frame of its own, for notebooks; of a part of a result its values and tables."""
        page = self.to_html()
        if page is None:
            return _as_html(self._values)
        framed = html.escape(page, quote=True)
        return f'<iframe srcdoc="{framed}" sandbox="allow-scripts" style="width: 100%; height: 48em; border: 0"></iframe>'


class Explanation(Result):
    """Where a prediction is wrong: what explain_prediction returns. Times with _ps are integer picoseconds."""

    format_version: int
    predicted_ps: int
    measured_ps: int
    difference_ps: int
    gross_ps: int
    gross_by_type_ps: int
    coverage_ps: Result
    joined_ps: int
    joined_with_names_ps: int
    within_10_percent_ps: int
    passes: float
    by_cause_ps: Result
    layers_note: Optional[str]
    workload: Optional[Result]
    families: List[Result]
    leaves: List[Result]
    groups: List[Result]
    m6: Optional[float]
    reconcile: Result
    timeline: Result
    layers: Optional[Result]
    todo: List[Result]


class Comparison(Result):
    """How two GPU traces differ: what compare_traces returns."""

    format_version: int
    verdict: str
    trust: Result
    metadata: Result
    operations: List[Result]
    layers: List[Result]
    unmatched_operations: List[Result]
    warnings: List[Any]
    unknown_kernels: List[Any]
    confidence: Optional[Result]
    elapsed: Result
    waterfall: List[Result]
    different_workloads: Optional[Any]
    threshold_ms: float
    noise_ms: float
    next_steps: List[Result]
    groups: List[Result]
    strips: List[Result]
    roofline: Optional[Result]


class TraceCheck(Result):
    """What is wrong with a trace or a kernel table: what check_trace returns."""

    format_version: int
    file: str
    kind: str
    trust: str
    trust_reasons: List[str]
    kernel_time_us: float
    certificate: Result
    findings: List[Result]
    notes: List[Any]


class Forecast(Result):
    """What deployments of a model take: what forecast returns. Times are milliseconds with 90 % intervals."""

    format_version: int
    forecasts: List[Result]
    refused: List[Result]


def _wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return Result(value)
    if isinstance(value, list):
        return [_wrapped(item) for item in value]
    return value


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return f"<{len(value)} keys>"
    if isinstance(value, list):
        return f"<{len(value)} items>"
    return repr(value)


# Notebooks show so many rows of a table; to_dict() has all of them.
_ROWS_SHOWN = 20


def _cell(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return html.escape(_short(value))
    if isinstance(value, float):
        return f"{value:,.3f}"
    return html.escape("" if value is None else str(value))


def _table(rows: List[Dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(row.get(name))}</td>" for name in columns) + "</tr>" for row in rows[:_ROWS_SHOWN]
    )
    more = f"<caption>{_ROWS_SHOWN} of {len(rows)} rows</caption>" if len(rows) > _ROWS_SHOWN else ""
    return f"<table>{more}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _as_html(values: Dict[str, Any]) -> str:
    plain = {name: value for name, value in values.items() if not isinstance(value, (dict, list))}
    parts = []
    if plain:
        rows = "".join(f"<tr><th>{html.escape(name)}</th><td>{_cell(value)}</td></tr>" for name, value in plain.items())
        parts.append(f"<table><tbody>{rows}</tbody></table>")
    for name, value in values.items():
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            parts.append(f"<details open><summary>{html.escape(name)}</summary>{_table(value)}</details>")
        elif isinstance(value, dict) and value:
            parts.append(f"<details><summary>{html.escape(name)}</summary>{_as_html(value)}</details>")
        elif isinstance(value, list) and value:
            parts.append(f"<p>{html.escape(name)}: {_cell(json.dumps(value)[:400])}</p>")
    return "".join(parts)


_Kind = TypeVar("_Kind", bound=Result)


def _result(kind: Type[_Kind], outcome: _perfdb.Outcome) -> _Kind:
    return kind(json.loads(outcome.json), outcome)


def compare_traces(first: Path, second: Path, *, phase: str = "all") -> Comparison:
    """Compares two GPU traces of the same workload; keys as compare-traces --format json.

    phase: all, prefill, decode or mixed.
    """
    return _result(Comparison, _perfdb.compare_traces(first, second, phase=phase))


def explain_prediction(
    tc_trace: Path, prof_trace: Path, *, n_forward_passes: float = 1.0, data_dir: Optional[Path] = None
) -> Explanation:
    """Says where a prediction is wrong, adding up to the whole difference; keys as explain-prediction --json.

    data_dir: a database whose op_mapping.yaml maps operators to kernels. Times with _ps are integer picoseconds.
    """
    outcome = _perfdb.explain_prediction(tc_trace, prof_trace, n_forward_passes=n_forward_passes, data_dir=data_dir)
    return _result(Explanation, outcome)


def check_trace(path: Path) -> TraceCheck:
    """Says what is wrong with a trace or a kernel table, and how far its figures can be trusted; keys as check-trace --json."""
    return _result(TraceCheck, _perfdb.check_trace(path))


def forecast(
    model: Optional[Path],
    database: Path,
    *,
    tp: Union[int, Sequence[int]] = 1,
    ep: int = 1,
    dp: int = 1,
    pp: int = 1,
    batch: Union[int, Sequence[int]] = 1,
    input: int = 1024,
    output: int = 512,
    kv_cache: Optional[str] = None,
    layers: Optional[Path] = None,
    calibration: Optional[Path] = None,
    against: Optional[Path] = None,
) -> Forecast:
    """Forecasts the time per output token (TPOT) and to the first token (TTFT) of a served model; keys as forecast -o FILE.json.

    model: a config.json, or the folder with one; None with layers, a YAML that lists layers and operators. database: imported tables
    SYSTEM/FRAMEWORK/VERSION. tp and batch may be lists: a forecast for each pair. against: measured times or another forecast.
    Deployments that cannot be forecast are in refused; an Error says why where none can.
    """
    if (model is None) == (layers is None):
        raise ValueError("give either model or layers")
    described = layers if model is None else model
    assert described is not None
    for given in (described, database, calibration, against):
        if given is not None and not os.path.exists(given):
            raise _perfdb.MissingFileError(f"{os.fspath(given)}: no such file or directory")
    outcome = _perfdb.forecast(
        described,
        database,
        is_layers=model is None,
        tp=_sizes(tp),
        ep=ep,
        dp=dp,
        pp=pp,
        batch=_sizes(batch),
        input=input,
        output=output,
        kv_cache=kv_cache,
        calibration=calibration,
        against=against,
    )
    return _result(Forecast, outcome)


def _sizes(value: Union[int, Sequence[int]]) -> List[int]:
    return [value] if isinstance(value, int) else list(value)
