"""The built-in provider shows what it was sent, as any OpenAI-compatible upstream would answer."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai import OpenAI

from core.providers.client import open_chat
from core.providers.routing import Route

ROUTE = Route(provider="echo", model="echo", base_url="", api_key="", system_role="any")
MESSAGES = [
    {"role": "system", "content": "Memory context: prefers tea\nlives in Žodis"},
    {"role": "user", "content": "hi"},
]
RENDERED = "system: Memory context: prefers tea\nlives in Žodis\nuser: hi"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def ask_raw(body: bytes) -> tuple[int, str, bytes]:
    async def ask() -> tuple[int, str, bytes]:
        reply = await open_chat(ROUTE, body, {})
        told = b"".join([chunk async for chunk in reply.chunks])
        await reply.aclose()
        return reply.status, reply.headers["content-type"], told

    return asyncio.run(ask())


def ask(**body: Any) -> tuple[int, Any]:
    status, _, told = ask_raw(json.dumps(body).encode())
    return status, json.loads(told)


def read_events(told: bytes) -> list[Any]:
    lines = told.decode().split("\n\n")
    assert lines[-1] == "" and lines[-2] == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]


def test_the_answer_shows_the_messages_one_a_line() -> None:
    status, told = ask(model="m", messages=MESSAGES)
    assert status == 200 and told["object"] == "chat.completion" and told["model"] == "echo"
    (choice,) = told["choices"]
    assert choice["message"]["content"] == RENDERED
    assert choice["finish_reason"] == "stop"
    usage = told["usage"]
    assert usage["prompt_tokens"] == usage["completion_tokens"] == -(-len(RENDERED) // 4)
    assert usage["total_tokens"] == 2 * usage["prompt_tokens"]


def test_the_memory_line_is_readable_in_the_raw_answer() -> None:
    _, _, told = ask_raw(json.dumps({"messages": MESSAGES}).encode())
    assert "Memory context: prefers tea\\nlives in Žodis" in told.decode()


def test_what_is_not_plain_text_is_shown_as_json() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    parts = {"role": "user", "content": [{"type": "text", "text": "ж"}]}
    _, told = ask(messages=[call, parts])
    assert told["choices"][0]["message"]["content"] == (
        'assistant: {"content": null, "tool_calls": [{"id": "1"}]}\nuser: {"content": [{"type": "text", "text": "ж"}]}'
    )


def test_a_stream_holds_the_same_text_in_order() -> None:
    long = [*MESSAGES, {"role": "user", "content": "word " * 3000}]
    _, content_type, told = ask_raw(json.dumps({"messages": long, "stream": True, "n": 2}).encode())
    assert content_type.startswith("text/event-stream")
    events = read_events(told)
    assert all("usage" not in event and event["object"] == "chat.completion.chunk" for event in events)
    for index in (0, 1):
        mine = [event["choices"][0] for event in events if event["choices"][0]["index"] == index]
        assert mine[0]["delta"] == {"role": "assistant", "content": ""}
        assert "".join(choice["delta"].get("content", "") for choice in mine) == RENDERED + "\nuser: " + "word " * 3000
        assert [choice["finish_reason"] for choice in mine if choice["finish_reason"]] == ["stop"]
        assert 3 < len(mine) < 210


def test_usage_is_streamed_when_asked_for() -> None:
    body = {"messages": MESSAGES, "stream": True, "stream_options": {"include_usage": True}}
    events = read_events(ask_raw(json.dumps(body).encode())[2])
    assert events[-1]["choices"] == [] and events[-1]["usage"]["prompt_tokens"] > 0
    assert all(event["usage"] is None for event in events[:-1])


def test_n_gives_that_many_choices() -> None:
    _, told = ask(messages=MESSAGES, n=3)
    assert [choice["index"] for choice in told["choices"]] == [0, 1, 2]
    assert told["usage"]["completion_tokens"] == 3 * told["usage"]["prompt_tokens"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"not json", None),
        (b"\xff", None),
        (b"[" * 100_000, None),
        (b"[]", "messages"),
        (b"{}", "messages"),
        (b'{"messages":[]}', "messages"),
        (b'{"messages":"hi"}', "messages"),
        (b'{"messages":[{}],"n":0}', "n"),
        (b'{"messages":[{}],"n":9}', "n"),
        (b'{"messages":[{}],"n":true}', "n"),
        (b'{"messages":[{}],"stream":"yes"}', "stream"),
    ],
)
def test_a_bad_body_gets_an_openai_400(body: bytes, param: str | None) -> None:
    status, content_type, told = ask_raw(body)
    assert (status, content_type) == (400, "application/json")
    error = json.loads(told)["error"]
    assert error["type"] == "invalid_request_error" and error["param"] == param and error["message"]


@given(st.lists(json_values, min_size=1, max_size=4), st.booleans())
def test_any_messages_are_answered_with_valid_json(messages: list[Any], streams: bool) -> None:
    status, _, told = ask_raw(json.dumps({"messages": messages, "stream": streams}).encode())
    assert status == 200
    if streams:
        read_events(told)
    else:
        json.loads(told)


def test_a_lone_surrogate_is_still_valid_json() -> None:
    status, _, told = ask_raw(b'{"messages":[{"role":"user","content":"\\ud83d"}]}')
    assert status == 200
    assert json.loads(told.decode("utf-8"))["choices"][0]["message"]["content"] == "user: \ud83d"


def test_the_official_client_reads_both_kinds_of_answer() -> None:
    def handle(request: httpx.Request) -> httpx.Response:
        status, content_type, told = ask_raw(request.content)
        return httpx.Response(status, headers={"content-type": content_type}, content=told)

    client = OpenAI(api_key="k", http_client=httpx.Client(transport=httpx.MockTransport(handle)))
    whole = client.chat.completions.create(model="echo", messages=MESSAGES)  # type: ignore[arg-type]
    assert whole.choices[0].message.content == RENDERED
    with client.chat.completions.create(model="echo", messages=MESSAGES, stream=True) as events:  # type: ignore[arg-type]
        assert "".join(event.choices[0].delta.content or "" for event in events) == RENDERED
