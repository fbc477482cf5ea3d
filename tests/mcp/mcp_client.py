"""Callers of the tools: the official SDK's own client, and bare JSON-RPC."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.live_server import Key, LiveServer

SEARCH, ADD, CLEAR = (f"omniroute_memory_{name}" for name in ("search", "add", "clear"))


@asynccontextmanager
async def connect(server: LiveServer, key: Key | str | None, mode: str = "auto") -> AsyncIterator[Client]:
    """The SDK's client at /mcp, `mode` as it takes it: "legacy" shakes hands, "auto" asks first."""
    bare = key.bare if isinstance(key, Key) else key
    headers = {"Authorization": f"Bearer {bare}"} if bare else {}
    async with create_mcp_http_client(headers) as http:
        transport = streamable_http_client(f"{server.base_url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


def talk(server: LiveServer, key: Key | str | None, say: Callable[[Client], Awaitable[Any]], mode: str = "auto") -> Any:
    """Connect, have `say` talk, hang up; returns what it returned."""

    async def run() -> Any:
        async with connect(server, key, mode) as client:
            return await say(client)

    return asyncio.run(run())


def call(server: LiveServer, key: Key | str | None, tool: str, /, **arguments: Any) -> Any:
    """Call one tool over a connection of its own."""
    return talk(server, key, lambda client: client.call_tool(tool, arguments))


def read(result: Any) -> dict[str, Any]:
    """The `data` of a result that succeeded, after checking that both forms of it say the same."""
    assert not result.is_error, result.content
    told = json.loads(result.content[0].text)
    assert told == result.structured_content
    assert told["success"] is True
    return told["data"]


def read_refusal(result: Any) -> tuple[str, set[str]]:
    """The message and the named fields of a result that is an error."""
    assert result.is_error, result.content
    assert result.structured_content is None
    told = json.loads(result.content[0].text)
    assert told["success"] is False
    return told["error"]["message"], {detail["field"] for detail in told["error"].get("details", [])}


class RawCaller:
    """Sends JSON-RPC as it is told, without the SDK."""

    def __init__(self, server: LiveServer, key: Key | None) -> None:
        self._server = server
        self._headers = key.headers if key else {}

    def post(self, body: Any, **headers: str) -> Any:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        kinds = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        return self._server.client.post("/mcp", content=content, headers={**kinds, **self._headers, **headers})

    def call(self, tool: Any, **params: Any) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, **params}}
        answer = self.post(message)
        assert answer.status_code == 200, answer.text
        assert answer.json()["id"] == 7
        return answer.json()
