"""python -m perfdb.tensorcast: the simulator's own command with perfdb's data source, and a report of what its times are based on."""

import argparse
import importlib
import importlib.util
import json
import math
import os
import sys
from dataclasses import dataclass, field
from typing import Any, Dict, List, NoReturn, Optional, Tuple

from ._perfdb import Error
from .tensorcast import MAX_FACTOR, PerfdbDataSource

TOOLS = {"text_generate": "cli.inference.text_generate", "throughput_optimizer": "cli.inference.throughput_optimizer"}

# Where processes that the simulator starts find the options.
_ENVIRONMENT = "PERFDB_TENSORCAST"

_ROWS = 20


@dataclass
class Group:
    """Calls of the same operator with the same answer."""

    name: str
    source: str
    basis: str
    calls: int = 0
    total_us: float = 0.0
    low_us: Optional[float] = None
    high_us: Optional[float] = None


@dataclass
class Report:
    """What a simulation's calls were answered from."""

    semantics: str
    groups: Dict[Tuple[str, str, float, str], Group] = field(default_factory=dict)
    # The simulator's results by identity, which it uses again for equal calls: source, basis and interval.
    results: Dict[int, Tuple[Any, str, str, Optional[Tuple[float, float]]]] = field(default_factory=dict)

    def describe(self, result: Any, source: str, basis: str, interval: Optional[Tuple[float, float]] = None) -> None:
        self.results[id(result)] = result, source, basis, interval

    def count(self, runtime: Any) -> None:
        """Counts the calls of a simulated pass."""
        for event in runtime.event_list:
            for result in event.perf_results.values():
                known = self.results.get(id(result))
                if known is not None:
                    _, source, basis, interval = known
                    self.add(str(event.op_invoke_info.func), source, result.execution_time_s * 1e6, basis, interval)

    def add(self, name: str, source: str, us: float, basis: str, interval: Optional[Tuple[float, float]]) -> None:
        group = self.groups.setdefault((name, source, us, basis), Group(name, source, basis))
        group.calls += 1
        group.total_us += us
        if interval is not None:
            group.low_us = (group.low_us or 0.0) + interval[0]
            group.high_us = (group.high_us or 0.0) + interval[1]

    def of_source(self, source: str) -> Tuple[int, float]:
        groups = [group for group in self.groups.values() if group.source == source]
        return sum(group.calls for group in groups), sum(group.total_us for group in groups)

    def total_us(self) -> float:
        return sum(group.total_us for group in self.groups.values())

    def interval_us(self) -> Optional[Tuple[float, float]]:
        """The 90 % interval of the total without analytic calls' errors, which are not known.

        Equal calls err together, so their deviations add up; different ones are independent, so the squares do.
        """
        known = [group for group in self.groups.values() if group.low_us is not None]
        if not known:
            return None
        below = math.sqrt(sum((group.total_us - (group.low_us or 0.0)) ** 2 for group in known))
        above = math.sqrt(sum(((group.high_us or 0.0) - group.total_us) ** 2 for group in known))
        total = self.total_us()
        return total - below, total + above

    def to_dict(self) -> Dict[str, Any]:
        interval = self.interval_us()
        sources = {}
        for name in ("measured", "predicted", "analytic", "free"):
            calls, us = self.of_source(name)
            sources[name] = {"calls": calls, "total_us": us}
        ordered = sorted(self.groups.values(), key=lambda group: -group.total_us)
        return {
            "format_version": 1,
            "semantics": self.semantics,
            "total_us": self.total_us(),
            "low_us": interval[0] if interval else None,
            "high_us": interval[1] if interval else None,
            "sources": sources,
            "calls": [
                {
                    "operator": group.name,
                    "source": group.source,
                    "calls": group.calls,
                    "total_us": group.total_us,
                    "low_us": group.low_us,
                    "high_us": group.high_us,
                    "basis": group.basis,
                }
                for group in ordered
            ],
        }

    def text(self) -> str:
        total = self.total_us()
        interval = self.interval_us()

        def share(us: float) -> str:
            return f"{100 * us / total:.1f} %" if total else "0 %"

        said = f"{total / 1000:.3f} ms"
        if interval:
            said += f", 90 % interval {interval[0] / 1000:.3f}–{interval[1] / 1000:.3f} ms (errors of analytic calls are not known)"
        lines = [f"simulated operators, semantics {self.semantics}: {said}"]
        for source in ("measured", "predicted", "analytic"):
            calls, us = self.of_source(source)
            lines.append(f"  {source:<10} {us / 1000:>10.3f} ms  {share(us):>7}  {calls:>6} calls")
        lines.append(f"  {'free':<10} {'':>10}     {'':>7}  {self.of_source('free')[0]:>6} calls")
        lines += ["", f"{'ms':>9} {'share':>7} {'calls':>6}  {'source':<9}  operator: based on"]
        ordered = sorted((group for group in self.groups.values() if group.total_us > 0), key=lambda group: -group.total_us)
        for group in ordered[:_ROWS]:
            ends = ""
            if group.low_us is not None and group.high_us is not None:
                ends = f" ({group.low_us / 1000:.3f}–{group.high_us / 1000:.3f} ms)"
            us = group.total_us
            lines.append(f"{us / 1000:>9.3f} {share(us):>7} {group.calls:>6}  {group.source:<9}  {group.name}: {group.basis}{ends}")
        if len(ordered) > _ROWS:
            lines.append(f"{len(ordered) - _ROWS} more rows: write the report to a file that ends in .json")
        if interval is None:
            lines.append("Only --semantics best gives intervals.")
        return "\n".join(lines) + "\n"


def _install(options: Dict[str, Any]) -> Report:
    """Lets the simulator's models ask perfdb. Its code stays as it is: the names by which its runner finds its readers are replaced."""
    runner: Any = importlib.import_module("tensor_cast.core.model_runner")
    report = Report(options["semantics"])

    def exact(data_dir: Any, device_profile: Any = None, parallel_config: Any = None) -> PerfdbDataSource:
        return PerfdbDataSource(data_dir, device_profile, parallel_config, interpolate=False, **options)

    def interpolating(source: PerfdbDataSource) -> PerfdbDataSource:
        return source.interpolating()

    class ReportingModel(runner.EmpiricalPerformanceModel):  # type: ignore[misc]
        def process_op(self, op_invoke_info: Any) -> Any:
            result = super().process_op(op_invoke_info)
            _describe(report, self.data_source, self.op_records[-1].lookup_result, result)
            return result

    runner.ProfilingDataSource = exact
    runner.InterpolatingDataSource = interpolating
    runner.EmpiricalPerformanceModel = ReportingModel
    run_inference = runner.ModelRunner.run_inference

    def observed(self: Any, *arguments: Any, runtime_observer: Any = None, **options: Any) -> Any:
        def observe(runtime: Any) -> None:
            report.count(runtime)
            if runtime_observer is not None:
                runtime_observer(runtime)

        return run_inference(self, *arguments, runtime_observer=observe, **options)

    runner.ModelRunner.run_inference = observed
    return report


def _describe(report: Report, source: PerfdbDataSource, found: Any, result: Any) -> None:
    if found is None:
        report.describe(result, "analytic", source.last_miss_reason)
        return
    answer = source.last_answer
    if found.details.get("zero_cost"):
        report.describe(result, "free", str(found.details.get("kernel_type") or "no kernel"))
        return
    rows = [str(row) for row in answer.rows] if answer is not None else []
    basis = ", ".join(rows[:3]) + (f" and {len(rows) - 3} more" if len(rows) > 3 else "")
    interval = None
    if answer is not None and answer.low_us is not None and answer.high_us is not None:
        interval = answer.low_us, answer.high_us
    is_row = found.source.name == "MEASURED" and (answer is None or answer.rule != "other_type")
    report.describe(result, "measured" if is_row else "predicted", basis, interval)


def install_from_environment() -> None:
    """The same in a process that the simulator has started."""
    if _ENVIRONMENT in os.environ:
        _install(json.loads(os.environ[_ENVIRONMENT]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m perfdb.tensorcast",
        allow_abbrev=False,
        description="Run a command of the simulator with perfdb's data source. All other options are the simulator's.",
    )
    parser.add_argument("tool", choices=sorted(TOOLS), help="the simulator's command")
    parser.add_argument(
        "--semantics",
        choices=["corrected", "best", "upstream", "upstream-2025"],
        default="corrected",
        help="lookup rules: corrected, best (adds predictions with intervals), upstream, upstream-2025 (default corrected)",
    )
    parser.add_argument(
        "--max-factor",
        type=float,
        default=MAX_FACTOR,
        metavar="F",
        help=f"widest interval of a prediction, as a factor to each side (default {MAX_FACTOR})",
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="write which calls were measured, predicted and analytic, with intervals; .json for all calls (text_generate)",
    )
    return parser


def _fail(message: str, status: int = 1) -> NoReturn:
    print(f"error: {message}", file=sys.stderr)
    sys.exit(status)


def main(arguments: Optional[List[str]] = None) -> None:
    """Runs a command of the simulator."""
    options, others = _parser().parse_known_args(arguments)
    if options.report is not None and options.tool != "text_generate":
        _fail("--report is for text_generate: other commands simulate in several processes", 2)
    if not options.max_factor > 1.0:
        _fail(f"--max-factor {options.max_factor}: not a factor above 1", 2)
    for module in ("tensor_cast", "cli"):
        if importlib.util.find_spec(module) is None:
            _fail(f"the simulator is not installed ({module} cannot be imported): put a checkout of msmodeling on PYTHONPATH")
    chosen = {"semantics": options.semantics, "max_factor": options.max_factor}
    os.environ[_ENVIRONMENT] = json.dumps(chosen)
    report = _install(chosen)
    sys.argv = [options.tool, *others]
    try:
        importlib.import_module(TOOLS[options.tool]).main()
    except (Error, OSError) as failure:
        _fail(str(failure))
    if options.report is not None:
        content = json.dumps(report.to_dict(), indent=1) + "\n" if options.report.endswith(".json") else report.text()
        try:
            _write(options.report, content)
        except OSError as failure:
            _fail(f"{options.report}: {failure.strerror}")


def _write(path: str, content: str) -> None:
    """Writes a file whole, or not at all."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise
