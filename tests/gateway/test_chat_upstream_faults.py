"""Upstreams that refuse, can't be reached, break off or fall silent, and what a client is told of it."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from chat_streams import ends_as_broken, read_events, read_stream

from tests.live_server import LiveServer, Preparation, find_free_port
from tests.upstream_replies import (
    DONE_EVENT,
    HangUp,
    Pause,
    Reset,
    Send,
    body_reply,
    chat_answer,
    delta_event,
    head,
    json_reply,
    never_answer,
    raw_reply,
    stream_reply,
)
from tests.upstream_stub import UpstreamStub

ERROR_WITH_A_WISH = {"error": {"message": "I prefer tea cups.", "type": "x", "code": "y"}}


@pytest.fixture(scope="module")
def impatient_server(preparation: Preparation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server that waits two seconds for its provider."""
    limits = {"UPSTREAM_READ_TIMEOUT_SECONDS": "2", "UPSTREAM_CONNECT_TIMEOUT_SECONDS": "2"}
    server = preparation.start(tmp_path_factory.mktemp("impatient"), **limits)
    server.change_settings(enabled=True)
    yield server
    server.close()


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
