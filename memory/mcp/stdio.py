"""The tools over standard input and output, one JSON-RPC message a line: for agents that start their servers."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import ObjectReceiveStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

from core.accounts.keys import Caller
from memory.mcp.server import build_server


async def serve_stdio(identify: Callable[[], Caller]) -> None:
    """Answer until standard input ends. `identify` tells whose key it is, at every request anew."""
    server = build_server(lambda context: identify())
    async with stdio_server() as (incoming, outgoing), _answer_broken_lines(incoming, outgoing) as messages:
        await server.run(messages, outgoing, server.create_initialization_options())


@asynccontextmanager
async def _answer_broken_lines(incoming: Any, outgoing: Any) -> AsyncIterator[ObjectReceiveStream[SessionMessage]]:
    """Pass messages on; the SDK would pass over a line that is none, and leave its sender waiting."""
    passed_on, messages = anyio.create_memory_object_stream[SessionMessage]()

    async def sort() -> None:
        async with passed_on:
            async for item in incoming:
                if isinstance(item, SessionMessage):
                    await passed_on.send(item)
                else:
                    await outgoing.send(SessionMessage(_describe_fault(item)))

    async with anyio.create_task_group() as group:
        group.start_soon(sort)
        yield messages
        group.cancel_scope.cancel()


def _describe_fault(fault: Exception) -> JSONRPCError:
    is_broken_json = isinstance(fault, ValidationError) and fault.errors()[0]["type"] == "json_invalid"
    code, message = (PARSE_ERROR, "Parse error") if is_broken_json else (INVALID_REQUEST, "Invalid Request")
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message))
