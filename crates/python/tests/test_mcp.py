"""`perfdb mcp` with the client of the Python package mcp."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the Python package mcp is not installed")

from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client


def is_error(result):
    """Under the name of version 2 of the package, or of version 1."""
    return result.is_error if hasattr(result, "is_error") else result.isError


async def session(testdata):
    server = StdioServerParameters(command=str(Path(sys.executable).with_name("perfdb")), args=["mcp", str(testdata)])
    async with stdio_client(server) as streams, ClientSession(*streams) as client:
        await client.initialize()
        tools = await client.list_tools()
        assert [tool.name for tool in tools.tools][:2] == ["trace_explain", "trace_diff"]

        async def call(tool, **arguments):
            result = await client.call_tool(tool, arguments)
            return result.content[0].text, is_error(result)

        text, failed = await call("trace_explain", trace="gpu-traces/h100.json", max_bytes=1000)
        assert not failed and len(text.encode()) <= 1000 and "kernels" in text
        text, failed = await call("trace_diff", trace1="gpu-traces/mi300x.json", trace2="gpu-traces/h100.json", format="json")
        assert not failed and json.loads(text.splitlines()[0])["answer"]["elapsed"]
        words = ["aten.mm.default", "16,5120:bf16", "5120,768:bf16"]
        text, failed = await call("db_query", database="first-database/database", words=words)
        assert not failed and "MatMulV2" in text
        text, failed = await call("trace_explain", trace="/etc/passwd")
        assert failed and "outside the folders" in text


def test_a_session(testdata):
    asyncio.run(session(testdata))
