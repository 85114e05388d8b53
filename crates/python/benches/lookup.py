"""What a lookup costs across the border, beside the simulator's own readers where it is installed. One run, best of five each.

    python crates/python/benches/lookup.py [DATABASE]
"""

import sys
import time
from pathlib import Path

import perfdb

FIRST = Path(__file__).resolve().parents[3] / "testdata" / "first-database" / "database"
SHAPES, TYPE, COUNT = "16,5120;768,5120", "DT_BF16", 100_000


def best(count, work):
    times = []
    for _ in range(5):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) / count)
    return min(times) * 1e6


def report(name, us):
    print(f"{name:55} {us:10.3f} us")


def main(folder):
    database = perfdb.Database(folder)
    query = perfdb.Query.kernel("MatMulV2", SHAPES, TYPE)
    assert database.ask_query(query).source == "MEASURED"
    queries = [query] * COUNT
    single = lambda: [database.lookup("MatMulV2", SHAPES, TYPE) for _ in range(10_000)]  # noqa: E731
    report("a batch of 100 000 exact questions, each", best(COUNT, lambda: database.lookup_batch(queries)))
    report("a prepared question", best(10_000, lambda: [database.ask_query(query) for _ in range(10_000)]))
    report("a single lookup from texts", best(10_000, single))
    try:
        import pyarrow
    except ImportError:
        pass
    else:
        table = pyarrow.table({"kernel_type": ["MatMulV2"] * COUNT, "input_shapes": [SHAPES] * COUNT, "data_types": [TYPE] * COUNT})
        report("a batch of 100 000 rows of an Arrow table, each", best(COUNT, lambda: database.lookup_batch(table)))
    try:
        import torch
        from tensor_cast.performance_model.profiling_database.interpolating_data_source import InterpolatingDataSource
        from tensor_cast.performance_model.profiling_database.profiling_data_source import ProfilingDataSource
    except ImportError as missing:
        print(f"skipped: the simulator's readers ({missing})")
        return

    class Call:
        func = "aten.mm.default"
        kwargs = {}
        out = torch.empty((16, 768), dtype=torch.bfloat16, device="meta")

        def __init__(self, tokens):
            self.args = (
                torch.empty((tokens, 5120), dtype=torch.bfloat16, device="meta"),
                torch.empty((5120, 768), dtype=torch.bfloat16, device="meta"),
            )

    from perfdb.tensorcast import PerfdbDataSource

    sources = {
        "the simulator's reader": InterpolatingDataSource(ProfilingDataSource(folder)),
        "perfdb.tensorcast": PerfdbDataSource(folder, semantics="upstream"),
    }
    for what, tokens in [("exact", 16), ("between rows", 100)]:
        for name, source in sources.items():
            call = Call(tokens)
            assert source.lookup(call) is not None
            report(f"{name}, {what}", best(100, lambda: [source.lookup(call) for _ in range(100)]))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else FIRST)
