"""A stand-in for an upstream: a bare HTTP server on a thread of its own, of which a test decides every byte."""

import asyncio
import contextlib
import json
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class SeenRequest:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Answer = Callable[[SeenRequest, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class StubUpstream:
    answer: Answer
    port: int = 0
    requests: list[SeenRequest] = field(default_factory=list)
    connections: int = 0
    asked: threading.Event = field(default_factory=threading.Event)
    left: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while await self._serve_one(reader, writer):
                pass
        writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        request = SeenRequest(method, path, headers, body)
        self.requests.append(request)
        self.asked.set()
        watcher = asyncio.create_task(self._watch(reader))
        try:
            await self.answer(request, writer)
            await writer.drain()
        finally:
            watcher.cancel()
            await asyncio.wait([watcher])
        return not (writer.is_closing() or self.left.is_set())

    async def _watch(self, reader: asyncio.StreamReader) -> None:
        """The client has nothing more to say while it is answered: an end of its stream means that it left."""
        try:
            has_left = await reader.read(1) == b""
        except OSError:  # the same, said less politely
            has_left = True
        if has_left:
            self.left.set()


async def answer_json(writer: asyncio.StreamWriter, value: Any, status: str = "200 OK", more: str = "") -> None:
    body = json.dumps(value).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n{more}\r\n"
    writer.write(head.encode() + body)


async def answer_ok(request: SeenRequest, writer: asyncio.StreamWriter) -> None:
    await answer_json(writer, {"ok": True})


@contextlib.contextmanager
def run_upstream(answer: Answer = answer_ok, tls: ssl.SSLContext | None = None) -> Iterator[StubUpstream]:
    stub = StubUpstream(answer)
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(stub.serve, "127.0.0.1", 0, ssl=tls))
    stub.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        asyncio.run_coroutine_threadsafe(_end(server), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


async def _end(server: asyncio.Server) -> None:
    server.close()
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
