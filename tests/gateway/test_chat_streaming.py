"""Answers on their way through a really running server: streams, breaks, silence, and clients that leave."""

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.live_server import Key, LiveServer, Preparation, build_chat, find_free_port, wait_until
from tests.upstream_stub import (
    DONE_EVENT,
    FINISH_EVENT,
    Gate,
    HangUp,
    Pause,
    Reset,
    Send,
    UpstreamStub,
    body_reply,
    chat_answer,
    delta_event,
    head,
    json_reply,
    never_answer,
    raw_reply,
    sse_reply,
    stream_reply,
)

CHAT = "/v1/chat/completions"
ERROR_WITH_A_WISH = {"error": {"message": "I prefer tea cups.", "type": "x", "code": "y"}}


@pytest.fixture(scope="module")
def impatient_server(preparation: Preparation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server that waits two seconds for its provider."""
    limits = {"UPSTREAM_READ_TIMEOUT_SECONDS": "2", "UPSTREAM_CONNECT_TIMEOUT_SECONDS": "2"}
    server = preparation.start(tmp_path_factory.mktemp("impatient"), **limits)
    server.change_settings(enabled=True)
    yield server
    server.close()


def read_stream(server: LiveServer, key: Key, *messages: Any, **fields: Any) -> tuple[httpx.Response, bytes]:
    with server.stream(key, *messages, **fields) as response:
        return response, b"".join(response.iter_raw())


def read_events(data: bytes) -> list[Any]:
    """The JSON of every event but `[DONE]`; an event that a break has cut is left out."""
    events = []
    for line in data.split(b"\n"):
        if line.startswith(b"data: {"):
            try:
                events.append(json.loads(line[6:]))
            except ValueError:
                continue
    return events


def ends_as_broken(data: bytes) -> bool:
    """An error event at the end, and nothing that a client takes for a finished answer."""
    return "error" in read_events(data)[-1] and b"[DONE]" not in data and b'"finish_reason":"stop"' not in data


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


# --- cases ---
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


REFUSALS = [
    pytest.param(json_reply(ERROR_WITH_A_WISH, 401), 401, id="401"),
    pytest.param(json_reply(ERROR_WITH_A_WISH, 404), 404, id="404"),
    pytest.param(json_reply(ERROR_WITH_A_WISH, 429, {"Retry-After": "7"}), 429, id="429"),
    pytest.param(body_reply(b"<h1>oops</h1>", 500, {"Content-Type": "text/html"}), 500, id="500"),
    pytest.param(body_reply(b"", 503), 503, id="503"),
]


@pytest.mark.parametrize("is_stream", [True, False])
@pytest.mark.parametrize(("reply", "status"), REFUSALS)
def test_rw_028_upstream_errors_keep_their_status(
    live_server_process: LiveServer, upstream: UpstreamStub, reply: Any, status: int, is_stream: bool
) -> None:
    server, key = live_server_process, live_server_process.take_key()
    upstream.reply_with(reply)
    response = server.chat(key, "I prefer green tea.", stream=is_stream)
    assert response.status_code == status
    assert not response.headers.get("content-type", "").startswith("text/event-stream")
    if status in (401, 404, 429):
        assert response.json() == ERROR_WITH_A_WISH
    assert response.headers.get("retry-after") == ("7" if status == 429 else None)
    assert server.list_contents(key) == []


@pytest.mark.parametrize("is_stream", [True, False])
@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
def test_rw_028_an_upstream_that_cannot_be_reached_is_a_bad_gateway(
    live_server_process: LiveServer, host: str, is_stream: bool
) -> None:
    server, key = live_server_process, live_server_process.take_key()
    name = "gone" if host == "127.0.0.1" else "nowhere"
    server.add_provider(name, f"http://{host}:{find_free_port()}/v1", "--api-key", "sk-very-secret")
    response = server.chat(key, "I prefer green tea.", model=f"{name}/m", stream=is_stream)
    error = response.json()["error"]
    assert response.status_code == 502 and error["message"] and error["type"] and error["code"]
    assert "sk-very-secret" not in response.text
    assert server.list_contents(key) == []


BROKEN = {
    "reset": stream_reply([delta_event("I prefer t"), delta_event("ea. Also"), Pause(0.05), Reset()], ends=False),
    "cut": stream_reply(
        [delta_event("I prefer t"), delta_event("ea. Also"), Pause(0.05), Send(b'40\r\ndata: {"cho'), HangUp()],
        ends=False,
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_rw_029_a_broken_stream_does_not_look_finished(
    live_server_process: LiveServer, upstream: UpstreamStub, kind: str
) -> None:
    server, key = live_server_process, live_server_process.take_key()
    upstream.queue(BROKEN[kind])
    _, data = read_stream(server, key, "I prefer green tea.")
    assert data.startswith(delta_event("I prefer t") + delta_event("ea. Also"))
    assert ends_as_broken(data)
    # The same for every kind of break: what the user said counts, half an answer does not.
    assert server.list_contents(key) == ["green tea"]
    assert server.chat(key, "hi").status_code == 200


def test_rw_029_an_error_event_arrives_unchanged(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    server, key = live_server_process, live_server_process.take_key()
    pieces = [
        delta_event("I prefer milk"),
        b'data: {"error":{"message":"overloaded","code":529}}\n\n',
        DONE_EVENT,
    ]
    upstream.queue(stream_reply(pieces))
    _, data = read_stream(server, key, "I prefer green tea.")
    assert data == b"".join(pieces)
    assert server.list_contents(key) == ["green tea"]


def test_rw_029_an_answer_that_breaks_off_is_a_bad_gateway(
    live_server_process: LiveServer, upstream: UpstreamStub
) -> None:
    server, key = live_server_process, live_server_process.take_key()
    upstream.queue(raw_reply(head(200, {"Content-Type": "application/json", "Content-Length": "99"}), HangUp()))
    response = server.chat(key, "I prefer green tea.")
    assert response.status_code == 502 and response.json()["error"]["type"] == "upstream_error"
    assert server.list_contents(key) == ["green tea"]


def leave_after(server: LiveServer, key: Key, count: int) -> None:
    """A client of its own that reads so many events and closes its connection."""
    with httpx.Client(base_url=server.base_url, timeout=30, trust_env=False) as client:
        chat = build_chat(key, "I prefer green tea.", stream=True)
        with client.stream("POST", CHAT, **chat) as response:
            received = b""
            for part in response.iter_raw():
                received += part
                if received.count(b"\n\n") >= count:
                    return


def test_rw_030_clients_that_leave_stop_their_upstream(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    server, key = live_server_process, live_server_process.take_key()
    upstream.reply_with(sse_reply(["tick "] * 300, pause_seconds=0.2))

    def leave_all() -> None:
        upstream.requests.clear()
        with ThreadPoolExecutor(30) as pool:
            list(pool.map(lambda _: leave_after(server, key, 2), range(30)))
        for request in upstream.wait_for_requests(30):
            assert request.left.wait(5)
        server.wait_for_jobs()

    leave_all()  # the level to compare with: pools grow to their size at the first crowd
    connections_before = upstream.open_connections
    threads_before, log_before = server.thread_count, len(server.log_text)
    leave_all()
    wait_until(lambda: upstream.open_connections <= connections_before + 2, "upstream connections are open")
    wait_until(lambda: abs(server.thread_count - threads_before) <= 2, "threads are left over")
    assert server.manage("GET", "/api/memory/health").json()["working"] is True
    assert "Traceback" not in server.log_text[log_before:]
    # What the user said was said, whether or not the answer was waited for.
    assert server.list_contents(key) == ["green tea"]


@pytest.mark.parametrize("is_stream", [True, False])
def test_rw_030_a_client_that_leaves_before_the_first_byte_stops_the_upstream(
    live_server_process: LiveServer, upstream: UpstreamStub, is_stream: bool
) -> None:
    server, key = live_server_process, live_server_process.take_key()
    upstream.queue(never_answer())
    body = json.dumps({"model": "m", "stream": is_stream, "messages": [{"role": "user", "content": "hi"}]})
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        head_lines = f"POST {CHAT} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key.bare}\r\n"
        client.sendall(f"{head_lines}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        (request,) = upstream.wait_for_requests(1)
    assert request.left.wait(5)
    assert server.chat(key, "hi").status_code == 200
    assert "Traceback" not in server.log_text


def test_rw_030_a_client_that_leaves_while_a_whole_answer_comes_stops_the_upstream(
    live_server_process: LiveServer, upstream: UpstreamStub
) -> None:
    server, key = live_server_process, live_server_process.take_key()
    headers = {"Content-Type": "application/json", "Content-Length": "99"}
    upstream.queue(raw_reply(head(200, headers), Send(b"{"), *never_answer()))
    with pytest.raises(httpx.ReadTimeout):
        server.client.post(CHAT, **build_chat(key, "I prefer green tea."), timeout=0.5)
    assert upstream.last.left.wait(5)
    wait_until(lambda: server.list_contents(key) == ["green tea"], "what was said is not remembered")


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


@pytest.mark.parametrize("is_stream", [True, False])
def test_rw_033_a_silent_upstream_is_a_gateway_timeout(
    impatient_server: LiveServer, upstream: UpstreamStub, is_stream: bool
) -> None:
    upstream.queue(never_answer())
    started = time.monotonic()
    response = impatient_server.chat(impatient_server.take_key(), "hi", stream=is_stream)
    assert response.status_code == 504 and response.json()["error"]["code"] == "upstream_timeout"
    assert time.monotonic() - started < 4
    assert upstream.last.left.wait(5)


@pytest.mark.parametrize("first", [[], [delta_event("I prefer milk")]])
def test_rw_033_a_stream_that_falls_silent_ends_as_broken(
    impatient_server: LiveServer, upstream: UpstreamStub, first: list[bytes]
) -> None:
    upstream.queue(stream_reply([*first, Pause(10), delta_event("late"), DONE_EVENT]))
    started = time.monotonic()
    _, data = read_stream(impatient_server, impatient_server.take_key(), "hi")
    assert data.startswith(b"".join(first)) and ends_as_broken(data)
    assert read_events(data)[-1]["error"]["code"] == "upstream_timeout"
    assert time.monotonic() - started < 4


def test_rw_033_an_answer_that_falls_silent_is_a_gateway_timeout(
    impatient_server: LiveServer, upstream: UpstreamStub
) -> None:
    headers = {"Content-Type": "application/json", "Content-Length": "99"}
    upstream.queue(raw_reply(head(200, headers), Send(b"{"), *never_answer()))
    response = impatient_server.chat(impatient_server.take_key(), "hi")
    assert response.status_code == 504 and response.json()["error"]["code"] == "upstream_timeout"


def test_rw_033_a_slow_upstream_that_keeps_talking_is_waited_for(
    impatient_server: LiveServer, upstream: UpstreamStub
) -> None:
    """The limit is on silence: four seconds of drops, none of them two seconds after the one before."""
    body = json.dumps(chat_answer("slow")).encode()
    drops = [step for at in range(4) for step in (Send(body[at : at + 1]), Pause(1.0))]
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    upstream.queue(raw_reply(head(200, headers), *drops, Send(body[4:])))
    response = impatient_server.chat(impatient_server.take_key(), "hi")
    assert (response.status_code, response.json()) == (200, chat_answer("slow"))
