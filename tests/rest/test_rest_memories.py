"""Storing, reading, changing and deleting single memories over HTTP."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone
from rest_api import MANAGEMENT_KEY, Api, fields_of

from memory import services
from memory.models import Memory

pytestmark = pytest.mark.django_db

MEMORY_FIELDS = {
    "id", "apiKeyId", "sessionId", "type", "key", "content", "metadata", "createdAt", "updatedAt", "expiresAt",
}  # fmt: skip


def test_a_stored_memory_is_told_and_read_back(api: Api) -> None:
    body = {
        "key": "k1",
        "content": "Ačiū 😀",
        "type": "episodic",
        "apiKeyId": "kA",
        "sessionId": "s1",
        "metadata": {"a": [1, None, {"b": 2.5}]},
        "expiresAt": "2031-06-01T00:30:00+09:00",
    }
    answer = api.post("/api/memory", body)
    assert answer.status_code == 200
    told = answer.json()
    assert told["success"] is True
    assert str(uuid.UUID(told["id"])) == told["id"] == told["memory"]["id"]
    assert told["memory"].keys() == MEMORY_FIELDS
    assert told["memory"] | body | {"expiresAt": "2031-05-31T15:30:00.000Z"} == told["memory"]
    assert api.get(f"/api/memory/{told['id']}").json() == {"memory": told["memory"]}
    assert api.get(f"/api/memory/{told['id'].upper()}").status_code == 200


def test_what_is_left_out_has_its_default(api: Api) -> None:
    memory = api.remember()
    assert (memory["type"], memory["sessionId"], memory["apiKeyId"]) == ("factual", "", "")
    assert (memory["metadata"], memory["expiresAt"]) == ({}, None)


def test_times_are_utc_with_milliseconds(api: Api) -> None:
    memory = api.remember()
    created = timezone.datetime.strptime(memory["createdAt"], "%Y-%m-%dT%H:%M:%S.%f%z")
    assert len(memory["createdAt"]) == len("2026-11-30T11:36:13.755Z")
    assert abs((timezone.now() - created).total_seconds()) < 60


def test_the_same_key_updates_and_merges_metadata(api: Api) -> None:
    first = api.remember(apiKeyId="A", metadata={"a": 1, "b": 1}, sessionId="s", type="semantic")
    second = api.remember(apiKeyId="A", metadata={"b": 2}, content="new", expiresAt="2031-06-01")
    assert (second["id"], second["createdAt"]) == (first["id"], first["createdAt"])
    assert second["metadata"] == {"a": 1, "b": 2}
    assert (second["content"], second["sessionId"], second["type"]) == ("new", "", "factual")
    assert second["expiresAt"] == "2031-06-01T00:00:00.000Z"
    assert api.remember(apiKeyId="B")["id"] != first["id"]
    assert Memory.objects.count() == 2


def test_a_memory_as_we_tell_it_can_be_sent_back(api: Api) -> None:
    memory = api.remember(metadata={"a": 1}, expiresAt="2031-06-01")
    again = api.post("/api/memory", {**memory, "accessCount": 3, "lastAccessedAt": None, "id": "something else"})
    assert again.status_code == 200
    assert again.json()["memory"] | {"updatedAt": ""} == memory | {"updatedAt": ""}


def test_a_memory_that_is_not_there_yet_is_found_as_soon_as_it_is(api: Api) -> None:
    wanted = str(uuid.uuid4())
    assert api.get(f"/api/memory/{wanted}").status_code == 404
    Memory.objects.create(uuid=wanted, type="factual", content="came by import")
    assert api.get(f"/api/memory/{wanted}").status_code == 200


def test_the_longest_allowed_values_are_stored(api: Api) -> None:
    metadata = {"a": "x" * (64 * 1024 - len('{"a":""}'))}
    memory = api.remember(
        key="k" * 512, content="c" * 100_000, sessionId="s" * 256, apiKeyId="o" * 256, metadata=metadata
    )
    assert len(memory["content"]) == 100_000


def test_rw_060_an_empty_change_is_accepted_and_changes_nothing(api: Api) -> None:
    before = api.remember()
    for body in ({}, b""):
        answer = api.put(f"/api/memory/{before['id']}", body)
        assert (answer.status_code, answer.json()) == (200, {"success": True})
    assert api.get(f"/api/memory/{before['id']}").json()["memory"] == before


def test_a_change_sets_what_it_names_and_replaces_metadata(api: Api) -> None:
    before = api.remember(metadata={"a": 1}, sessionId="s", apiKeyId="A", expiresAt="2031-06-01")
    answer = api.put(f"/api/memory/{before['id']}", {"type": "semantic", "content": "new", "metadata": {"b": 2}})
    assert (answer.status_code, answer.json()) == (200, {"success": True})
    after = api.get(f"/api/memory/{before['id']}").json()["memory"]
    assert after.pop("updatedAt") > before.pop("updatedAt")
    assert after == before | {"type": "semantic", "content": "new", "metadata": {"b": 2}}


def test_rw_060_a_key_that_the_owner_has_elsewhere_is_a_conflict(api: Api) -> None:
    api.remember(key="taken", apiKeyId="A")
    mine = api.remember(key="mine", apiKeyId="A")
    strangers = api.remember(key="mine", apiKeyId="B")
    answer = api.put(f"/api/memory/{mine['id']}", {"key": "taken"})
    assert answer.status_code == 409
    assert (answer.json()["error"]["code"], answer.json()["error"]["param"]) == ("conflict", "key")
    assert api.get(f"/api/memory/{mine['id']}").json()["memory"] == mine
    assert api.put(f"/api/memory/{strangers['id']}", {"key": "taken"}).status_code == 200
    assert api.put(f"/api/memory/{mine['id']}", {"key": "mine"}).status_code == 200


UNKNOWN_IDS = [
    "not-a-uuid",
    "4f1c9a52-5f0e-4b57-9a27-0d6a1f2f3e11",
    "../x",
    "..%2Fx",
    "%00",
    "1",
    "x" * 5000,
    "{4f1c9a52-5f0e-4b57-9a27-0d6a1f2f3e11}",
]


@pytest.mark.parametrize("memory_id", UNKNOWN_IDS)
@pytest.mark.parametrize("verb", ["GET", "PUT", "DELETE"])
def test_rw_060_an_unknown_id_is_a_404(api: Api, verb: str, memory_id: str) -> None:
    answer = api.send(verb, f"/api/memory/{memory_id}", {} if verb == "PUT" else b"")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


@pytest.mark.parametrize("verb", ["GET", "PUT", "DELETE"])
def test_rw_060_a_trailing_slash_is_another_path(api: Api, verb: str) -> None:
    memory = api.remember()
    for route in (f"/api/memory/{memory['id']}/", "/api/memory/"):
        answer = api.send(verb, route, {} if verb == "PUT" else b"")
        assert (answer.status_code, answer["content-type"]) == (404, "application/json")
    assert Memory.objects.count() == 1


def test_rw_060_a_second_delete_is_a_404(api: Api) -> None:
    memory = api.remember()
    first, second = (api.delete(f"/api/memory/{memory['id']}") for _ in range(2))
    assert (first.status_code, first.json()) == (200, {"success": True})
    assert second.status_code == 404
    assert api.get(f"/api/memory/{memory['id']}").status_code == 404


@pytest.mark.parametrize(
    ("verb", "route", "allowed"),
    [
        ("DELETE", "/api/memory", "GET, POST, HEAD"),
        ("PATCH", "/api/memory/not-a-uuid", "GET, PUT, DELETE, HEAD"),
        ("POST", "/api/memory/health", "GET, HEAD"),
        ("GET", "/api/memory/retrieve-preview", "POST"),
        ("POST", "/api/settings/memory", "GET, PUT, HEAD"),
        ("OPTIONS", "/api/memory", "GET, POST, HEAD"),
    ],
)
def test_a_verb_that_is_not_offered_is_a_405_with_those_that_are(api: Api, verb: str, route: str, allowed: str) -> None:
    answer = api.send(verb, route)
    assert answer.status_code == 405
    assert answer.json()["error"]["code"] == "method_not_allowed"
    assert set(answer["allow"].split(", ")) == set(allowed.split(", "))


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "nonsense"])
def test_the_answer_is_json_whatever_is_asked_for(api: Api, accept: str) -> None:
    answer = api.client.get("/api/memory?format=xml", headers={"accept": accept})
    assert (answer.status_code, answer["content-type"]) == (200, "application/json")
    assert answer["cache-control"] == "no-store"


def test_a_busy_database_asks_to_come_back(api: Api, monkeypatch: Any) -> None:
    def find_it_locked(draft: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr(services, "create", find_it_locked)
    answer = api.post("/api/memory", {"key": "k", "content": "c"})
    assert (answer.status_code, answer["retry-after"]) == (503, "1")
    assert answer.json()["error"]["code"] == "database_busy"


@pytest.mark.django_db(transaction=True)
def test_parallel_writers_of_one_key_make_one_memory(api: Api, at_once: Callable[..., list[Any]]) -> None:
    calls = [
        lambda number=number: Api(MANAGEMENT_KEY).post(
            "/api/memory", {"key": "k", "content": f"c{number}", "metadata": {str(number): number}}
        )
        for number in range(8)
    ]
    answers = at_once(*calls)
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert Memory.objects.get().metadata == {str(number): number for number in range(8)}


def test_metadata_that_upserts_keep_adding_to_is_bounded(api: Api) -> None:
    for number in range(2):
        api.remember(apiKeyId="A", key="k", metadata={f"part{number}": "x" * 60_000})
    answer = api.post("/api/memory", {"apiKeyId": "A", "key": "k", "content": "c", "metadata": {"more": "x" * 60_000}})
    assert fields_of(answer) == {"metadata"}
    api.remember(apiKeyId="A", key="k", metadata={"part0": "less"})
