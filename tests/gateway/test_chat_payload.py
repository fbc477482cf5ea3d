"""What a chat body must hold, what is read from it, and what of it goes upstream."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidRequestError
from gateway.payload import (
    ChatRequest,
    opts_out_of_memory,
    parse_chat_request,
    read_session_id,
    write_upstream_body,
)


def parse(body: Any) -> ChatRequest:
    return parse_chat_request(json.dumps(body).encode())


def ask(*contents: Any) -> ChatRequest:
    return parse({"model": "m", "messages": [{"role": "user", "content": content} for content in contents]})


# --- checks ---
@pytest.mark.parametrize("raw", [b"", b"nope", b"[]", b"5", b'"x"', b"null", b"\xff\xfe", b'{"a":NaN}', b"{" * 90])
def test_a_body_that_is_no_json_object_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        parse_chat_request(raw)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "model"),
        ({"model": None}, "model"),
        ({"model": 5}, "model"),
        ({"model": " "}, "model"),
        ({"model": "\ud83d/x", "messages": [{"role": "user"}]}, "model"),
        ({"model": "m"}, "messages"),
        ({"model": "m", "messages": None}, "messages"),
        ({"model": "m", "messages": "hi"}, "messages"),
        ({"model": "m", "messages": []}, "messages"),
        ({"model": "m", "messages": [None]}, "messages.0"),
        ({"model": "m", "messages": [[]]}, "messages.0"),
        ({"model": "m", "messages": [{}]}, "messages.0.role"),
        ({"model": "m", "messages": [{"role": ""}]}, "messages.0.role"),
        ({"model": "m", "messages": [{"role": "user"}, {"role": 1}]}, "messages.1.role"),
        ({"model": "m", "messages": [{"role": "user", "content": 5}]}, "messages.0.content"),
        ({"model": "m", "messages": [{"role": "user", "content": {"a": 1}}]}, "messages.0.content"),
        ({"model": "m", "messages": [{"role": "user", "content": [5]}]}, "messages.0.content"),
    ],
)
def test_a_wrong_field_is_named(body: Any, field: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        parse(body)
    assert (refused.value.status, refused.value.param) == (400, field)


@pytest.mark.parametrize("fields", [{"content": None}, {"tool_calls": []}])
def test_a_message_may_lack_content(fields: dict[str, Any]) -> None:
    assert parse({"model": "m", "messages": [{"role": "assistant", **fields}]}).user_text == ""


# --- what the user said ---
def test_text_parts_of_the_last_user_message_make_the_query() -> None:
    request = ask(
        "earlier",
        [
            {"type": "text", "text": " which package manager"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
            {"type": "input_text", "text": "bun"},
            {"type": "output_text", "text": "or"},
            {"text": "npm"},
            "today ",
            {"type": "text", "text": 5},
            {"type": "input_audio", "input_audio": {"data": "AA=="}},
        ],
    )
    assert request.query_text == "which package manager bun or npm today"
    assert request.user_text == " which package manager\nbun\nor\nnpm\ntoday "


def test_an_image_alone_says_nothing() -> None:
    request = ask("I prefer tea", [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}])
    assert (request.query_text, request.user_text) == ("", "")


def test_results_of_tools_do_not_speak_for_the_user() -> None:
    request = ask("what is 6*7?", [{"type": "tool_result", "tool_use_id": "t", "content": "42"}])
    assert request.query_text == "what is 6*7?"


# --- what goes upstream ---
def test_an_unchanged_request_goes_on_byte_for_byte() -> None:
    raw = b'{ "model":"m",  "messages":[{"role":"user","content":"\\u00e9 \xc3\xa9"}], "seed":7, "x":[1.0, 1e3] }'
    request = parse_chat_request(raw)
    assert write_upstream_body(request, request.body, "m") is raw


def test_another_model_name_changes_that_alone() -> None:
    body = {"model": "p/m", "messages": [{"role": "user", "content": "hi \ud83d"}], "x": {"a": [1, 1.0, 1e30]}}
    request = parse(body)
    sent = write_upstream_body(request, request.body, "m")
    assert json.loads(sent) == {**body, "model": "m"}
    assert list(json.loads(sent)) == list(body)


@given(st.dictionaries(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5)))
def test_unknown_fields_survive_any_rewriting(others: dict[str, Any]) -> None:
    body = {**others, "model": "p/m", "messages": [{"role": "user", "content": "hi"}]}
    request = parse(body)
    assert json.loads(write_upstream_body(request, request.body, "m")) == {**body, "model": "m"}


# --- headers ---
@pytest.mark.parametrize("value", ["true", "TRUE", " True ", "1", "yes", "YES", "false,true", "no, 1"])
def test_memory_is_opted_out_of(value: str) -> None:
    assert opts_out_of_memory({"x-omniroute-no-memory": value})


@pytest.mark.parametrize("value", ["false", "0", "no", "", "on", "2", "false,0"])
def test_other_values_do_not_opt_out(value: str) -> None:
    assert not opts_out_of_memory({"x-omniroute-no-memory": value})


def test_no_header_does_not_opt_out() -> None:
    assert not opts_out_of_memory({})


@pytest.mark.parametrize(
    ("value", "session"), [("sess-1", "sess-1"), ("  ", ""), ("a\x00\x1bb", "ab"), ("x" * 300, "x" * 256)]
)
def test_the_session_is_named_by_its_header(value: str, session: str) -> None:
    assert read_session_id({"x-omniroute-session-id": value}) == session
