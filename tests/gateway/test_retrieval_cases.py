"""What a query finds, in the preview and in chat alike: cases of retrieval and expiry, each named after its id."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.live_server import LiveServer
from tests.upstream_stub import UpstreamStub


def preview(server: LiveServer, key: Any, query: str) -> list[dict[str, Any]]:
    body = {"query": query, "apiKeyId": key.id, "limit": 100}
    answer = server.manage("POST", "/api/memory/retrieve-preview", json=body)
    assert answer.status_code == 200, answer.text
    assert "no such column" not in answer.text
    memories: list[dict[str, Any]] = answer.json()["memories"]
    return memories


def matches(server: LiveServer, key: Any, query: str) -> list[str]:
    """Contents that the keywords matched, best first; the newest that merely stand in have no ftsScore."""
    return [memory["content"] for memory in preview(server, key, query) if memory["ftsScore"] is not None]


def test_rw_009_identifiers_with_marks_are_text_and_never_syntax(live_server_process: LiveServer) -> None:
    server, key = live_server_process, live_server_process.take_key()
    first, second = "I prefer gpt-4o over o3", "deploy notes live in Downloads/transcripts"
    third, fourth = "prefer the word content: prefer", "uses C++ 20.04"
    for content in (first, second, third, fourth):
        server.remember(key, content)
    assert matches(server, key, "gpt-4o")[0] == first
    assert second in matches(server, key, "Downloads/transcripts")
    assert third in matches(server, key, "content:prefer")
    assert fourth in matches(server, key, "C++")
    assert fourth in matches(server, key, "20.04")
    preview(server, key, "user:bob")


def test_rw_011_straight_and_curly_apostrophes_find_each_other(live_server_process: LiveServer) -> None:
    server, key = live_server_process, live_server_process.take_key()
    server.remember(key, "I don't use tabs")
    server.remember(key, "I don\u2019t use spaces")
    for query in ("don't use", "don\u2019t use"):
        assert len(matches(server, key, query)) == 2


def test_rw_013_a_whole_sentence_finds_what_shares_some_of_its_words(
    live_server_process: LiveServer, upstream: UpstreamStub
) -> None:
    server, key = live_server_process, live_server_process.take_key()
    server.remember(key, "Postgres for this project")
    server.remember(key, "sourdough at weekends")
    question = "What database did we say we would use for this project, please?"
    server.chat(key, question)
    assert "Postgres for this project" in upstream.last.messages[0]["content"]
    best = preview(server, key, question)[0]
    assert best["content"] == "Postgres for this project"
    assert isinstance(best["ftsScore"], float) and best["vecScore"] is None


@pytest.mark.parametrize("time_zone", ["UTC", "America/New_York", "Asia/Tokyo"])
def test_rw_037_expiry_is_a_moment_and_not_a_text(
    launch_server: Callable[..., LiveServer], upstream: UpstreamStub, time_zone: str
) -> None:
    server = launch_server(TZ=time_zone)
    server.change_settings(enabled=True)
    key = server.take_key()
    now = datetime.now(UTC)
    spellings = ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.000Z", "%Y-%m-%dT%H:%M:%S+00:00")
    for number, spelling in enumerate(spellings):
        server.remember(key, f"gone {number}", expiresAt=(now - timedelta(seconds=60)).strftime(spelling))
        server.remember(key, f"alive {number}", expiresAt=(now + timedelta(seconds=60)).strftime(spelling))
    server.remember(key, "for ever", expiresAt=None)
    server.remember(key, "shortly", expiresAt=(datetime.now(UTC) + timedelta(seconds=1.2)).isoformat())
    kept = {"alive 0", "alive 1", "alive 2", "for ever"}
    assert kept <= {memory["content"] for memory in preview(server, key, "hi")} <= kept | {"shortly"}
    time.sleep(1.3)
    assert {memory["content"] for memory in preview(server, key, "hi")} == kept
    server.chat(key, "hi")
    block = upstream.last.messages[0]["content"]
    assert set(block.removeprefix("Memory context: ").split("\n")) == kept
