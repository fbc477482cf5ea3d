"""Each tier taken away in turn, on a really running server: every answer is a 200 with its reason, and chats go on."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.db.sqlite.driver import choose_driver
from tests.embeddings.stub_api import Asked, Reply, StubApi, answer_normally
from tests.live_server import Key, LiveServer
from tests.upstream_stub import UpstreamStub

Launch = Callable[..., LiveServer]

CONTENT = "cats purr"
BLOCK = f"Memory context: {CONTENT}"
DEGRADING = ("semantic", "hybrid", "adaptive")
DROP_FULLTEXT = """
from django.db import connection
with connection.cursor() as cursor:
    for statement in ("DROP TRIGGER memory_fts_ai", "DROP TRIGGER memory_fts_ad", "DROP TRIGGER memory_fts_au",
                      "DROP TABLE memory_fts"):
        cursor.execute(statement)
"""


@pytest.fixture
def launch(launch_server: Launch, tiny_model_folder: Path) -> Launch:
    def start(**environment: str) -> LiveServer:
        defaults = {"MEMORY_STATIC_MODEL": str(tiny_model_folder), "HF_HUB_OFFLINE": "true"}
        server = launch_server(**{**defaults, **environment})
        server.change_settings(enabled=True)
        return server

    return start


def preview(server: LiveServer, key: Key, strategy: str, query: str = "cats") -> dict[str, Any]:
    body = {"query": query, "strategy": strategy, "apiKeyId": key.id}
    response = server.manage("POST", "/api/memory/retrieve-preview", json=body)
    assert response.status_code == 200, response.text
    return dict(response.json())


def read_status(server: LiveServer) -> dict[str, Any]:
    response = server.manage("GET", "/api/memory/engine-status")
    assert response.status_code == 200, response.text
    return dict(response.json())


def check_degraded(server: LiveServer, key: Key, upstream: UpstreamStub, reason: str) -> None:
    """Previews bring the memory by its keywords and say why; chats carry it; `exact` needs no tier at all."""
    for strategy in DEGRADING:
        told = preview(server, key, strategy)
        assert [item["content"] for item in told["memories"]] == [CONTENT], strategy
        assert reason in told["resolution"]["fallbackReason"], strategy
        assert (told["resolution"]["vectorStore"], told["resolution"]["strategyUsed"]) == ("none", strategy)
        assert told["memories"][0]["vecScore"] is None
    assert preview(server, key, "exact")["resolution"]["fallbackReason"] is None
    check_chats(server, key, upstream)


def check_chats(server: LiveServer, key: Key, upstream: UpstreamStub) -> None:
    for strategy in ("recent", *DEGRADING):
        server.change_settings(strategy=strategy)
        assert server.chat(key, "what do cats do?").status_code == 200
        assert upstream.last.messages[0]["content"] == BLOCK, strategy


def test_without_a_source(launch: Launch, upstream: UpstreamStub) -> None:
    server = launch()
    key = server.take_key()
    server.remember(key, CONTENT)
    check_degraded(server, key, upstream, "no embedding source")
    status = read_status(server)
    assert (status["embedding"]["available"], status["vectorStore"]["available"]) == (False, True)
    assert "staticEnabled" in status["embedding"]["reason"]
    # What was stored without a source is found by it as soon as there is one.
    server.change_settings(staticEnabled=True)
    server.wait_for_jobs()
    told = preview(server, key, "semantic")
    assert (told["resolution"]["fallbackReason"], told["memories"][0]["tier"]) == (None, "vector")


def test_with_a_source_that_fails(launch: Launch, upstream: UpstreamStub, embedding_api: StubApi) -> None:
    server = launch()
    key = server.take_key()
    server.change_settings(embeddingSource="remote", customBaseUrl=embedding_api.url, customModelId="m")
    server.remember(key, CONTENT)
    server.wait_for_jobs()
    assert preview(server, key, "semantic")["resolution"]["fallbackReason"] is None
    embedding_api.answer = lambda asked: Reply({"error": "sk-test-LEAKME"}, status=500)
    told = preview(server, key, "semantic", "cats again")["resolution"]
    assert "status 500" in told["fallbackReason"]
    status = read_status(server)
    assert status["embedding"]["available"] is False
    assert "status 500" in status["embedding"]["reason"]
    assert (status["vectorStore"]["available"], status["vectorStore"]["rowCount"]) == (True, 1)
    assert "LEAKME" not in str((told, status))
    # "cats" alone is still known to the cache, so ask what is not.
    for strategy in ("recent", *DEGRADING):
        server.change_settings(strategy=strategy)
        assert server.chat(key, f"what do cats do, {strategy}?").status_code == 200
        assert upstream.last.messages[0]["content"] == BLOCK
    embedding_api.answer = answer_normally
    assert preview(server, key, "semantic", "cats once more")["resolution"]["fallbackReason"] is None
    assert read_status(server)["embedding"]["available"] is True


def test_with_vectors_switched_off(launch: Launch, upstream: UpstreamStub) -> None:
    server = launch(VECTOR_STORE_DISABLE_VEC="true")
    server.change_settings(staticEnabled=True)
    key = server.take_key()
    server.remember(key, CONTENT)
    check_degraded(server, key, upstream, "VECTOR_STORE_DISABLE_VEC")
    store = read_status(server)["vectorStore"]
    assert (store["backend"], store["available"], store["rowCount"], store["needsReindex"]) == ("none", False, 0, 1)
    assert "VECTOR_STORE_DISABLE_VEC" in store["reason"]
    answer = server.manage("POST", "/api/memory/reindex").json()
    assert (answer["started"], answer["pending"]) == (False, 1)


@pytest.mark.skipif(choose_driver("stdlib").loads_extensions, reason="this Python's own SQLite loads extensions")
def test_where_the_extension_can_not_be_loaded(launch: Launch, upstream: UpstreamStub) -> None:
    server = launch(SQLITE_DRIVER="stdlib")
    server.change_settings(staticEnabled=True)
    key = server.take_key()
    server.remember(key, CONTENT)
    check_degraded(server, key, upstream, "can't load extensions")
    status = read_status(server)
    assert status["vectorStore"]["available"] is False
    assert "pysqlite3" in status["vectorStore"]["reason"]
    assert "extensions can't be loaded" in status["sqlite"]["driver"]
    assert status["embedding"]["available"] is True


def test_with_an_index_that_holds_nothing_of_the_owner(launch: Launch, upstream: UpstreamStub) -> None:
    server = launch(EMBEDDED_WORKER="false")
    server.change_settings(staticEnabled=True)
    key, other = server.take_key(), server.take_key()
    server.remember(other, "dogs bark")
    server.run_command("memory_reindex")
    server.remember(key, CONTENT)
    for strategy in ("semantic", "hybrid"):
        told = preview(server, key, strategy)
        assert [item["content"] for item in told["memories"]] == [CONTENT]
        assert "found nothing" in told["resolution"]["fallbackReason"]
    assert [item["content"] for item in preview(server, key, "adaptive")["memories"]] == [CONTENT]
    check_chats(server, key, upstream)
    # The chats have indexed the few memories that their owner was waiting for.
    told = preview(server, key, "semantic")
    assert (told["resolution"]["fallbackReason"], told["memories"][0]["tier"]) == (None, "vector")


def test_without_a_full_text_index(launch: Launch, upstream: UpstreamStub) -> None:
    server = launch()
    key = server.take_key()
    server.remember(key, CONTENT)
    server.run_command("shell", "--verbosity", "0", "-c", DROP_FULLTEXT)
    for strategy in ("semantic", "hybrid"):
        told = preview(server, key, strategy)
        assert [item["content"] for item in told["memories"]] == [CONTENT]
        assert "FTS5 is not available" in told["resolution"]["fallbackReason"]
    check_chats(server, key, upstream)
    keyword = read_status(server)["keyword"]
    assert (keyword["available"], keyword["backend"]) == (False, "none")
    # The other leg does without it.
    server.change_settings(staticEnabled=True)
    server.wait_for_jobs()
    told = preview(server, key, "hybrid")
    assert (told["resolution"]["fallbackReason"], told["memories"][0]["keywordRank"]) == (None, None)


def test_rw_033_a_hanging_embedding_endpoint_holds_a_chat_no_longer_than_its_own_limit(
    launch: Launch, upstream: UpstreamStub, embedding_api: StubApi
) -> None:
    server = launch()
    key = server.take_key()
    server.change_settings(embeddingSource="remote", customBaseUrl=embedding_api.url, customModelId="m")
    server.remember(key, CONTENT)
    server.wait_for_jobs()
    is_over = threading.Event()

    def hang(asked: Asked) -> Reply:
        is_over.wait(30)
        return answer_normally(asked)

    embedding_api.answer = hang
    try:
        response = server.chat(key, "what do cats do?")
        assert not is_over.is_set(), "the chat waited for the endpoint to its end"
        assert response.status_code == 200
        assert upstream.last.messages[0]["content"] == BLOCK
        assert "did not answer in time" in read_status(server)["embedding"]["reason"]
    finally:
        is_over.set()
