"""What the tests share: small databases, and the repository's test data."""

import pathlib

import pytest

TESTDATA = pathlib.Path(__file__).resolve().parents[3] / "testdata"

MATMUL = """Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Average Duration(us)
"16,512;512,2048",DT_BF16;DT_BF16,ND;ND,"16,2048",DT_BF16,ND,5.0
"32,512;512,2048",DT_BF16;DT_BF16,ND;ND,"32,2048",DT_BF16,ND,7.5
"64,512;512,2048",DT_BF16;DT_BF16,ND;ND,"64,2048",DT_BF16,ND,12.0
"""
MAPPING = "operator_mappings: {aten.mm.default: {kernel_type: MatMulV2}}\n"


@pytest.fixture
def folder(tmp_path):
    """A database of one table."""
    (tmp_path / "MatMulV2.csv").write_text(MATMUL)
    (tmp_path / "op_mapping.yaml").write_text(MAPPING)
    return tmp_path


@pytest.fixture
def testdata():
    return TESTDATA
