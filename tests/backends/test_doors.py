"""Everything that people and clients do, with memories that are kept by another backend than SQLite."""

from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from core.jobs import runner
from memory import health, queue, services
from memory.backends import connection as backend_connection
from memory.backends.base import MemoryChanges
from memory.backends.erasure import BackendsEraser
from memory.config import load_settings
from memory.models import Memory
from memory.records import EraseScope, MemoryDraft, MemoryFilter
from memory.retrieval import retrieve_for_chat
from tests.backends import obsidian_vault
from tests.backends.obsidian_vault import ObsidianVault
from tests.backends.rest_service import PREFIX, RestService
from tests.backends.routing import register, use
from tests.rest.rest_api import MANAGEMENT_KEY, Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def api(settings: Any, fresh_engine: None) -> Api:
    settings.OMNIROUTE_API_KEY = MANAGEMENT_KEY
    return Api(MANAGEMENT_KEY)


@pytest.fixture
def primary(api: Api, vault: ObsidianVault) -> ObsidianVault:
    """Obsidian keeps the memories, as an operator would set it up."""
    config = {"baseUrl": vault.url, "apiKey": obsidian_vault.KEY}
    answer = api.put(
        "/api/settings/memory",
        {"primaryBackend": "obsidian", "backendConfigs": {"obsidian": config}, "enabled": True},
    )
    assert answer.status_code == 200, answer.content
    return vault


def test_the_rest_api_works_on_it(api: Api, primary: ObsidianVault) -> None:
    memory = api.remember(apiKeyId="A", key="tea", content="I prefer green tea", metadata={"a": 1})
    assert api.get(f"/api/memory/{memory['id']}").json() == {"memory": memory}
    assert api.put(f"/api/memory/{memory['id']}", {"content": "I prefer black tea"}).status_code == 200
    for key in "abc":
        api.remember(apiKeyId="A", key=key, content="other")
    page = api.get("/api/memory", {"apiKeyId": "A", "limit": 2, "q": "other"}).json()
    assert (page["total"], [it["key"] for it in page["data"]]) == (3, ["c", "b"])
    assert page["stats"]["tokensUsed"] == 5 + 3 * 2
    assert api.delete(f"/api/memory/{memory['id']}").status_code == 200
    assert api.get(f"/api/memory/{memory['id']}").status_code == 404
    assert api.put(f"/api/memory/{memory['id']}", {"content": "x"}).status_code == 404
    assert (len(primary.files), Memory.objects.count()) == (3, 0)


def test_a_preview_tells_what_it_found_and_what_it_did_not(api: Api, primary: ObsidianVault) -> None:
    tea = api.remember(apiKeyId="A", key="tea", content="I prefer green tea")
    teas = api.remember(apiKeyId="A", key="teas", content="Green tea in the morning")
    other = api.remember(apiKeyId="A", key="editor", content="Uses Vim")
    theirs = api.remember(apiKeyId="B", key="tea", content="green tea of another key")
    body = {"query": "green tea", "apiKeyId": "A"}
    preview = api.post("/api/memory/retrieve-preview", body).json()
    assert {it["id"] for it in preview["memories"]} == {tea["id"], teas["id"]}
    assert {it["tier"] for it in preview["memories"]} == {"backend"}
    assert preview["resolution"]["fallbackReason"] == "Obsidian Vault has no vectors (ranked by keywords)"
    verdicts = {}
    for memory in (tea, other, theirs, {"id": "00000000-0000-4000-8000-000000000000"}):
        told = api.post("/api/memory/retrieve-preview", {**body, "explainMemoryId": memory["id"]}).json()
        verdicts[memory["id"]] = told["explanation"]["verdict"]
    assert list(verdicts.values()) == ["chosen", "not_matched", "other_owner", "not_stored"]


def test_facts_are_taken_out_of_chats_and_found_by_the_next(primary: ObsidianVault, api: Api) -> None:
    for said in ("I prefer green tea.", "I prefer green tea."):
        queue.enqueue_extraction(
            owner="A", session_id="s", user_text=said, assistant_text="", injected=[], said_at=timezone.now()
        )
    runner.run_waiting_jobs()
    [file] = primary.files.values()
    assert "green tea" in file.text
    retrieval = retrieve_for_chat("A", "which tea?", load_settings())
    assert [item.hit.record.session_id for item in retrieval.chosen] == ["s"]
    assert retrieve_for_chat("B", "which tea?", load_settings()).chosen == []


def test_jobs_of_the_index_find_nothing_to_do(primary: ObsidianVault, api: Api) -> None:
    services.change_settings({"embeddingSource": "static", "staticEnabled": True})
    api.remember(apiKeyId="A", key="tea", content="green tea")
    assert api.post("/api/memory/reindex", {"force": True}).status_code == 200
    runner.run_waiting_jobs()
    assert api.get("/api/memory/engine-status").json()["vectorStore"]["needsReindex"] == 0


def test_the_self_test_leaves_nothing_behind(primary: ObsidianVault, api: Api) -> None:
    assert api.get("/api/memory/health").json()["working"] is True
    assert primary.files == {}
    primary.is_down = True
    assert api.get("/api/memory/health").json()["working"] is False
    assert health.verify_pipeline().error is not None


def test_a_dead_backend_is_a_502_with_a_reason(primary: ObsidianVault, api: Api) -> None:
    memory = api.remember(apiKeyId="A", key="tea", content="green tea")
    primary.is_down = True
    for answer in (
        api.get("/api/memory"),
        api.get(f"/api/memory/{memory['id']}"),
        api.post("/api/memory", {"key": "k", "content": "c"}),
        api.put(f"/api/memory/{memory['id']}", {"content": "x"}),
        api.delete(f"/api/memory/{memory['id']}"),
    ):
        assert (answer.status_code, answer.json()["error"]["message"]) == (502, "Obsidian answered HTTP 503")
        assert answer.json()["error"]["code"] == "backend_bad_status"
    preview = api.post("/api/memory/retrieve-preview", {"query": "tea"})
    assert (preview.status_code, preview.json()["memories"]) == (200, [])
    assert preview.json()["resolution"]["fallbackReason"] == "Obsidian answered HTTP 503"


def test_a_chat_waits_briefly_for_a_slow_backend_and_not_every_time(
    primary: ObsidianVault, api: Api, settings: Any
) -> None:
    settings.BACKEND_CHAT_TIMEOUT_SECONDS = 0.1
    api.remember(apiKeyId="A", key="tea", content="green tea")
    primary.delay_seconds = 5
    primary.seen.clear()
    outcomes = [retrieve_for_chat("A", "tea", load_settings()) for _ in range(20)]
    assert len(primary.seen) == 1
    assert [len(it.chosen) for it in outcomes] == [0] * 20
    assert outcomes[0].outcome.fallback_reason == "Obsidian did not answer in time"
    assert "is left alone" in (outcomes[1].outcome.fallback_reason or "")
    primary.delay_seconds = 0
    assert api.post("/api/memory/retrieve-preview", {"query": "tea"}).json()["memories"]


def test_a_fallback_answers_for_a_dead_primary(primary: ObsidianVault, api: Api) -> None:
    use("obsidian", "sqlite")
    memory = api.remember(apiKeyId="A", key="tea", content="green tea")
    call_command("memory_backends", copy_from="obsidian", to="sqlite", verbosity=0)
    api.put(f"/api/memory/{memory['id']}", {"content": "black tea"})
    runner.run_waiting_jobs()
    primary.is_down = True
    preview = api.post("/api/memory/retrieve-preview", {"query": "tea", "apiKeyId": "A"}).json()
    assert [it["content"] for it in preview["memories"]] == ["black tea"]
    assert "SQLite answered instead" in preview["resolution"]["fallbackReason"]


@pytest.mark.django_db(transaction=True)
def test_no_request_is_sent_while_a_transaction_is_open(
    vault: ObsidianVault, fresh_engine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent, send = [], backend_connection.send

    def watch(*args: Any, **options: Any) -> Any:
        sent.append(transaction.get_connection().in_atomic_block)
        return send(*args, **options)

    monkeypatch.setattr(backend_connection, "send", watch)
    services.change_settings({"backendConfigs": {"obsidian": {"baseUrl": vault.url, "apiKey": obsidian_vault.KEY}}})
    register("copy")
    use("obsidian", "copy", "sqlite")
    record = services.create(MemoryDraft("A", "tea", "green tea", metadata={"source": "user_message"}))
    services.create(MemoryDraft("A", "tea", "black tea"))
    services.update(record.id, MemoryChanges(content="white tea"))
    runner.run_waiting_jobs()
    services.delete(record.id)
    services.clear(MemoryFilter("A"))
    assert health.verify_pipeline().is_working
    runner.run_waiting_jobs()
    assert len(sent) > 20
    assert not any(sent)


def test_an_erasure_reaches_every_backend_that_was_configured(
    primary: ObsidianVault, api: Api, service: RestService
) -> None:
    services.change_settings(
        {"backendConfigs": {"generic": {"baseUrl": f"{service.url}{PREFIX}"}, "obsidian": {
            "baseUrl": primary.url, "apiKey": obsidian_vault.KEY}}}
    )  # fmt: skip
    for owner, session in (("A", "s"), ("A", "t"), ("B", "s")):
        api.remember(apiKeyId=owner, key=session, content="tea", sessionId=session)
    call_command("memory_backends", copy_from="obsidian", to="generic", verbosity=0)
    eraser = BackendsEraser()
    assert eraser.count(EraseScope("A", "s")) == 2
    assert eraser.erase(EraseScope("A", "s")) == 2
    assert (eraser.count(EraseScope("A")), eraser.count(EraseScope("B"))) == (2, 2)
    assert eraser.erase(EraseScope("A")) == 2
    assert (len(primary.files), len(service.memories)) == (1, 1)
    service.is_down = True
    with pytest.raises(Exception, match="HTTP 503"):
        eraser.erase(EraseScope("B"))
