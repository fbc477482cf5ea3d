"""How the provider tests chat with a stub upstream."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from stub_upstream import SeenRequest, StubUpstream

from core.providers.client import UpstreamReply, close_clients, open_chat
from core.providers.routing import Route

KEY = "sk-test-LEAKME"
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]}).encode()
EVENTS = [
    b'data: {"choices":[{"index":0,"delta":{"content":"I prefer \xe5\x8c\x97"}}]}\n\n',
    b'data: {"choices":[{"index":0,"delta":{"content":"\xe4\xba\xac."}}]}\n\n',
    b"data: [DONE]\n\n",
]


def build_route(upstream: StubUpstream, api_key: str = KEY) -> Route:
    return Route(provider="box", model="m", base_url=upstream.url, api_key=api_key, system_role="any")


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    async def run_and_close() -> Any:
        try:
            return await work()
        finally:
            await close_clients()

    return asyncio.run(run_and_close())


def chat(route: Route, headers: dict[str, str] | None = None, body: bytes = BODY) -> tuple[UpstreamReply, bytes]:
    async def work() -> tuple[UpstreamReply, bytes]:
        reply = await open_chat(route, body, headers or {})
        try:
            return reply, b"".join([chunk async for chunk in reply.chunks])
        finally:
            await reply.aclose()

    return run(work)  # type: ignore[no-any-return]


def stream(*pieces: bytes, end: bool = True, head: str = "content-type: text/event-stream") -> Any:
    async def answer(request: SeenRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\n{head}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        for piece in pieces:
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
            await asyncio.sleep(0)
        if end:
            writer.write(b"0\r\n\r\n")
        else:
            writer.transport.abort()

    return answer
