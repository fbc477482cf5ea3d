"""Bare JSON-RPC over HTTP: what is wrong is told as JSON-RPC tells it, and the next call works."""

from typing import Any

import pytest
from mcp_client import ADD, CLEAR, SEARCH, RawCaller

from tests.live_server import Key, LiveServer

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
GOOD = {"type": "factual", "key": "k", "content": "c"}


@pytest.fixture
def agent(server: LiveServer, key: Key) -> RawCaller:
    return RawCaller(server, key)


def assert_refused(answer: dict[str, Any], named: str) -> None:
    """Told either as JSON-RPC's -32602, or as a result that is an error and names the field."""
    if "error" in answer:
        assert answer["error"]["code"] == INVALID_PARAMS
    else:
        assert answer["result"]["isError"] is True
        assert named in answer["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("no_such_tool", {}, ""),
        ("", {}, ""),
        (None, {}, ""),
        (5, {}, ""),
        (ADD, {"type": "factual", "content": "c"}, "key"),
        (ADD, {**GOOD, "type": "fact"}, "type"),
        (ADD, {**GOOD, "content": ""}, "content"),
        (ADD, {**GOOD, "content": 5}, "content"),
        (ADD, {**GOOD, "content": "x" * 100_001}, "content"),
        (ADD, {**GOOD, "extra": 1}, "extra"),
        (ADD, {**GOOD, "metadata": "x"}, "metadata"),
        (ADD, {**GOOD, "metadata": None}, "metadata"),
        (ADD, {**GOOD, "apiKeyId": None}, "apiKeyId"),
        (ADD, {**GOOD, "apiKeyId": ""}, "apiKeyId"),
        (ADD, {**GOOD, "content": "\0"}, "content"),
        (ADD, None, "key"),
        (ADD, [], "key"),
        (SEARCH, {"limit": "5"}, "limit"),
        (SEARCH, {"limit": 0}, "limit"),
        (SEARCH, {"limit": 101}, "limit"),
        (SEARCH, {"limit": 2.5}, "limit"),
        (SEARCH, {"limit": True}, "limit"),
        (SEARCH, {"maxTokens": 8001}, "maxTokens"),
        (SEARCH, {"maxTokens": 0}, "maxTokens"),
        (SEARCH, {"query": ["a"]}, "query"),
        (CLEAR, {"confirm": "true"}, "confirm"),
        (CLEAR, {"olderThan": 1700000000000}, "olderThan"),
    ],
)
def test_rw_079_bad_calls_are_errors_and_store_nothing(
    server: LiveServer, key: Key, agent: RawCaller, tool: Any, arguments: Any, named: str
) -> None:
    assert_refused(agent.call(tool, arguments=arguments), named)
    assert server.list_memories(key) == []
    assert agent.call(SEARCH)["result"]["isError"] is False


def test_rw_079_arguments_may_be_missing_where_none_is_needed(agent: RawCaller) -> None:
    assert agent.call(SEARCH)["result"]["isError"] is False
    assert agent.call(SEARCH, arguments=None)["result"]["isError"] is False
    assert_refused(agent.call(ADD), "key")


def test_rw_079_half_a_character_is_refused(server: LiveServer, key: Key, agent: RawCaller) -> None:
    message = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s}}'
    arguments = b'{"type":"factual","key":"k","content":"\\ud83d"}'
    answer = agent.post(message % (ADD.encode(), arguments))
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == PARSE_ERROR
    # The newest protocol reads JSON another way.
    answer = agent.post(message % (ADD.encode(), arguments), **{"MCP-Protocol-Version": "2026-07-28"})
    assert "error" in answer.json() or answer.json()["result"]["isError"]
    assert server.list_memories(key) == []


@pytest.mark.parametrize(
    ("body", "code", "told_id"),
    [
        (b"", PARSE_ERROR, None),
        (b"{", PARSE_ERROR, None),
        (b"\xff\xfe", PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', PARSE_ERROR, None),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 60 + b"1" + b"}" * 60 + b"}",
            PARSE_ERROR,
            None,
        ),
        (b"null", INVALID_REQUEST, None),
        (b'"ping"', INVALID_REQUEST, None),
        ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], INVALID_REQUEST, None),
        ([], INVALID_REQUEST, None),
        ({"id": 3, "method": "ping"}, INVALID_REQUEST, 3),
        ({"jsonrpc": "1.0", "id": "a", "method": "ping"}, INVALID_REQUEST, "a"),
        ({"jsonrpc": "2.0", "id": None, "method": "tools/list"}, INVALID_REQUEST, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, INVALID_REQUEST, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, INVALID_REQUEST, None),
        ({"jsonrpc": "2.0", "id": 1}, INVALID_REQUEST, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, INVALID_REQUEST, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}, INVALID_PARAMS, 1),
    ],
)
def test_rw_079_what_is_no_message_gets_json_rpcs_own_code(
    agent: RawCaller, body: Any, code: int, told_id: Any
) -> None:
    answer = agent.post(body)
    assert answer.status_code == 400
    assert (answer.json()["id"], answer.json()["error"]["code"]) == (told_id, code)
    assert "pydantic" not in answer.text
    assert agent.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}).json()["result"] is not None


@pytest.mark.parametrize("method", ["no/such", "resources/list", "prompts/list", "rpc.discover", ""])
def test_rw_079_an_unknown_method_is_told_apart(agent: RawCaller, method: str) -> None:
    answer = agent.post({"jsonrpc": "2.0", "id": 9, "method": method})
    assert (answer.json()["id"], answer.json()["error"]["code"]) == (9, METHOD_NOT_FOUND)


def test_a_notification_gets_no_answer(agent: RawCaller) -> None:
    answer = agent.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert (answer.status_code, answer.content) == (202, b"")
