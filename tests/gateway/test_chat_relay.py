"""The relay of a stream where a real network can't be made to stop at the right moment."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from django.db import DatabaseError, connection

from core.errors import UpstreamTimeoutError
from core.providers.client import UpstreamReply
from gateway import chat
from gateway.chat import Exchange, queue_extraction
from gateway.streaming import RelayedStream, StreamedAnswer
from gateway.threads import WorkerThreads

TEA = b'data: {"choices":[{"index":0,"delta":{"content":"tea"}}]}\n\n'
DONE = b"data: [DONE]\n\n"


class Upstream:
    """A reply that yields its chunks, raises what stands among them, and waits for ever at None."""

    def __init__(self, *chunks: bytes | Exception | None, encoding: str = "") -> None:
        self.is_closed = False
        self.learned: list[str] = []
        self.reply = UpstreamReply(200, {}, self._give(chunks), encoding, self._close)

    async def _give(self, chunks: tuple[bytes | Exception | None, ...]) -> AsyncIterator[bytes]:
        for item in chunks:
            if isinstance(item, Exception):
                raise item
            if item is None:
                await asyncio.Event().wait()
            else:
                yield item

    async def _close(self) -> None:
        self.is_closed = True

    def relay(self) -> RelayedStream:
        return RelayedStream(self.reply, self.learned.append)


async def wait_for(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not is_true():  # noqa: ASYNC110  # it becomes true in a thread
            await asyncio.sleep(0.005)


def run(scenario: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.run(scenario())  # type: ignore[arg-type]


def test_the_text_is_learned_before_the_end_is_given_away() -> None:
    async def scenario() -> None:
        upstream = Upstream(TEA, DONE, None)
        stream = upstream.relay()
        assert await anext(stream) == TEA
        assert upstream.learned == []
        assert await anext(stream) == DONE
        assert upstream.learned == ["tea"]
        await stream.aclose()
        assert upstream.is_closed and upstream.learned == ["tea"]

    run(scenario)


def test_an_upstream_that_ends_without_done_is_learned_from_too() -> None:
    async def scenario() -> None:
        upstream = Upstream(TEA)
        assert [chunk async for chunk in upstream.relay()] == [TEA]
        assert upstream.is_closed and upstream.learned == ["tea"]

    run(scenario)


def test_a_stream_closed_before_it_began_lets_go_of_its_upstream() -> None:
    async def scenario() -> None:
        upstream = Upstream(TEA, DONE)
        await upstream.relay().aclose()
        assert upstream.is_closed and upstream.learned == [""]

    run(scenario)


def test_a_response_closed_from_a_thread_lets_go_of_its_upstream() -> None:
    async def scenario() -> None:
        upstream = Upstream(TEA, DONE)
        response = StreamedAnswer(upstream.relay(), 200)
        await asyncio.to_thread(response.close)
        await wait_for(lambda: upstream.is_closed and upstream.learned == [""])

    run(scenario)


def test_a_cancelled_reader_loses_nothing_that_the_user_said() -> None:
    async def scenario() -> None:
        upstream = Upstream(TEA, None)
        stream = upstream.relay()
        assert await anext(stream) == TEA
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await stream.aclose()
        assert upstream.is_closed and upstream.learned == [""]

    run(scenario)


def test_a_break_is_told_in_the_stream() -> None:
    async def scenario() -> bytes:
        upstream = Upstream(TEA, UpstreamTimeoutError("too late"))
        data = b"".join([chunk async for chunk in upstream.relay()])
        assert upstream.is_closed and upstream.learned == [""]
        return data

    error = b'{"error": {"message": "too late", "type": "upstream_error", "code": "upstream_timeout"}}'
    assert run(scenario) == TEA + b"\n\ndata: " + error + b"\n\n"


def test_a_break_in_a_compressed_stream_adds_nothing_that_could_not_be_read() -> None:
    async def scenario() -> None:
        half = gzip.compress(TEA)[:-9]
        upstream = Upstream(half, UpstreamTimeoutError("too late"), encoding="gzip")
        assert [chunk async for chunk in upstream.relay()] == [half]
        assert upstream.is_closed and upstream.learned == [""]

    run(scenario)


# --- threads ---
def test_work_that_must_be_done_is_done_although_its_waiter_has_left() -> None:
    async def scenario() -> list[str]:
        threads, done = WorkerThreads("test", size=1), []
        gate = asyncio.get_running_loop().create_future()

        def hold() -> None:
            asyncio.run_coroutine_threadsafe(asyncio.wait_for(gate, 5), gate.get_loop()).result()

        holding = asyncio.create_task(threads.run(hold))
        waiting = asyncio.create_task(threads.run_surely(done.append, "done"))
        await asyncio.sleep(0.01)
        waiting.cancel()
        gate.set_result(None)
        await holding
        await wait_for(lambda: bool(done))
        return done

    assert run(scenario) == ["done"]


@pytest.mark.django_db(transaction=True)
def test_a_thread_keeps_its_database_connection() -> None:
    """A temporary table lives as long as the connection that made it."""

    def execute(statement: str) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            return list(cursor.execute(statement))

    async def scenario() -> list[tuple[Any, ...]]:
        threads = WorkerThreads("test", size=1)
        try:
            await threads.run(execute, "CREATE TEMP TABLE kept AS SELECT 5")
            return await threads.run(execute, "SELECT * FROM kept")
        finally:
            await threads.run(lambda: connection.close())

    assert run(scenario) == [(5,)]


# --- learning ---
def test_a_job_that_can_not_be_written_is_logged_and_nothing_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(**_: Any) -> None:
        raise DatabaseError("disk full")

    monkeypatch.setattr(chat, "enqueue_extraction", refuse)
    queue_extraction(Exchange("owner", "session", "I prefer tea", (), chat.datetime.now(chat.UTC)), "ok")
    assert "memory.extraction.background.failed" in caplog.text
    assert "prefer tea" not in caplog.text


def test_without_text_there_is_no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[dict[str, Any]] = []
    monkeypatch.setattr(chat, "enqueue_extraction", lambda **fields: jobs.append(fields))
    said_at = chat.datetime.now(chat.UTC)
    queue_extraction(Exchange("owner", "session", " \0\n", (), said_at), "")
    assert jobs == []
    queue_extraction(Exchange("owner", "session", "a\0b \ud83d" + "x" * 70_000, ("m",), said_at), "")
    assert jobs[0]["user_text"] == "x" * 65_536 and jobs[0]["injected"] == ("m",)
