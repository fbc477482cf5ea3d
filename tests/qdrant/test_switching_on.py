"""Switching Qdrant on and off: what is written there, what is searched there, and with which model."""

from typing import Any

import pytest

from memory.models import Memory
from qdrant_admin.models import Collection
from tests.engine import do_jobs
from tests.qdrant.api import Api
from tests.qdrant.standin import QdrantStandIn


def test_rw_047_switching_on_has_everything_written_and_searched_there_and_off_ends_it(
    api: Api, engine: None, qdrant: QdrantStandIn
) -> None:
    api.set_qdrant(enabled=True, **qdrant.address)
    assert api.get("/api/settings/memory")["vectorStore"] == "qdrant"
    memory = api.remember("tea is good")
    do_jobs()
    [created] = [call for call in qdrant.find_calls("PUT", "") if call.path.count("/") == 2]
    assert created.body["vectors"] == {"size": Collection.objects.get().dimensions, "distance": "Cosine"}
    [upsert] = qdrant.find_calls("PUT", "/points")
    [point] = upsert.body["points"]
    told = {name: point["payload"][name] for name in ("memoryId", "apiKeyId", "key", "content", "kind", "type")}
    assert told == {
        "memoryId": memory["id"],
        "apiKeyId": "A",
        "key": "tea is good",
        "content": "tea is good",
        "kind": "omniroute_memory",
        "type": "semantic",
    }
    assert point["id"] == memory["id"]
    preview = api.preview("tea")
    assert [hit["tier"] for hit in preview["memories"]] == ["qdrant"]
    assert (preview["resolution"]["vectorStore"], preview["resolution"]["fallbackReason"]) == ("qdrant", None)
    condition = qdrant.find_calls("POST", "/points/query")[-1].body["filter"]["must"]
    assert {"key": "apiKeyId", "match": {"value": "A"}} in condition

    api.set_qdrant(collection="c2")
    told = api.get("/api/settings/qdrant")
    assert (told["enabled"], told["collection"]) == (True, "c2")
    assert api.get("/api/settings/memory")["vectorStore"] == "qdrant"

    api.set_qdrant(enabled=False)
    assert api.get("/api/settings/memory")["vectorStore"] == "auto"
    asked = len(qdrant.calls)
    api.remember("dogs bark")
    do_jobs()
    assert api.list_found("dogs") != []
    assert len(qdrant.calls) == asked


def test_every_indexed_field_has_its_index_and_the_owner_is_the_tenant(api: Api, switched_on: QdrantStandIn) -> None:
    api.remember("tea")
    do_jobs()
    schemas = {call.body["field_name"]: call.body["field_schema"] for call in switched_on.find_calls("PUT", "/index")}
    assert schemas["apiKeyId"] == {"type": "keyword", "is_tenant": True}
    assert schemas["sessionId"] == schemas["kind"] == {"type": "keyword"}
    assert {schemas[name] for name in ("createdAtUnix", "updatedAtUnix", "expiresAtUnix")} == {"integer"}


@pytest.mark.parametrize(
    ("quantization", "config"),
    [
        ("int8", {"scalar": {"type": "int8", "quantile": 0.99, "always_ram": True}}),
        ("binary", {"binary": {"always_ram": True}}),
    ],
)
def test_a_packed_collection_is_searched_with_rescoring(
    api: Api, engine: None, qdrant: QdrantStandIn, quantization: str, config: Any
) -> None:
    api.set_qdrant(enabled=True, quantization=quantization, **qdrant.address)
    api.remember("tea")
    do_jobs()
    [created] = [call for call in qdrant.find_calls("PUT", "") if call.path.count("/") == 2]
    assert created.body["quantization_config"] == config
    api.preview("tea")
    assert qdrant.find_calls("POST", "/points/query")[-1].body["params"] == {"quantization": {"rescore": True}}
    api.set_qdrant(quantization="none")
    api.remember("dogs")
    do_jobs()
    assert [call.body for call in qdrant.find_calls("PATCH", "")] == [{"quantization_config": "Disabled"}]


def test_memories_from_before_are_written_when_it_is_switched_on_and_what_went_meanwhile_is_deleted(
    api: Api, engine: None, qdrant: QdrantStandIn
) -> None:
    before = [api.remember(f"tea {number}", owner) for number in range(30) for owner in ("A", "B")]
    api.set_qdrant(enabled=True, **qdrant.address)
    assert api.read_status()["qdrant"]["pending"] >= len(before)
    preview = api.preview("tea 3")
    assert preview["resolution"]["vectorStore"] == "sqlite-vec"
    assert preview["resolution"]["fallbackReason"].startswith("Qdrant: ")
    do_jobs()
    status = api.read_status()
    assert (status["qdrant"]["points"], status["qdrant"]["total"], status["qdrant"]["pending"]) == (60, 60, 0)
    assert (status["vectorStore"]["backend"], status["vectorStore"]["rowCount"]) == ("qdrant", 60)
    [name] = qdrant.list_collections()
    assert qdrant.read_points(name).keys() == {memory["id"] for memory in before}

    api.set_qdrant(enabled=False)
    api.send("DELETE", f"/api/memory/{before[0]['id']}")
    added = api.remember("dogs")
    do_jobs()
    api.set_qdrant(enabled=True)
    assert api.preview("tea 3")["resolution"]["vectorStore"] == "sqlite-vec", "it has not caught up"
    do_jobs()
    assert qdrant.read_points(name).keys() == {memory["id"] for memory in [*before[1:], added]}
    assert api.preview("tea 3")["resolution"]["vectorStore"] == "qdrant"


def test_models_to_choose_from_are_sorted_and_hold_the_default_and_those_of_this_machine(
    api: Api, engine: None
) -> None:
    values = [model["value"] for model in api.get("/api/settings/qdrant/embedding-models")["models"]]
    assert values == sorted(values)
    assert {"openai/text-embedding-3-small", "memory", "static/bundled"} <= set(values)


def test_a_model_of_this_machine_can_be_chosen_by_its_name(api: Api, engine: None, qdrant: QdrantStandIn) -> None:
    api.set_qdrant(enabled=True, embeddingModel="static/bundled", **qdrant.address)
    api.remember("tea")
    do_jobs()
    assert Collection.objects.get().signature.startswith("static:bundled@")
    assert api.preview("tea")["resolution"]["embeddingModel"] == "bundled"


def test_a_model_that_can_not_be_used_is_told_with_what_to_do(api: Api, engine: None, qdrant: QdrantStandIn) -> None:
    api.set_qdrant(enabled=True, embeddingModel="mistral/mistral-embed", **qdrant.address)
    api.remember("tea")
    do_jobs()
    status = api.read_status()["qdrant"]
    assert (status["healthy"], status["answering"]) == (True, False)
    assert "mistral" in status["reason"]
    assert status["remedy"]
    assert api.list_found("tea") == ["tea"]
    assert Memory.objects.count() == 1
    assert qdrant.list_collections() == []


@pytest.mark.django_db
def test_a_search_test_is_bounded(api: Api) -> None:
    for body in (
        {"query": ""},
        {"query": "x", "topK": 0},
        {"query": "x", "topK": 51},
        {"topK": 5},
        {"query": "x", "k": 1},
    ):
        assert api.send("POST", "/api/settings/qdrant/search", body).status_code == 400
    answer = api.ask("POST", "/api/settings/qdrant/search", {"query": "x"})
    assert answer == {"ok": False, "latencyMs": 0, "error": "not_configured"}
    assert api.get("/api/settings/qdrant/health") == answer
    assert api.ask("POST", "/api/settings/qdrant/cleanup")["error"] == "not_configured"


def test_a_search_test_gives_twenty_at_most(api: Api, switched_on: QdrantStandIn) -> None:
    for number in range(25):
        api.remember(f"tea {number}", str(number % 3))
    do_jobs()
    found = api.ask("POST", "/api/settings/qdrant/search", {"query": "tea", "topK": 50})
    assert (found["ok"], len(found["results"])) == (True, 20)
    assert {"memoryId", "apiKeyId"} <= found["results"][0]["payload"].keys()
