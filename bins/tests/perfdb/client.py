"""A session of `perfdb mcp` with the Python client of the Model Context Protocol: client.py PROGRAM TESTDATA [TRACE]

Lists the tools, explains a trace, compares a pair, queries a database and asks for a path outside the folder, which is refused.
"""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def called(session, tool, arguments):
    found = await session.call_tool(tool, arguments)
    failed = found.is_error if hasattr(found, "is_error") else found.isError
    return "".join(part.text for part in found.content), failed


async def main(program, folder, large):
    traces = os.path.join(folder, "gpu-traces")
    roots = [folder] + ([os.path.dirname(large)] if large else [])
    async with stdio_client(StdioServerParameters(command=program, args=["mcp", *roots])) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
            names = {tool.name for tool in (await session.list_tools()).tools}
            assert {"trace_explain", "trace_diff", "trace_check", "db_query"} <= names, names
            text, failed = await called(session, "trace_explain", {"trace": large or os.path.join(traces, "h100.json")})
            assert not failed and len(text.encode()) <= 20_000, text[-800:]
            pair = {"trace1": os.path.join(traces, "mi300x.json"), "trace2": os.path.join(traces, "h100.json")}
            text, failed = await called(session, "trace_diff", pair)
            assert not failed and "0.70" in text, text[-800:]
            database = os.path.join(folder, "first-database/database")
            query = {"database": database, "words": ["aten.mm.default", "16,5120:bf16", "5120,768:bf16"], "format": "json"}
            text, failed = await called(session, "db_query", query)
            assert not failed and "latency_us" in text, text[-800:]
            text, failed = await called(session, "trace_explain", {"trace": "/etc/passwd"})
            assert failed and "outside" in text, text[-800:]
    print("ok")


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None))
