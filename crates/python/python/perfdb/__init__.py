"""Performance databases of operators: look durations up, compare predictions with measurements, compare GPU traces.

>>> import perfdb
>>> database = perfdb.Database("db")                                        # doctest: +SKIP
>>> database.lookup("MatMulV2", "16,5120;5120,768", "DT_BF16").duration_us  # doctest: +SKIP
12.5
"""

from ._perfdb import (
    Answer,
    Answers,
    ArrowBatches,
    ArrowStream,
    ArrowTable,
    Database,
    Error,
    MissingFileError,
    Query,
    Row,
    __version__,
    read_kernels,
    read_trace,
)
from ._results import (
    Comparison,
    Explanation,
    Forecast,
    Result,
    TraceCheck,
    check_trace,
    compare_traces,
    explain_prediction,
    forecast,
)

__all__ = [
    "Answer",
    "Answers",
    "ArrowBatches",
    "ArrowStream",
    "ArrowTable",
    "Comparison",
    "Database",
    "Error",
    "Explanation",
    "Forecast",
    "MissingFileError",
    "Query",
    "Result",
    "Row",
    "TraceCheck",
    "__version__",
    "check_trace",
    "compare_traces",
    "explain_prediction",
    "forecast",
    "read_kernels",
    "read_trace",
]
