"""Who may chat, and with what: keys, methods, bodies, models."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.live_server import Key, LiveServer, build_chat
from tests.upstream_replies import body_reply, chat_answer, json_reply
from tests.upstream_stub import UpstreamStub

CHAT = "/v1/chat/completions"


def assert_error(response: httpx.Response, status: int, message: str = "") -> dict[str, Any]:
    error = response.json()["error"]
    assert response.status_code == status, response.text
    assert error["type"] and error["code"]
    assert message in error["message"]
    return dict(error)


# --- keys ---
def test_a_chat_without_a_key_is_refused(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    assert_error(live_server_process.chat(None, "hi"), 401, "Authentication required")
    assert_error(live_server_process.client.get("/v1/models"), 401, "Authentication required")
    assert not upstream.requests


def test_a_wrong_key_is_refused(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    assert_error(live_server_process.chat(Key("", "omr_wrong"), "hi"), 401, "Invalid API key")
    assert not upstream.requests


def test_a_revoked_key_is_refused(live_server_process: LiveServer) -> None:
    key = live_server_process.take_key()
    assert live_server_process.chat(key, "hi").status_code == 200
    live_server_process.run_command("revoke_api_key", key.id)
    assert_error(live_server_process.chat(key, "hi"), 401, "Invalid API key")


def test_the_scheme_may_be_written_in_any_case(live_server_process: LiveServer) -> None:
    headers = {"authorization": f"bEARER {live_server_process.take_key().bare}"}
    assert live_server_process.chat(None, "hi", headers=headers).status_code == 200


def test_the_operators_key_may_chat_too(live_server_process: LiveServer) -> None:
    assert live_server_process.chat(Key("env", live_server_process.management_key), "hi").status_code == 200


def test_no_key_or_header_of_ours_reaches_the_provider(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    key = live_server_process.take_key()
    headers = {"x-omniroute-session-id": "s", "Cookie": "a=b", "x-api-key": "k", "OpenAI-Beta": "b"}
    live_server_process.chat(key, "hi", headers=headers)
    sent = "\n".join(f"{name}: {value}" for name, value in upstream.last.headers).lower()
    assert key.bare.lower() not in sent
    assert not [name for name in ("x-omniroute", "cookie", "x-api-key") if name in sent]
    assert upstream.last.header("openai-beta") == "b"


def test_where_no_key_is_required_one_chats_without_memory(
    launch_server: Callable[..., LiveServer], upstream: UpstreamStub
) -> None:
    server = launch_server(REQUIRE_API_KEY="false")
    server.change_settings(enabled=True)
    chat = build_chat(None, "I prefer tea.", seed=7)
    response = server.client.post(CHAT, **chat)
    assert response.status_code == 200 and response.headers["x-omniroute-memories-injected"] == "0"
    assert upstream.last.json == {**chat["json"], "model": "m"}
    server.wait_for_jobs()
    assert server.manage("GET", "/api/memory").json()["total"] == 0
    assert_error(server.chat(Key("", "omr_wrong"), "hi"), 401, "Invalid API key")


# --- methods, bodies, models ---
@pytest.mark.parametrize(("method", "path", "allowed"), [("GET", CHAT, "POST"), ("POST", "/v1/models", "GET")])
def test_another_method_is_told_which_one_is_right(
    live_server_process: LiveServer, method: str, path: str, allowed: str
) -> None:
    response = live_server_process.client.request(method, path)
    assert_error(response, 405)
    assert response.headers["allow"] == allowed


def test_an_unknown_path_is_told_in_the_same_shape(live_server_process: LiveServer) -> None:
    assert_error(live_server_process.client.get("/v1/completions"), 404)


def test_a_body_over_the_limit_is_refused(launch_server: Callable[..., LiveServer], upstream: UpstreamStub) -> None:
    server = launch_server(MAX_REQUEST_BYTES="5000")
    key = server.take_key()
    assert_error(server.chat(key, "x" * 6000), 413)
    assert server.chat(key, "x" * 4000).status_code == 200
    assert len(upstream.requests) == 1


def test_an_unknown_provider_is_a_fault_of_the_model(live_server_process: LiveServer) -> None:
    error = assert_error(live_server_process.chat(live_server_process.take_key(), "hi", model="nobody/x"), 404)
    assert (error["code"], error["param"]) == ("model_not_found", "model")


def test_a_model_is_split_at_its_first_slash(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    key = live_server_process.take_key()
    for model, asked in (("stub/org/model-7b", "org/model-7b"), ("bare-model", "bare-model")):
        assert live_server_process.chat(key, "hi", model=model).status_code == 200
        assert upstream.last.json["model"] == asked


def test_an_untouched_request_arrives_byte_for_byte(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    raw = b'{ "model":"m",  "messages":[{"role":"user","content":"\\u00e9 \xc3\xa9"}], "x":[1.0, 1e3] }'
    live_server_process.client.post(CHAT, content=raw, headers=live_server_process.take_key().headers)
    assert upstream.last.body == raw


def test_models_are_listed_as_openai_does(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    upstream.reply_with(json_reply({"object": "list", "data": [{"id": "m1", "object": "model", "created": 5}]}))
    response = live_server_process.client.get("/v1/models", headers=live_server_process.take_key().headers)
    listed = response.json()
    assert listed["object"] == "list"
    assert {"id": "stub/m1", "object": "model", "created": 5, "owned_by": "stub"} in listed["data"]


def test_the_echo_provider_shows_what_it_was_sent(live_server_process: LiveServer) -> None:
    key = live_server_process.take_key()
    live_server_process.remember(key, "I prefer bun over npm")
    answer = live_server_process.chat(key, "bun or npm?", model="echo/echo").json()
    assert "Memory context: I prefer bun over npm" in answer["choices"][0]["message"]["content"]


# --- answers ---
def test_an_answer_comes_back_as_it_was(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    body = b'{"choices" : [], "odd": "\xc3\xa9 \\u00e9" }'
    upstream.reply_with(body_reply(body, 200, {"Content-Type": "application/json; charset=utf-8"}))
    response = live_server_process.chat(live_server_process.take_key(), "hi")
    assert response.content == body
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert response.headers["x-request-id"]


def test_a_compressed_answer_is_relayed_and_understood(live_server_process: LiveServer, upstream: UpstreamStub) -> None:
    key = live_server_process.take_key()
    upstream.reply_with(json_reply(chat_answer("We decided to use Postgres here."), compressed=True))
    response = live_server_process.chat(key, "I prefer green tea.")
    assert response.headers["content-encoding"] == "gzip"
    assert response.json()["choices"][0]["message"]["content"] == "We decided to use Postgres here."
    assert "green tea" in live_server_process.list_contents(key)


@pytest.mark.parametrize(
    "answer",
    [
        {"choices": []},
        {"id": "x"},
        chat_answer(None, tool_calls=[{"id": "c", "type": "function", "function": {"name": "f"}}]),
        chat_answer("one", "two", "three"),
        chat_answer([{"type": "text", "text": "parts"}]),
        chat_answer("", reasoning_content="I prefer thinking"),
        [],
    ],
)
def test_answers_of_every_shape_come_through(
    live_server_process: LiveServer, upstream: UpstreamStub, answer: Any
) -> None:
    key = live_server_process.take_key()
    upstream.reply_with(json_reply(answer))
    response = live_server_process.chat(key, "I prefer green tea.")
    assert (response.status_code, response.json()) == (200, answer)
    assert live_server_process.list_contents(key) == ["green tea"]


# --- sessions ---
def test_the_session_is_the_callers_or_a_new_one(live_server_process: LiveServer) -> None:
    key = live_server_process.take_key()
    named = live_server_process.chat(key, "I prefer tea cups.", headers={"x-omniroute-session-id": "sess-1"})
    assert named.headers["x-omniroute-session-id"] == "sess-1"
    live_server_process.wait_for_jobs()
    assert [memory["sessionId"] for memory in live_server_process.list_memories(key)] == ["sess-1"]
    fresh = {live_server_process.chat(key, "hi").headers["x-omniroute-session-id"] for _ in range(2)}
    assert len(fresh) == 2 and "sess-1" not in fresh


@pytest.mark.parametrize("value", ["a\tb", "é" * 300, "a" * 5000])
def test_a_strange_session_name_breaks_nothing(live_server_process: LiveServer, value: str) -> None:
    headers = [("x-omniroute-session-id", value.encode())]
    key = live_server_process.take_key()
    pairs = [*headers, ("authorization", f"Bearer {key.bare}".encode())]
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "I prefer tea cups."}]})
    response = live_server_process.client.post(CHAT, content=body, headers=pairs)  # type: ignore[arg-type]
    assert response.status_code == 200 and len(response.headers["x-omniroute-session-id"]) <= 512
    assert live_server_process.list_contents(key) == ["tea cups"]
