"""Nobody gets another key's memory, or one that may not be used, whatever Qdrant returns."""

from datetime import timedelta
from typing import Any

import pytest
import structlog
from django.utils import timezone
from qdrant_client import models

from core.accounts.keys import Caller
from memory import retrieval, services
from memory.config import load_settings
from memory.mcp.tools import call_tool
from memory.models import Memory
from memory.records import EraseScope
from memory.vector_stores.qdrant_erasing import QdrantEraser
from qdrant_admin.models import Collection
from tests.engine import do_jobs
from tests.qdrant.api import Api
from tests.qdrant.standin import QdrantStandIn, refuse, stray

STRATEGIES = ("semantic", "hybrid", "adaptive", "exact")


def delete_with_sql(memory: dict[str, Any]) -> None:
    Memory.objects.filter(uuid=memory["id"])._raw_delete("default")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rw_046_a_stub_that_returns_every_id_gives_only_what_may_be_used(
    api: Api, switched_on: QdrantStandIn, strategy: str
) -> None:
    now = timezone.now()
    memories = {
        "R1": api.remember("tea R1"),
        "R2": api.remember("tea R2"),
        "R3": api.remember("tea R3"),
        "R4": api.remember("tea R4", sessionId="s2"),
        "R5": api.remember("tea R5"),
        "R6": api.remember("tea R6"),
        "B": api.remember("tea B", "B"),
    }
    do_jobs()
    Memory.objects.filter(uuid=memories["R2"]["id"]).update(expires_at=now - timedelta(minutes=1))
    Memory.objects.filter(uuid=memories["R3"]["id"]).update(updated_at=now - timedelta(days=400))
    api.send("DELETE", f"/api/memory/{memories['R5']['id']}")
    delete_with_sql(memories["R6"])
    switched_on.strays = [stray(memory["id"]) for memory in reversed(memories.values())]
    assert sorted(api.list_found("tea", strategy)) == ["tea R1", "tea R4"]
    assert sorted(api.list_found("tea", strategy, sessionId="s2")) == ["tea R4"]
    assert api.list_found("tea", strategy, limit=1) in (["tea R1"], ["tea R4"])
    assert api.list_found("tea", strategy, "B") == ["tea B"]
    services.change_settings({"strategy": strategy if strategy != "exact" else "recent"})
    chat = retrieval.retrieve_for_chat("A", "tea", load_settings())
    assert sorted(item.line for item in chat.chosen) == ["tea R1", "tea R4"]


@pytest.mark.parametrize("strategy", STRATEGIES[:3])
def test_rw_076_forged_owners_give_nothing(api: Api, switched_on: QdrantStandIn, strategy: str) -> None:
    for owner, code in (("A", 1111), ("B", 2222)):
        api.remember(f"tea locker code {code}", owner, key="code", sessionId="s")
    do_jobs()
    assert api.list_found("tea", strategy) == ["tea locker code 1111"]
    assert api.list_found("tea", strategy, "B", sessionId="s") == ["tea locker code 2222"]
    for forged in ("A ", "a", "%", "*", "A' OR '1'='1", "__proto__"):
        assert api.list_found("tea", strategy, forged) == []
    assert len(api.list_found("tea", strategy, "")) == 2, "all keys, for management only"
    refused = api.send("POST", "/api/memory/retrieve-preview", {"query": "tea", "apiKeyId": ["A", "B"]})
    assert refused.status_code == 400
    for owner in ("A", "B"):
        tool = call_tool(Caller(owner, "test", frozenset({"read:memory"})), "omniroute_memory_search", {"query": "tea"})
        assert {memory["apiKeyId"] for memory in tool["data"]["memories"]} == {owner}
        chat = retrieval.retrieve_for_chat(owner, "tea", load_settings())
        assert {item.hit.record.owner for item in chat.chosen} == {owner}


def test_a_point_whose_payload_lies_about_its_owner_gives_nobody_anything(api: Api, switched_on: QdrantStandIn) -> None:
    api.remember("tea of A")
    theirs = api.remember("tea of B", "B")
    do_jobs()
    [name] = switched_on.list_collections()
    switched_on.local.set_payload(name, {"apiKeyId": "A"}, points=[theirs["id"]])
    for strategy in STRATEGIES[:3]:
        assert api.list_found("tea", strategy) == ["tea of A"]


def test_many_points_that_may_not_be_used_take_no_places(api: Api, switched_on: QdrantStandIn) -> None:
    gone = [api.remember(f"tea {number}") for number in range(60)]
    wanted = api.remember("cats")
    do_jobs()
    for memory in gone:
        delete_with_sql(memory)
    assert api.list_found("tea", limit=1) == ["cats"]
    assert api.preview("tea")["memories"][0]["id"] == wanted["id"]


def test_rw_050_deleted_memories_leave_qdrant_and_are_never_given_again(
    api: Api, switched_on: QdrantStandIn, try_again: Any
) -> None:
    r1, r3, r4 = (api.remember(f"tea R{number}") for number in (1, 3, 4))
    r2 = api.remember("tea R2", type="episodic")
    kept = api.remember("tea kept")
    do_jobs()
    [upsert, *_] = switched_on.find_calls("PUT", "/points")
    assert {point["id"] for point in upsert.body["points"]} >= {r1["id"]}
    api.send("DELETE", f"/api/memory/{r1['id']}")
    agent = Caller("A", "test", frozenset({"write:memory"}))
    assert call_tool(agent, "omniroute_memory_clear", {"type": "episodic"})["data"]["deletedCount"] == 1
    delete_with_sql(r3)
    switched_on.strays = [stray(memory["id"]) for memory in (r1, r2, r3, r4)]
    do_jobs()
    deleted = {point for call in switched_on.find_calls("POST", "/points/delete") for point in call.body["points"]}
    assert deleted == {r1["id"], r2["id"], r3["id"]}

    switched_on.faults_by_path["/points/delete"] = refuse(500)
    with structlog.testing.capture_logs() as logs:
        assert api.send("DELETE", f"/api/memory/{r4['id']}").status_code == 200
        do_jobs()
    assert "qdrant.not_written" in [log["event"] for log in logs if log["log_level"] == "warning"]
    for strategy in STRATEGIES:
        assert api.list_found("tea", strategy) == ["tea kept"]
    switched_on.faults_by_path.clear()
    try_again()
    [name] = switched_on.list_collections()
    assert switched_on.read_points(name).keys() == {kept["id"]}


def test_rw_050_cleaning_up_counts_and_removes_what_is_old_and_nothing_else(
    api: Api, switched_on: QdrantStandIn
) -> None:
    now = timezone.now()
    expired = api.remember("tea expired", expiresAt=(now + timedelta(days=3)).isoformat())
    stale, fresh = api.remember("tea stale"), api.remember("tea fresh")
    lasting = api.remember("tea lasting", expiresAt=(now + timedelta(days=3)).isoformat())
    do_jobs()
    [name] = switched_on.list_collections()
    local = switched_on.local
    old = int((now - timedelta(days=31)).timestamp())
    local.set_payload(name, {"expiresAtUnix": old}, points=[expired["id"]])
    local.set_payload(name, {"updatedAtUnix": old, "createdAtUnix": old}, points=[stale["id"]])
    # Said again lately: it counts as new, however long ago it was first said.
    local.set_payload(name, {"createdAtUnix": old}, points=[fresh["id"]])
    foreign = "5f0c1bd6-0000-4000-8000-000000000001"
    vector = [1.0] * Collection.objects.get().dimensions
    payload = {"kind": "omniroute_memory", "installation": "another", "updatedAtUnix": old}
    local.upsert(name, [models.PointStruct(id=foreign, vector=vector, payload=payload)])
    answer = api.ask("POST", "/api/settings/qdrant/cleanup")
    assert (answer["ok"], answer["deletedCount"], answer["retentionDays"]) == (True, 2, 30)
    assert switched_on.read_points(name).keys() == {fresh["id"], lasting["id"], foreign}
    assert api.ask("POST", "/api/settings/qdrant/cleanup")["deletedCount"] == 0
    assert Memory.objects.count() == 4


def test_a_memory_that_is_said_again_gets_its_date_without_being_embedded_again(
    api: Api, switched_on: QdrantStandIn
) -> None:
    first = api.remember("tea", metadata={"a": 1})
    do_jobs()
    [name] = switched_on.list_collections()
    before = switched_on.read_points(name)[first["id"]]
    upserts = switched_on.count_calls("PUT", "/points")
    api.remember("tea", metadata={"b": 2}, expiresAt="2099-01-01T00:00:00Z")
    do_jobs()
    after = switched_on.read_points(name)[first["id"]]
    assert after["metadata"] == {"a": 1, "b": 2}
    assert (before["expiresAtUnix"], after["expiresAtUnix"]) == (None, 4070908800)
    assert switched_on.count_calls("PUT", "/points") == upserts
    assert switched_on.count_calls("POST", "/points/batch") == 1


def test_erasing_a_session_or_a_key_leaves_nothing_of_it(api: Api, switched_on: QdrantStandIn) -> None:
    api.remember("tea 1", sessionId="s1")
    other_session = api.remember("tea 2", sessionId="s2")
    theirs = api.remember("tea 3", "B", sessionId="s1")
    do_jobs()
    [name] = switched_on.list_collections()
    eraser = QdrantEraser()
    assert (eraser.count(EraseScope("A")), eraser.count(EraseScope("A", "s1"))) == (2, 1)
    assert eraser.erase(EraseScope("A", "s1")) == 1
    assert switched_on.read_points(name).keys() == {other_session["id"], theirs["id"]}
    api.set_qdrant(enabled=False)
    assert eraser.erase(EraseScope("A")) == 1, "what was written stays there when it is switched off, till erased"
    assert switched_on.read_points(name).keys() == {theirs["id"]}


def test_erasing_says_when_qdrant_can_not_be_asked(api: Api, switched_on: QdrantStandIn) -> None:
    from core.errors import UpstreamError

    api.remember("tea")
    do_jobs()
    switched_on.stop()
    with pytest.raises(UpstreamError, match="Qdrant could not be reached"):
        QdrantEraser().erase(EraseScope("A"))


def test_erasing_leaves_what_another_installation_has_marked_as_its_own(api: Api, switched_on: QdrantStandIn) -> None:
    """The key of the environment has the same id everywhere, and a collection may be shared."""
    api.remember("tea", "env")
    theirs = api.remember("cats", "env")
    do_jobs()
    [name] = switched_on.list_collections()
    switched_on.local.set_payload(name, {"installation": "another"}, points=[theirs["id"]])
    assert QdrantEraser().count(EraseScope("env")) == 1
    assert QdrantEraser().erase(EraseScope("env")) == 1
    assert switched_on.read_points(name).keys() == {theirs["id"]}
