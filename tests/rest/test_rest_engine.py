"""GET engine-status and embedding-providers: what works, what does not, and what to do about it."""

from typing import Any

import pytest
from django.db import connection
from engine_reports import REINDEX, SETTINGS, STATUS, ask_reindex, read_status
from rest_api import Api

from core.providers.configuration import ProviderChanges, save_provider
from core.providers.registry import PROVIDERS
from embeddings import base
from embeddings.failures import _FAILURES
from memory.indexing import prepare_target
from tests.embeddings.stub_api import Reply, StubApi
from tests.engine import do_jobs, use_embedding_server, use_static_model

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fresh_engine")]


# --- engine-status ---
def test_the_status_has_the_fields_of_the_contract(api: Api) -> None:
    use_static_model()
    api.remember(content="tea")
    do_jobs()
    told = read_status(api)
    assert told["keyword"] == {"available": True, "backend": "FTS5", "reason": told["keyword"]["reason"]}
    embedding = told["embedding"]
    assert embedding.keys() == {"source", "model", "dimensions", "available", "reason", "cacheStats"}
    assert (embedding["source"], embedding["dimensions"], embedding["available"]) == ("static", 4, True)
    assert embedding["cacheStats"].keys() == {"hits", "misses", "size"}
    store = told["vectorStore"]
    assert {"backend", "available", "rowCount", "needsReindex", "reason"} <= store.keys()
    assert (store["backend"], store["available"], store["rowCount"], store["needsReindex"]) == (
        "sqlite-vec", True, 1, 0,
    )  # fmt: skip
    assert told["qdrant"] == {"enabled": False, "healthy": None, "latencyMs": None, "error": None}
    assert told["rerank"].keys() == {"enabled", "provider", "model", "available", "reason"}
    assert store["active"]["rows"] == store["active"]["total"] == 1
    assert store["building"] is None
    assert "SQLite" in told["sqlite"]["driver"]


def test_every_reason_is_a_sentence_for_people(api: Api) -> None:
    told = read_status(api)
    for part in ("keyword", "embedding", "vectorStore", "rerank"):
        assert len(told[part]["reason"]) > 10, part


def test_without_a_source_the_status_says_what_to_do(api: Api) -> None:
    api.remember(content="tea")
    do_jobs()
    told = read_status(api)
    assert (told["embedding"]["source"], told["embedding"]["available"]) == (None, False)
    assert "staticEnabled" in told["embedding"]["reason"]
    assert (told["vectorStore"]["rowCount"], told["vectorStore"]["needsReindex"]) == (0, 1)


def test_a_provider_without_a_key_is_told_by_the_name_of_its_variable(api: Api) -> None:
    model = "openai/text-embedding-3-small"
    assert api.put(SETTINGS, {"embeddingSource": "remote", "embeddingProviderModel": model}).status_code == 200
    embedding = read_status(api)["embedding"]
    assert (embedding["source"], embedding["model"], embedding["dimensions"]) == ("remote", model, 1536)
    assert embedding["available"] is False
    assert "OPENAI_API_KEY" in embedding["reason"]


def test_the_status_asks_no_network_and_loads_no_model(
    api: Api, embedding_api: StubApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_embedding_server(embedding_api)
    api.remember(content="tea")
    do_jobs()
    asked = len(embedding_api.asked)
    monkeypatch.setattr("embeddings.static._load", lambda choice: pytest.fail("a model was loaded"))
    for _ in range(3):
        read_status(api)
    api.put(SETTINGS, {"embeddingSource": "static", "staticEnabled": True})
    read_status(api)
    assert len(embedding_api.asked) == asked


def test_cache_statistics_count_what_was_looked_up(api: Api) -> None:
    use_static_model()
    api.remember(content="tea")
    do_jobs()
    for _ in range(3):
        api.post("/api/memory/retrieve-preview", {"query": "cats", "strategy": "semantic"})
    cache = read_status(api)["embedding"]["cacheStats"]
    assert (cache["hits"], cache["size"]) == (2, 2)
    assert api.get("/api/memory").json()["cacheStats"] == {"hits": cache["hits"], "misses": cache["misses"]}


def test_a_failing_source_is_told_until_it_works_again(api: Api, embedding_api: StubApi) -> None:
    use_embedding_server(embedding_api)
    works = embedding_api.answer
    embedding_api.answer = lambda asked: Reply({"error": "sk-test-LEAKME"}, status=401)
    api.remember(content="tea")
    do_jobs()
    told = read_status(api)
    assert told["embedding"]["available"] is False
    assert "key" in told["embedding"]["reason"]
    assert "LEAKME" not in str(told)
    assert told["indexing"]["pending"] == 1
    assert told["indexing"]["nextRunAt"] is not None
    embedding_api.answer = works
    ask_reindex(api)
    do_jobs()
    told = read_status(api)
    assert told["embedding"]["available"] is True
    assert (told["vectorStore"]["rowCount"], told["indexing"]["waitsFor"]) == (1, None)


def test_another_process_tells_of_an_outage_too(api: Api, embedding_api: StubApi) -> None:
    use_embedding_server(embedding_api)
    embedding_api.answer = lambda asked: Reply({}, status=403)
    api.remember(content="tea")
    do_jobs()
    _FAILURES.clear()  # what only the process knows that met it
    told = read_status(api)
    assert told["embedding"]["available"] is False
    assert told["indexing"]["waitsFor"] in told["embedding"]["reason"]


def test_a_change_of_the_model_shows_both_indexes(api: Api, embedding_api: StubApi) -> None:
    use_static_model()
    for number in range(3):
        api.remember(key=f"k{number}", content="tea")
    do_jobs()
    embedding_api.answer = lambda asked: Reply({}, status=500)
    body = {"embeddingSource": "remote", "customBaseUrl": embedding_api.url, "customModelId": "m"}
    assert api.put(SETTINGS, body).status_code == 200
    prepare_target()
    store = read_status(api)["vectorStore"]
    assert store["active"]["signature"].startswith("static:")
    assert store["building"]["signature"].startswith("remote:")
    assert (store["active"]["rows"], store["building"]["rows"], store["needsReindex"]) == (3, 0, 3)
    assert "while" in store["reason"]


def test_rows_that_can_not_be_embedded_leave_the_source_available(api: Api) -> None:
    use_static_model()
    api.remember(key="1", content="tea")
    api.remember(key="2", content="...")
    do_jobs()
    told = read_status(api)
    assert told["embedding"]["available"] is True
    assert (told["indexing"]["pending"], told["indexing"]["due"]) == (1, 0)
    assert told["indexing"]["nextTryAt"] is not None


@pytest.mark.parametrize(
    ("changes", "available", "told"),
    [
        ({}, False, "rerankProviderModel"),
        ({"rerankProviderModel": "cohere/rerank-v3.5"}, False, "rerankEnabled"),
        ({"rerankProviderModel": "cohere/rerank-v3.5", "rerankEnabled": True}, False, "COHERE_API_KEY"),
        ({"rerankProviderModel": "mine/bge", "rerankEnabled": True}, True, "mine/bge"),
        ({"rerankProviderModel": "local/no-model", "rerankEnabled": True}, False, ""),
    ],
)
def test_the_reranker_is_told_as_it_is(api: Api, changes: dict[str, Any], available: bool, told: str) -> None:
    save_provider("mine", ProviderChanges(base_url="http://127.0.0.1:9/v1"))
    if changes:
        assert api.put(SETTINGS, changes).status_code == 200
    rerank = read_status(api)["rerank"]
    chosen = changes.get("rerankProviderModel")
    assert (rerank["provider"], rerank["model"]) == (tuple(chosen.split("/", 1)) if chosen else (None, None))
    assert rerank["enabled"] == changes.get("rerankEnabled", False)
    assert rerank["available"] == available
    assert told in rerank["reason"]


def test_the_keyword_tier_is_told_by_asking_it(api: Api) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE memory_fts")
    keyword = read_status(api)["keyword"]
    assert (keyword["available"], keyword["backend"]) == (False, "none")
    assert "migrate" in keyword["reason"]


# --- embedding-providers ---
def test_every_provider_that_embeds_is_listed_with_its_models(api: Api) -> None:
    save_provider("mistral", ProviderChanges(api_key="sk-test-LEAKME"))
    save_provider("my-server", ProviderChanges(base_url="http://127.0.0.1:9/v1"))
    answer = api.get("/api/memory/embedding-providers")
    listed = {entry["provider"]: entry for entry in answer.json()["providers"]}
    assert {provider.id for provider in PROVIDERS if provider.embeds} < set(listed)
    assert all(entry.keys() == {"provider", "hasKey", "models"} for entry in listed.values())
    assert (listed["mistral"]["hasKey"], listed["openai"]["hasKey"]) == (True, False)
    assert listed["my-server"] == {"provider": "my-server", "hasKey": True, "models": []}
    assert listed["mistral"]["models"] == [{"id": "mistral/mistral-embed", "name": "mistral-embed", "dimensions": 1024}]
    assert b"LEAKME" not in answer.content


# --- who may ask ---
def test_only_managers_see_the_engine(anonymous: Api) -> None:
    assert anonymous.get(STATUS).status_code == 401
    assert anonymous.get("/api/memory/embedding-providers").status_code == 401
    assert anonymous.post(REINDEX).status_code == 401


NORMAL = {"data": [{"index": 0, "embedding": [1.0, 2.0]}]}

ODD_ANSWERS: dict[str, Reply] = {
    "one item fewer": Reply({"data": []}),
    "an error with 200": Reply({"error": {"message": "no"}}),
    "a page with 200": Reply(b"<html>login</html>", headers={"content-type": "text/html"}),
    "404": Reply({}, status=404),
    "a redirect to itself": Reply({}, status=302, headers={"location": "/embeddings"}),
    "50 MB": Reply(b'{"data": "' + b"x" * 50_000_000 + b'"}'),
}


# --- cases ---
@pytest.mark.parametrize("name", list(ODD_ANSWERS))
def test_rw_056_an_odd_answer_stores_no_vector_and_is_told_by_the_status(
    api: Api, embedding_api: StubApi, name: str
) -> None:
    use_embedding_server(embedding_api)
    embedding_api.answer = lambda asked: ODD_ANSWERS[name]
    memory = api.remember(content="tea")
    do_jobs()
    assert all(value is not None for asked in embedding_api.asked for value in asked.body.values())
    told = read_status(api)
    assert (told["embedding"]["available"], told["vectorStore"]["rowCount"]) == (False, 0)
    assert told["embedding"]["reason"]
    assert api.get(f"/api/memory/{memory['id']}").status_code == 200
    for strategy in ("semantic", "hybrid", "adaptive"):
        answer = api.post("/api/memory/retrieve-preview", {"query": "tea", "strategy": strategy}).json()
        assert [item["content"] for item in answer["memories"]] == ["tea"]
        assert answer["resolution"]["fallbackReason"]


def test_rw_056_a_normal_answer_is_stored(api: Api, embedding_api: StubApi) -> None:
    use_embedding_server(embedding_api)
    embedding_api.answer = lambda asked: Reply(NORMAL)
    api.remember(content="tea")
    do_jobs()
    told = read_status(api)
    assert (told["embedding"]["available"], told["embedding"]["dimensions"]) == (True, 2)
    assert told["vectorStore"]["rowCount"] == 1
    assert base.NO_SIGNATURE not in str(told)
