"""Chats that memory leaves alone: it fails, it is off or switched off in part, or the request opts out."""

import json
from collections.abc import Callable

import pytest

from tests.chat_messages import said
from tests.live_server import LiveServer, build_chat
from tests.upstream_replies import chat_answer, json_reply
from tests.upstream_stub import UpstreamStub

CHAT = "/v1/chat/completions"
BLOCK = "Memory context: I prefer dark mode"
DROP_TABLE = "from django.db import connection\nconnection.cursor().execute('DROP TABLE {table}')"


def test_a_failing_engine_costs_the_memories_and_not_the_answer(
    launch_server: Callable[..., LiveServer], upstream: UpstreamStub
) -> None:
    server = launch_server(EMBEDDED_WORKER="false")
    key = server.take_key()
    server.change_settings(enabled=True)
    server.remember(key, "I prefer dark mode")
    for table in ("memory_fts", "memories", "jobs"):
        server.run_command("shell", "-v0", "-c", DROP_TABLE.format(table=table))
    for is_stream in (False, True):
        response = server.chat(key, "I prefer secret tea.", stream=is_stream)
        assert (response.status_code, response.json()) == (200, chat_answer("Hello."))
        assert upstream.last.messages == [said("user", "I prefer secret tea.")]
    assert "memory.injection.failed" in server.log_text
    assert "memory.extraction.background.failed" in server.log_text
    assert "secret tea" not in server.log_text


@pytest.mark.parametrize("switched_off", [{"injectionEnabled": False}, {"extractionEnabled": False}])
def test_injection_and_extraction_have_a_switch_each(
    live_server_process: LiveServer, upstream: UpstreamStub, switched_off: dict[str, bool]
) -> None:
    server, key = live_server_process, live_server_process.take_key()
    server.remember(key, "I prefer dark mode")
    server.change_settings(**switched_off)
    server.chat(key, "I prefer dark mode in the evening.")
    assert (len(upstream.last.messages) == 2) == ("injectionEnabled" not in switched_off)
    assert (len(server.list_contents(key)) == 2) == ("extractionEnabled" not in switched_off)


# --- cases ---
@pytest.mark.parametrize("name", ["X-OmniRoute-No-Memory", "x-omniroute-no-memory"])
@pytest.mark.parametrize("values", [["true"], ["TRUE"], ["1"], ["yes"], ["YES"], ["false", "true"]])
def test_rw_022_a_request_opts_out_of_memory(
    live_server_process: LiveServer, upstream: UpstreamStub, name: str, values: list[str]
) -> None:
    server, key = live_server_process, live_server_process.take_key()
    server.remember(key, "I prefer dark mode")
    upstream.reply_with(json_reply(chat_answer("I prefer tea with milk.")))
    chat = build_chat(key, "I prefer dark mode and coffee.", headers=[(name, value) for value in values])
    response = server.client.post(CHAT, **chat)
    assert response.status_code == 200 and response.headers["x-omniroute-memories-injected"] == "0"
    assert upstream.last.json == {**chat["json"], "model": "m"}
    assert upstream.last.header("x-omniroute-no-memory") is None
    assert server.list_contents(key) == ["I prefer dark mode"]


@pytest.mark.parametrize("value", ["false", "0", "no", "", "on", "2"])
def test_rw_022_other_values_mean_nothing(live_server_process: LiveServer, upstream: UpstreamStub, value: str) -> None:
    server, key = live_server_process, live_server_process.take_key()
    server.remember(key, "I prefer dark mode")
    server.chat(key, "I prefer dark mode with coffee.", headers={"x-omniroute-no-memory": value})
    assert upstream.last.messages[0] == said("system", BLOCK)
    assert len(server.list_contents(key)) == 2


def test_rw_023_memory_that_is_off_changes_nothing(
    launch_server: Callable[..., LiveServer], upstream: UpstreamStub
) -> None:
    server = launch_server()
    key = server.take_key()
    for number in range(50):
        server.remember(key, f"I prefer tea number {number}")
    chat = build_chat(key, "I prefer tea cups.", temperature=0.1, seed=7, x_custom={"a": [1, 1.0, 1e2]})
    expected = {**chat["json"], "model": "m"}

    assert server.manage("GET", "/api/settings/memory").json()["enabled"] is False
    server.client.post(CHAT, **chat)
    assert upstream.last.json == expected
    server.change_settings(enabled=True, maxTokens=0)
    server.client.post(CHAT, **chat)
    assert upstream.last.json == expected
    assert json.dumps(upstream.last.json) == json.dumps(expected)
    assert len(server.list_contents(key)) == 50

    server.change_settings(enabled=True, maxTokens=2000)
    server.client.post(CHAT, **chat)
    sent = upstream.last.json
    assert sent["messages"].pop(0)["content"].startswith("Memory context: ")
    assert sent == expected
