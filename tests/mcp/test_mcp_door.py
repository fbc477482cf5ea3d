"""Who may come in at /mcp: keys, hosts, origins, methods, sizes; and that the door answers like every other one."""

from collections.abc import Callable
from typing import Any

import pytest
from mcp_client import ADD, SEARCH, RawCaller

from tests.live_server import Key, LiveServer

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
STORE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": ADD, "arguments": {"type": "factual", "key": "k", "content": "c"}},
}


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer omr_wrong", "Basic eDp5", "omr_x"])
def test_rw_082_without_a_key_nothing_runs(server: LiveServer, authorization: str) -> None:
    anonymous = RawCaller(server, None)
    before = server.manage("GET", "/api/memory").json()["total"]
    for message in (LIST, STORE, b"{"):
        answer = anonymous.post(message, **({"Authorization": authorization} if authorization else {}))
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["error"]["type"] == "invalid_request"
    assert server.manage("GET", "/api/memory").json()["total"] == before


def test_rw_075_a_revoked_key_is_refused_at_the_next_request(server: LiveServer) -> None:
    key = server.create_key("leaving")
    agent = RawCaller(server, key)
    assert agent.post(LIST).status_code == 200
    server.run_command("revoke_api_key", key.id)
    assert agent.post(LIST).status_code == 401


def test_rw_075_the_mcp_door_tells_no_secret(server: LiveServer, key: Key) -> None:
    server.add_provider("leaky", "http://127.0.0.1:9/v1", "--api-key", "sk-test-LEAKME")
    agent = RawCaller(server, key)
    answers = [agent.post(message) for message in (LIST, STORE, b"{", {"jsonrpc": "2.0", "id": 1, "method": "x"})]
    answers.append(agent.post(LIST, Authorization="Bearer sk-test-LEAKME"))
    assert not [answer.text for answer in answers if "LEAKME" in answer.text or "Traceback" in answer.text]
    assert "LEAKME" not in server.log_text


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
def test_only_posts_are_answered(server: LiveServer, key: Key, method: str) -> None:
    answer = server.client.request(method, "/mcp", headers=key.headers)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json()["error"]["code"] == "method_not_allowed"


def test_a_slash_at_the_end_is_the_same_door_and_what_lies_below_is_none(server: LiveServer, key: Key) -> None:
    headers = {**key.headers, "Accept": "application/json"}
    assert server.client.post("/mcp/", json=LIST, headers=headers).status_code == 200
    answer = server.client.post("/mcp/x", json=LIST, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert server.client.post("/mcpx", json=LIST, headers=headers).status_code == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "[::1"])
def test_a_host_name_that_is_not_ours_is_refused(server: LiveServer, key: Key, host: str) -> None:
    answer = RawCaller(server, key).post(LIST, Host=host)
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://evil.example", "file://", "http://localhost.evil.example", "x"]
)
def test_a_web_page_of_another_site_is_refused(server: LiveServer, key: Key, origin: str) -> None:
    answer = RawCaller(server, key).post(LIST, Origin=origin)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "origin_refused")
    assert "access-control-allow-origin" not in answer.headers


def test_our_own_pages_may_ask(server: LiveServer, key: Key) -> None:
    assert RawCaller(server, key).post(LIST, Origin=server.base_url).status_code == 200


def test_the_door_answers_like_every_other(server: LiveServer, key: Key) -> None:
    agent = RawCaller(server, key)
    answer = agent.post(LIST, **{"x-request-id": "mine-1"})
    assert answer.headers["x-request-id"] == "mine-1"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("default-src 'self'")
    made = {agent.post(message).headers["x-request-id"] for message in (LIST, b"{", b"[]")}
    made.add(RawCaller(server, None).post(LIST).headers["x-request-id"])
    assert len(made) == 4
    assert agent.post(LIST, **{"x-request-id": "a b\tc"}).headers["x-request-id"] != "a b\tc"


def test_an_agent_may_be_asked_for_plain_json_alone(server: LiveServer, key: Key) -> None:
    answer = RawCaller(server, key).post(LIST, Accept="application/json")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")


def test_a_limit_a_key_holds_at_every_door(launch_server: Callable[..., LiveServer]) -> None:
    server = launch_server(
        API_RATE_LIMIT_PER_MINUTE="5", MAX_REQUEST_BYTES="2000", CSRF_TRUSTED_ORIGINS="https://*.ok.example"
    )
    key, other = server.take_key(), server.take_key()
    agent = RawCaller(server, key)

    left = [
        agent.post(LIST),
        agent.post(b"{"),
        server.chat(key, "hi"),
        server.client.get("/v1/models", headers=key.headers),
    ]
    assert [answer.headers["ratelimit-remaining"] for answer in left] == ["4", "3", "2", "1"]
    assert {answer.headers["ratelimit-limit"] for answer in left} == {"5"}
    assert agent.call(SEARCH)["result"]["isError"] is False

    refusals: list[Any] = [
        agent.post(STORE),
        server.chat(key, "hi"),
        server.client.get("/api/memory", headers=key.headers),
    ]
    for refusal in refusals:
        assert refusal.status_code == 429
        assert refusal.json()["error"]["code"] == "rate_limited"
        assert 1 <= int(refusal.headers["retry-after"]) <= 12
        assert refusal.headers["ratelimit-remaining"] == "0"
        assert refusal.headers["x-request-id"]
    assert server.client.get("/healthz").headers.get("ratelimit-limit") is None

    trusted = RawCaller(server, other).post(LIST, Origin="https://a.ok.example")
    assert (trusted.status_code, trusted.headers["ratelimit-remaining"]) == (200, "4")
    too_long = RawCaller(server, other).post(b" " * 2001)
    assert (too_long.status_code, too_long.json()["error"]["code"]) == (413, "request_too_large")
    assert too_long.headers["x-request-id"]
