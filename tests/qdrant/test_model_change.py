"""Another embedding gets another collection beside the one that answers; what was there before us is left alone."""

from datetime import timedelta
from typing import Any

import pytest
import structlog
from django.utils import timezone
from qdrant_client import models

from embeddings.standins import write_standin
from memory import services
from memory.models import Memory
from memory.vector_stores import qdrant_sync
from memory.vector_stores.qdrant_reconciliation import reconcile
from qdrant_admin.models import Collection
from qdrant_admin.points import Server
from tests.embeddings.stub_api import Reply, openai_reply
from tests.engine import do_jobs
from tests.qdrant.api import Api
from tests.qdrant.standin import QdrantStandIn

BUNDLED, TINY = "static/bundled", "memory"


def read_alias(qdrant: QdrantStandIn, alias: str = "omniroute_memory") -> str | None:
    aliases = qdrant.local.get_aliases().aliases
    return next((item.collection_name for item in aliases if item.alias_name == alias), None)


def test_another_model_is_filled_beside_and_swapped_in_when_it_is_whole(
    api: Api, switched_on: QdrantStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        api.remember(f"tea {number}")
    do_jobs()
    [first] = switched_on.list_collections()
    assert read_alias(switched_on) == first
    monkeypatch.setattr(qdrant_sync, "BATCH_CHANGES", 3)
    follow, seen, told = qdrant_sync.follow, [], list[dict[str, Any]]()

    def follow_and_look(settings: Any, collection: Collection, writer: Any) -> int:
        if collection.state == "building":
            written = writer.write([Memory.objects.order_by("memory_id").first().memory_id])
            preview = api.preview("tea")["resolution"]
            seen.append((preview["vectorStore"], preview["fallbackReason"], read_alias(switched_on), written))
            told.append(api.get("/api/memory/engine-status"))
        return follow(settings, collection, writer)

    monkeypatch.setattr(qdrant_sync, "follow", follow_and_look)
    api.set_qdrant(embeddingModel=BUNDLED)
    do_jobs()
    assert seen == [("qdrant", None, first, 1)], "the old one answers while the new one is filled"
    [status] = told
    assert (status["qdrant"]["answering"], status["vectorStore"]["backend"]) == (True, "qdrant")
    old = Collection.objects.get(state="retired")
    assert status["qdrant"]["reason"].endswith(f"are left; that for {old.signature} answers meanwhile")
    active, retired = Collection.objects.get(state="active"), Collection.objects.get(state="retired")
    assert (read_alias(switched_on), retired.name) == (active.name, first)
    assert set(switched_on.list_collections()) == {first, active.name}
    assert len(switched_on.read_points(active.name)) == 8
    assert api.preview("tea")["resolution"]["embeddingModel"] == "bundled"

    late = api.remember("tea late")
    do_jobs()
    assert late["id"] not in switched_on.read_points(first)
    api.set_qdrant(embeddingModel=TINY)
    upserts = len(switched_on.find_calls("PUT", "/points"))
    do_jobs()
    assert read_alias(switched_on) == first
    sent = [point["id"] for call in switched_on.find_calls("PUT", "/points")[upserts:] for point in call.body["points"]]
    assert sent == [late["id"]], "the way back needs only what has changed since"


def test_a_replaced_collection_is_deleted_after_a_week_and_no_sooner(api: Api, switched_on: QdrantStandIn) -> None:
    api.remember("tea")
    do_jobs()
    api.set_qdrant(embeddingModel=BUNDLED)
    do_jobs()
    reconcile()
    assert len(switched_on.list_collections()) == 2
    Collection.objects.filter(state="retired").update(state_since=timezone.now() - timedelta(days=8))
    reconcile()
    assert switched_on.list_collections() == [Collection.objects.get().name]


@pytest.mark.parametrize("points", [0, 1])
@pytest.mark.parametrize("is_named", [False, True])
def test_rw_051_a_collection_of_another_width_is_left_untouched_and_told(
    api: Api, engine: None, qdrant: QdrantStandIn, points: int, is_named: bool
) -> None:
    params = models.VectorParams(size=8, distance=models.Distance.COSINE)
    qdrant.local.create_collection("omniroute_memory", vectors_config={"text": params} if is_named else params)
    vector: Any = {"text": [1.0] * 8} if is_named else [1.0] * 8
    ids = ["5f0c1bd6-0000-4000-8000-000000000001"][:points]
    qdrant.local.upsert(
        "omniroute_memory",
        [models.PointStruct(id=i, vector=vector, payload={}) for i in ids]
        or [models.PointStruct(id=1, vector=vector, payload={})],
    )
    if not points:
        qdrant.local.delete("omniroute_memory", [1])
    api.set_qdrant(enabled=True, **qdrant.address)
    with structlog.testing.capture_logs() as logs:
        api.remember("tea one")
        do_jobs()
        api.remember("tea two")
        do_jobs()
        preview = api.preview("tea")
    width = Collection.objects.get().dimensions
    assert {memory["content"] for memory in preview["memories"]} == {"tea one", "tea two"}
    reason = preview["resolution"]["fallbackReason"]
    health, status = api.get("/api/settings/qdrant/health"), api.read_status()["qdrant"]
    warnings = [log["reason"] for log in logs if log["event"] == "qdrant.not_written"]
    for told in (reason, health["error"], status["reason"], *warnings):
        assert "8 dimensions" in told
        assert f"{width} dimensions" in told
    assert 1 <= len(warnings) <= 2
    assert (health["ok"], health["collection"]["dimensions"], health["collection"]["expectedDimensions"]) == (
        False,
        8,
        width,
    )
    assert status["remedy"]
    assert qdrant.list_collections() == ["omniroute_memory"]
    assert len(qdrant.read_points("omniroute_memory")) == points
    assert not [call for call in qdrant.calls if call.method in ("DELETE", "PATCH")]

    api.set_qdrant(collection="ours")
    do_jobs()
    assert api.preview("tea")["resolution"]["vectorStore"] == "qdrant"
    assert read_alias(qdrant, "ours") in qdrant.list_collections()


@pytest.mark.parametrize("vector_name", ["", "text"])
def test_a_collection_that_fits_is_used_as_it_is_and_never_dropped(
    api: Api, engine: None, qdrant: QdrantStandIn, vector_name: str
) -> None:
    api.remember("tea")
    width = 4
    params = models.VectorParams(size=width, distance=models.Distance.COSINE)
    qdrant.local.create_collection("omniroute_memory", {vector_name: params} if vector_name else params)
    foreign = {"id": "5f0c1bd6-0000-4000-8000-000000000001", "payload": {"kind": "omniroute_memory"}}
    vector: Any = {vector_name: [1.0] * width} if vector_name else [1.0] * width
    qdrant.local.upsert("omniroute_memory", [models.PointStruct(**foreign, vector=vector)])
    api.set_qdrant(enabled=True, **qdrant.address)
    do_jobs()
    assert qdrant.list_collections() == ["omniroute_memory"]
    assert api.preview("tea")["resolution"]["vectorStore"] == "qdrant"
    assert reconcile().unknown == 0, "a point from before us is not ours to delete"
    assert foreign["id"] in qdrant.read_points("omniroute_memory")

    api.set_qdrant(embeddingModel=BUNDLED)
    do_jobs()
    assert qdrant.list_collections() == ["omniroute_memory"]
    reason = api.preview("tea")["resolution"]["fallbackReason"]
    assert "was there before us" in reason
    api.set_qdrant(embeddingModel=TINY)
    do_jobs()
    assert api.preview("tea")["resolution"]["vectorStore"] == "qdrant"


def test_a_model_whose_width_is_not_known_shows_it_with_its_first_vector(
    api: Api, engine: None, qdrant: QdrantStandIn, embedding_api: Any
) -> None:
    embedding_api.answer = lambda asked: Reply(openai_reply(asked.texts, 12))
    services.change_settings({"embeddingSource": "remote", "customBaseUrl": embedding_api.url, "customModelId": "m"})
    api.set_qdrant(enabled=True, embeddingModel="memory", **qdrant.address)
    api.remember("tea")
    do_jobs()
    assert Collection.objects.get().dimensions == 12
    assert api.preview("tea")["resolution"]["vectorStore"] == "qdrant"


def test_points_that_are_missing_and_points_of_nobody_are_both_mended(api: Api, switched_on: QdrantStandIn) -> None:
    memories = [api.remember(f"tea {number}") for number in range(6)]
    do_jobs()
    [name] = switched_on.list_collections()
    local, unknown = switched_on.local, "5f0c1bd6-0000-4000-8000-000000000001"
    local.delete(name, [memories[0]["id"], memories[1]["id"]])
    width = Collection.objects.get().dimensions
    local.upsert(name, [models.PointStruct(id=unknown, vector=[1.0] * width, payload={"kind": "omniroute_memory"})])
    elsewhere = "5f0c1bd6-0000-4000-8000-000000000002"
    payload = {"kind": "omniroute_memory", "installation": "another"}
    local.upsert(name, [models.PointStruct(id=elsewhere, vector=[1.0] * width, payload=payload)])
    report = reconcile()
    assert (report.checked, report.missing, report.unknown, report.reason) == (6, 2, 1, None)
    assert switched_on.read_points(name).keys() == {memory["id"] for memory in memories} | {elsewhere}
    assert reconcile().missing == 0


def test_a_reindex_covers_qdrant_and_a_forced_one_makes_every_vector_anew(api: Api, switched_on: QdrantStandIn) -> None:
    memories = {api.remember(f"tea {number}")["id"] for number in range(4)}
    do_jobs()
    [name] = switched_on.list_collections()
    switched_on.local.delete(name, list(memories)[:1])
    assert api.ask("POST", "/api/memory/reindex")["qdrant"] == {"pending": 0}
    do_jobs()
    assert switched_on.read_points(name).keys() == memories
    upserts = len(switched_on.find_calls("PUT", "/points"))
    assert api.ask("POST", "/api/memory/reindex", {"force": True})["qdrant"] == {"pending": 4}
    do_jobs()
    calls = switched_on.find_calls("PUT", "/points")[upserts:]
    assert {point["id"] for call in calls for point in call.body["points"]} == memories
    assert api.read_status()["qdrant"]["pending"] == 0


def test_a_worker_that_comes_late_with_an_old_batch_has_it_written_anew(
    api: Api, switched_on: QdrantStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = api.remember("tea")
    do_jobs()
    upsert, is_late = Server.upsert, [True]

    def come_late(self: Server, name: str, vector_name: str, points: Any) -> None:
        if is_late.pop() if is_late else False:
            # Meanwhile the text changes, and another worker writes it and moves the cursor on.
            api.ask("PUT", f"/api/memory/{memory['id']}", {"content": "cats"})
            qdrant_sync.sync()
        upsert(self, name, vector_name, points)

    monkeypatch.setattr(Server, "upsert", come_late)
    api.ask("PUT", f"/api/memory/{memory['id']}", {"content": "dogs"})
    qdrant_sync.sync()
    qdrant_sync.sync()
    [name] = switched_on.list_collections()
    assert switched_on.read_points(name)[memory["id"]]["content"] == "cats"


def test_a_memory_deleted_while_its_point_is_on_its_way_does_not_stay(
    api: Api, switched_on: QdrantStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    upsert = Server.upsert

    def delete_first(self: Server, name: str, vector_name: str, points: Any) -> None:
        for point in points:
            api.send("DELETE", f"/api/memory/{point.id}")
        upsert(self, name, vector_name, points)

    monkeypatch.setattr(Server, "upsert", delete_first)
    api.remember("tea")
    qdrant_sync.sync()
    [name] = switched_on.list_collections()
    assert switched_on.read_points(name) == {}


def test_a_standin_of_the_static_model_is_another_embedding(
    api: Api, switched_on: QdrantStandIn, settings: Any
) -> None:
    api.remember("tea")
    do_jobs()
    before = Collection.objects.get().signature
    write_standin(settings.MEMORY_STATIC_MODEL, "for the test")
    api.remember("cats")
    do_jobs()
    assert Collection.objects.get(state="active").signature != before
    assert len(api.list_found("tea")) == 2
