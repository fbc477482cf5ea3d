"""Every chat call through a running server stands in the log, however it went, and says what memory did to it."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import pytest
from logged_calls import ask, read_calls, read_links

from tests.live_server import Key, LiveServer, build_chat, wait_until
from tests.upstream_replies import Reset, chat_answer, delta_event, json_reply, never_answer, sse_reply, stream_reply
from tests.upstream_stub import UpstreamStub

CHAT = "/v1/chat/completions"
SECRET = "the-provider-says-sk-live-0815"


@pytest.fixture
def server(live_server_process: LiveServer) -> LiveServer:
    return live_server_process


@pytest.fixture
def key(server: LiveServer) -> Key:
    return server.take_key()


@contextmanager
def open_stream(server: LiveServer, key: Key) -> Iterator[httpx.Response]:
    """A client of its own, whose connection closes with the block."""
    chat = build_chat(key, "hi", stream=True)
    with httpx.Client(base_url=server.base_url, trust_env=False) as client, client.stream("POST", CHAT, **chat) as told:
        yield told


def test_a_call_is_logged_with_the_memories_it_carried_and_the_facts_it_taught(server: LiveServer, key: Key) -> None:
    memory = server.remember(key, "The user likes green tea")
    response = server.chat(key, "I prefer jasmine tea.", headers={"x-omniroute-session-id": "tea-time"})
    [call] = read_calls(server, key.id)
    assert call["request_id"] == response.headers["x-request-id"]
    assert (call["key_name"][:5], call["model"], call["provider"]) == ("test-", "stub/m", "stub")
    assert (call["session_id"], call["is_stream"], call["status"], call["outcome"]) == ("tea-time", 0, 200, "answered")
    assert call["memory_state"] == "on" and call["memories_injected"] == 1
    assert call["memory_tokens"] == int(response.headers["x-omniroute-memory-tokens"]) > 0
    assert [item[0] for item in call["carried"]] == [memory["id"]]
    assert 0 < call["retrieval_ms"] <= call["memory_ms"] <= call["duration_ms"]
    assert call["first_byte_ms"] <= call["duration_ms"]
    assert call["tier"] and call["strategy"] == "hybrid"
    assert (call["is_failed"], call["error_code"], call["user_text"], call["answer_text"]) == (0, "", "", "")
    server.wait_for_jobs()
    [fact] = [item for item in server.list_memories(key) if item["content"] == "jasmine tea"]
    assert read_links(server, call["request_id"]) == {("injected", memory["id"]), ("extracted", fact["id"])}
    assert "requestId" not in fact["metadata"]


def test_uses_are_counted_with_the_last_request(server: LiveServer, key: Key) -> None:
    memory = server.remember(key, "The user likes green tea")
    for _ in range(2):
        response = server.chat(key, "green tea?")
    read_calls(server, key.id, 2)
    [use] = ask(server, "SELECT * FROM memory_uses WHERE memory_uuid = ?", memory["id"])
    assert (use["count"], use["api_key_id"]) == (2, key.id)
    assert use["last_request_id"] == response.headers["x-request-id"]


def test_a_stream_is_logged_when_it_is_over(server: LiveServer, key: Key, upstream: UpstreamStub) -> None:
    upstream.queue(sse_reply(["one ", "two"], pause_seconds=0.05))
    with server.stream(key, "hello") as response:
        list(response.iter_raw())
    [call] = read_calls(server, key.id)
    assert (call["is_stream"], call["outcome"]) == (1, "answered")
    assert call["first_byte_ms"] + 50 < call["duration_ms"]


def test_a_providers_refusal_is_logged_without_its_words(server: LiveServer, key: Key, upstream: UpstreamStub) -> None:
    upstream.queue(json_reply({"error": {"message": SECRET}}, 429, {"Retry-After": "20"}))
    upstream.queue(json_reply({"error": {"message": SECRET}}, 500))
    server.chat(key, "I prefer tea.")
    server.chat(key, "I prefer tea.")
    limited, failed = read_calls(server, key.id, 2)
    assert (limited["status"], limited["outcome"], limited["is_failed"]) == (429, "refused", 1)
    assert limited["error_message"] == "The provider limits the rate, retry after 20 s"
    assert (failed["status"], failed["outcome"]) == (500, "failed")
    assert SECRET not in str([limited, failed])


def test_a_provider_that_can_not_be_reached_is_logged(server: LiveServer, key: Key, upstream: UpstreamStub) -> None:
    upstream.queue((Reset(),))
    assert server.chat(key, "hi").status_code == 502
    [call] = read_calls(server, key.id)
    assert (call["status"], call["outcome"], call["error_code"]) == (502, "failed", "upstream_broken")
    assert call["first_byte_ms"] is None


def test_a_stream_that_breaks_off_is_logged_as_broken(server: LiveServer, key: Key, upstream: UpstreamStub) -> None:
    upstream.queue(stream_reply([delta_event("half a "), Reset()], ends=False))
    upstream.queue(stream_reply([delta_event("half a "), b'data: {"error": {"message": "%s"}}\n\n' % SECRET.encode()]))
    for _ in range(2):
        with server.stream(key, "hi") as response:
            list(response.iter_raw())
    cut, told = read_calls(server, key.id, 2)
    assert (cut["status"], cut["outcome"], cut["is_failed"]) == (200, "broken", 1)
    assert (told["outcome"], told["error_code"]) == ("broken", "provider_error")
    assert SECRET not in str(told)


def test_a_client_that_leaves_is_no_failure(server: LiveServer, key: Key, upstream: UpstreamStub) -> None:
    upstream.queue(sse_reply(["tick "] * 100, pause_seconds=0.1), never_answer())
    with open_stream(server, key) as response:
        next(response.iter_raw())
    read_calls(server, key.id)
    with pytest.raises(httpx.ReadTimeout):
        server.client.post(CHAT, **build_chat(key, "hi"), timeout=0.3)
    midway, before = read_calls(server, key.id, 2)
    assert (midway["status"], midway["outcome"], midway["is_failed"]) == (200, "left", 0)
    assert (before["status"], before["outcome"], before["first_byte_ms"]) == (499, "left", None)


@pytest.mark.parametrize("is_enabled", [True, False])
def test_a_client_that_leaves_after_the_last_event_has_its_answer(
    server: LiveServer, key: Key, upstream: UpstreamStub, is_enabled: bool
) -> None:
    server.change_settings(enabled=is_enabled)
    upstream.queue(stream_reply([delta_event("all"), b"data: [DONE]\n\n", *never_answer()]))
    with open_stream(server, key) as response:
        next(part for part in response.iter_raw() if b"[DONE]" in part)
    [call] = read_calls(server, key.id)
    assert (call["outcome"], call["memory_state"]) == ("answered", "on" if is_enabled else "off")


def test_a_call_that_opts_out_is_logged_and_linked_with_nothing(server: LiveServer, key: Key) -> None:
    server.remember(key, "The user likes green tea")
    response = server.chat(key, "I prefer jasmine tea.", headers={"x-omniroute-no-memory": "true"})
    [call] = read_calls(server, key.id)
    server.wait_for_jobs()
    assert (call["memory_state"], call["memories_injected"], call["carried"]) == ("opted_out", 0, [])
    assert (call["retrieval_ms"], call["tier"]) == (None, "")
    assert read_links(server, response.headers["x-request-id"]) == set()


def test_calls_that_never_reach_a_provider_are_logged(server: LiveServer, key: Key, upstream: UpstreamStub) -> None:
    server.client.post(CHAT, content=b"{", headers=key.headers)
    server.client.post(
        CHAT, json={"model": "nobody/m", "messages": [{"role": "user", "content": "x"}]}, headers=key.headers
    )
    broken, unknown = read_calls(server, key.id, 2)
    assert (broken["status"], broken["error_code"], broken["model"]) == (400, "invalid_json", "")
    assert (unknown["status"], unknown["error_code"], unknown["model"]) == (404, "model_not_found", "nobody/m")
    assert {broken["outcome"], unknown["outcome"]} == {"refused"} and not upstream.requests


def test_a_wrong_key_is_logged_without_an_owner(server: LiveServer) -> None:
    request_id = "wrong-key-of-the-log-test"
    headers = {"Authorization": "Bearer omr_wrong_key_0815", "x-request-id": request_id}
    assert server.client.post(CHAT, json={}, headers=headers).status_code == 401
    rows: list[dict[str, object]] = []

    def is_there() -> bool:
        rows[:] = ask(server, "SELECT * FROM request_log WHERE request_id = ?", request_id)
        return bool(rows)

    wait_until(is_there, "the refusal is not in the log")
    assert (rows[0]["status"], rows[0]["api_key_id"], rows[0]["error_code"]) == (401, "", "invalid_api_key")
    assert "0815" not in str(rows[0])


@pytest.fixture
def text_kept(server: LiveServer) -> Iterator[None]:
    assert server.manage("PUT", "/api/settings/requests", json={"requestLogText": True}).status_code == 200
    yield
    server.manage("PUT", "/api/settings/requests", json={"requestLogText": False})


@pytest.mark.usefixtures("text_kept")
@pytest.mark.parametrize("is_enabled", [True, False])
def test_text_is_kept_where_the_operator_asks_for_it(
    server: LiveServer, key: Key, upstream: UpstreamStub, is_enabled: bool
) -> None:
    server.change_settings(enabled=is_enabled)
    upstream.queue(json_reply(chat_answer("A whole answer")), sse_reply(["A streamed ", "answer"]))
    server.chat(key, "long " * 2000 + "\0")
    with server.stream(key, "short") as response:
        list(response.iter_raw())
    server.chat(key, "hidden", headers={"x-omniroute-no-memory": "1"})
    whole, streamed, hidden = read_calls(server, key.id, 3)
    assert len(whole["user_text"]) == 4000 and whole["answer_text"] == "A whole answer"
    assert (streamed["user_text"], streamed["answer_text"]) == ("short", "A streamed answer")
    assert (hidden["user_text"], hidden["answer_text"]) == ("", "")


def test_owners_that_give_their_requests_the_same_id_stay_apart(server: LiveServer, key: Key) -> None:
    other = server.take_key()
    mine, theirs = server.remember(key, "Mine is tea"), server.remember(other, "Theirs is tea")
    for owner in (key, other):
        server.chat(owner, "tea", headers={"x-request-id": f"same-{key.id}"})
    [my_call], [their_call] = read_calls(server, key.id), read_calls(server, other.id)
    assert [item[0] for item in my_call["carried"]] == [mine["id"]]
    assert [item[0] for item in their_call["carried"]] == [theirs["id"]]


def test_what_was_noted_last_is_written_before_the_server_stops(launch_server: Callable[..., LiveServer]) -> None:
    server = launch_server()
    key = server.take_key()
    server.chat(key, "hi")
    server.stop()
    assert len(read_calls(server, key.id)) == 1


def test_a_client_gone_before_its_request_was_whole_is_no_call(server: LiveServer, key: Key) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(f"POST {CHAT} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{{".encode())
    server.chat(key, "hi")
    assert len(read_calls(server, key.id)) == 1
