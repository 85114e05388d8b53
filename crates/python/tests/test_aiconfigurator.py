"""A database in the layout of AIConfigurator, read by its own loader: skipped with a word where that is not installed."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

PERFDB = Path(sysconfig.get_path("scripts")) / "perfdb"

HEADER = "Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Average Duration(us)\n"
TABLES = {
    "aten_mm": '"16,64;64,32",DT_BF16;DT_BF16,ND;ND,"16,32",DT_BF16,ND,2.5\n',
    "decode": '"4,1,8,64;4,1024,2,64;4,1024,2,64",DT_BF16;DT_BF16;DT_BF16,ND;ND;ND,"4,1,8,64",DT_BF16,ND,7\n',
}
MAPPING = """kernel_tables:
  aten_mm: {class: matmul, layout: k_n, source: cublas}
  decode: {class: attention_decode, source: flash_attention}
"""


def test_its_loader_reads_what_was_exported(tmp_path):
    core = pytest.importorskip("aiconfigurator_core.sdk.perf_database", reason="aiconfigurator is not installed")
    view = pytest.importorskip("aiconfigurator_core.sdk.engine_table_view", reason="another version of aiconfigurator")
    mine, systems = tmp_path / "mine", tmp_path / "systems"
    mine.mkdir()
    for name, rows in TABLES.items():
        (mine / f"{name}.csv").write_text(HEADER + rows)
    (mine / "op_mapping.yaml").write_text(MAPPING)
    arguments = ["--to", "aiconfigurator", "--as", "h100_sxm/vllm/9.9.9"]
    subprocess.run([PERFDB, "export-database", mine, systems / "data", *arguments], check=True, capture_output=True)
    shutil.copy(Path(core.__file__).parents[1] / "systems" / "h100_sxm.yaml", systems)
    database = core.get_database("h100_sxm", "vllm", "9.9.9", systems_paths=str(systems), allow_missing_data=True)
    products = view.fetch_table_view(database, "_gemm_data")
    assert {mode.name: sizes for mode, sizes in products.items()}["bfloat16"][16][32][64]["latency"] == 0.0025
    attention = view.fetch_table_view(database, "_generation_attention_data")

    def latencies(node):
        return [node["latency"]] if "latency" in node else [time for inner in node.values() for time in latencies(inner)]

    assert latencies(attention) == [0.007]
