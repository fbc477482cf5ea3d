"""Streams on their way through a really running server: relayed as they come, and learned from."""

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from chat_streams import read_stream

from tests.live_server import LiveServer, build_chat
from tests.upstream_replies import (
    DONE_EVENT,
    FINISH_EVENT,
    Gate,
    Pause,
    chat_answer,
    delta_event,
    json_reply,
    sse_reply,
    stream_reply,
)
from tests.upstream_stub import UpstreamStub

CHAT = "/v1/chat/completions"


def test_a_stream_is_relayed_and_remembered(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    server, key = live_server_process, live_server_process.take_key()
    upstream.reply_with(sse_reply(["We decided to use ", "Postgres", " for this."]))
    response, data = read_stream(server, key, "I prefer green tea.")
    assert data.endswith(FINISH_EVENT + DONE_EVENT)
    assert response.headers["x-omniroute-memories-injected"] == "0"
    assert response.headers["x-omniroute-session-id"] and response.headers["x-request-id"]
    assert "green tea" in server.list_contents(key)


def test_the_stream_is_the_upstreams_choice(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    key = live_server_process.take_key()
    upstream.reply_with(json_reply(chat_answer("whole")))
    response, data = read_stream(live_server_process, key, "hi")
    assert json.loads(data) == chat_answer("whole") and response.headers["content-type"] == "application/json"
    upstream.reply_with(sse_reply(["a"]))
    assert live_server_process.chat(key, "hi").headers["content-type"].startswith("text/event-stream")


def test_the_job_is_written_before_the_stream_ends(
    launch_server: Callable[..., LiveServer], upstream: UpstreamStub
) -> None:
    server = launch_server(EMBEDDED_WORKER="false")
    server.change_settings(enabled=True)
    key = server.take_key()
    upstream.reply_with(stream_reply([delta_event("Tea."), DONE_EVENT, Pause(60)]))
    with server.stream(key, "I prefer green tea.") as response:
        received = b""
        for part in response.iter_raw():
            received += part
            if b"[DONE]" in received:
                assert server.count_open_jobs("memory.extract_facts") == 1
                return
    raise AssertionError("the stream had no end")


def test_a_compressed_stream_is_relayed_and_understood(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    server, key = live_server_process, live_server_process.take_key()
    data = gzip.compress(delta_event("I decided to use Postgres.") + DONE_EVENT)
    upstream.reply_with(stream_reply([data[:20], data[20:]], headers={"Content-Encoding": "gzip"}))
    response, received = read_stream(server, key, "I prefer green tea.")
    assert (response.headers["content-encoding"], received) == ("gzip", data)
    assert "green tea" in server.list_contents(key)


def rw_025_streams() -> Iterator[tuple[str, list[bytes]]]:
    data = delta_event("I prefer 北京 🍵 naïve שלום.") + DONE_EVENT
    yield "one byte at a time", [data[at : at + 1] for at in range(len(data))]
    for sign in ("北", "🍵"):
        middle = data.index(sign.encode()) + 2
        yield f"cut inside {sign}", [data[:middle], data[middle:]]


@pytest.mark.parametrize("pieces", [pytest.param(pieces, id=name) for name, pieces in rw_025_streams()])
def test_rw_025_cut_characters_arrive_whole(
    live_server_process: LiveServer, upstream: UpstreamStub, pieces: list[bytes]
) -> None:
    server, key = live_server_process, live_server_process.take_key()
    upstream.reply_with(stream_reply(pieces))
    _, data = read_stream(server, key, "I decided to use 北京 🍵 cups.")
    assert data == b"".join(pieces)
    contents = server.list_contents(key)
    assert any("北京 🍵" in content for content in contents)
    assert not [content for content in contents if "\ufffd" in content]


def test_rw_025_escaped_halves_of_a_character_may_come_apart(
    live_server_process: LiveServer, upstream: UpstreamStub
) -> None:
    server, key = live_server_process, live_server_process.take_key()
    pieces = [
        b'data: {"choices":[{"index":0,"delta":{"content":"I prefer \\ud83c"}}]}\n\n',
        b'data: {"choices":[{"index":0,"delta":{"content":"\\udf75 cups."}}]}\n\n',
        DONE_EVENT,
    ]
    upstream.reply_with(stream_reply(pieces))
    _, data = read_stream(server, key, "I prefer green tea.")
    assert data == b"".join(pieces)
    assert "green tea" in server.list_contents(key)


def test_rw_031_events_arrive_when_they_are_sent(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    server, key = live_server_process, live_server_process.take_key()
    gates = [threading.Event() for _ in range(6)]
    replies = [stream_reply([delta_event("one"), Gate(gate), delta_event("two"), DONE_EVENT]) for gate in gates]

    def read(_: int) -> tuple[httpx.Headers, bytes]:
        """The first event is here although the upstream waits with the second until we have it."""
        with httpx.Client(base_url=server.base_url, timeout=10, trust_env=False) as client:
            chat = build_chat(key, "hi", stream=True, headers={"Accept-Encoding": "gzip, br"})
            with client.stream("POST", CHAT, **chat) as response:
                parts = response.iter_raw()
                first = next(parts)
                assert first == delta_event("one")
                assert server.manage("GET", "/api/memory").elapsed.total_seconds() < 5
                for gate in gates:
                    gate.set()
                return response.headers, first + b"".join(parts)

    upstream.queue(replies[0])
    headers, data = read(0)
    assert data == delta_event("one") + delta_event("two") + DONE_EVENT
    assert headers["content-type"].startswith("text/event-stream")
    assert "no-cache" in headers["cache-control"] and headers["x-accel-buffering"] == "no"
    assert "content-length" not in headers and "content-encoding" not in headers

    for gate in gates:
        gate.clear()
    upstream.queue(*replies[1:])
    with ThreadPoolExecutor(5) as pool:
        assert {body for _, body in pool.map(read, range(5))} == {data}
    assert "must consume" not in server.log_text
