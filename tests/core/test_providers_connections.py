"""Connections to an upstream: how many there are, and when they end."""

import asyncio
from typing import Any

import pytest
from chats import BODY, EVENTS, build_route, run, stream
from stub_upstream import SeenRequest, StubUpstream

from core.errors import UpstreamError
from core.providers.client import UpstreamReply, close_clients, open_chat


def wait_forever(started: bytes = b"") -> Any:
    async def answer(request: SeenRequest, writer: asyncio.StreamWriter) -> None:
        if started:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            writer.write(b"%x\r\n%s\r\n" % (len(started), started))
        await asyncio.sleep(60)

    return answer


def test_rw_030_a_caller_who_leaves_before_the_first_byte_stops_the_upstream(upstream: StubUpstream) -> None:
    upstream.answer = wait_forever()

    async def work() -> None:
        task = asyncio.create_task(open_chat(build_route(upstream), BODY, {}))
        assert await asyncio.to_thread(upstream.asked.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(upstream.left.wait, 5)

    run(work)


@pytest.mark.parametrize("way", ["cancelled", "closed", "never read", "iterator closed"])
def test_rw_030_a_caller_who_leaves_in_the_middle_stops_the_upstream(upstream: StubUpstream, way: str) -> None:
    upstream.answer = wait_forever(EVENTS[0])

    async def read(reply: UpstreamReply) -> None:
        async for _ in reply.chunks:
            pass

    async def work() -> None:
        reply = await open_chat(build_route(upstream), BODY, {})
        if way == "never read":
            await reply.aclose()
        elif way == "closed":
            assert await anext(reply.chunks) == EVENTS[0]
            await reply.aclose()
        elif way == "iterator closed":
            assert await anext(reply.chunks) == EVENTS[0]
            await reply.chunks.aclose()  # type: ignore[attr-defined]
        else:
            task = asyncio.create_task(read(reply))
            await asyncio.sleep(0.02)
            task.cancel()
            await asyncio.wait([task])
        assert await asyncio.to_thread(upstream.left.wait, 5)

    run(work)


def test_a_redirect_that_never_ends_is_let_go(upstream: StubUpstream) -> None:
    async def redirect(request: SeenRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 302 Moved\r\nlocation: /other\r\ncontent-length: 1000\r\n\r\n")
        await asyncio.sleep(60)

    async def work() -> None:
        with pytest.raises(UpstreamError):
            await open_chat(build_route(upstream), BODY, {})
        assert await asyncio.to_thread(upstream.left.wait, 5)

    upstream.answer = redirect
    run(work)


def test_a_hundred_streams_run_side_by_side(upstream: StubUpstream) -> None:
    together = 100
    all_here = asyncio.Event()

    async def answer(request: SeenRequest, writer: asyncio.StreamWriter) -> None:
        if len(upstream.requests) == together:
            all_here.set()
        await all_here.wait()  # nobody is answered before everybody has asked
        await stream(*EVENTS)(request, writer)

    upstream.answer = answer

    async def one() -> bytes:
        reply = await open_chat(build_route(upstream), BODY, {})
        return b"".join([chunk async for chunk in reply.chunks])

    async def work() -> list[bytes]:
        return await asyncio.gather(*(one() for _ in range(together)))

    assert set(run(work)) == {b"".join(EVENTS)}


def test_connections_are_kept_between_chats_and_closed_at_the_end(upstream: StubUpstream) -> None:
    async def work() -> None:
        for _ in range(3):
            reply = await open_chat(build_route(upstream), BODY, {})
            assert [chunk async for chunk in reply.chunks]
            await reply.aclose()
        assert upstream.connections == 1
        await close_clients()
        await close_clients()
        reply = await open_chat(build_route(upstream), BODY, {})
        await reply.aclose()
        assert upstream.connections == 2

    run(work)
