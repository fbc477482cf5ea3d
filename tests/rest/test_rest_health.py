"""GET /api/memory/health: the self-test leaves nothing behind and stands no one in the way."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError
from rest_api import MANAGEMENT_KEY, Api

from memory import health, services
from memory.models import HEALTH_CHECK_OWNER, Memory


def test_a_working_store_says_so_and_keeps_nothing(api: Api) -> None:
    api.remember(key="mine")
    for _ in range(3):
        answer = api.get("/api/memory/health")
        told = answer.json()
        assert (answer.status_code, told["working"]) == (200, True)
        assert told.keys() == {"working", "latencyMs"}
        assert isinstance(told["latencyMs"], int)
    assert Memory.objects.values_list("key", flat=True).get() == "mine"
    assert api.get("/api/memory").json()["total"] == 1
    assert api.get("/api/memory", {"apiKeyId": HEALTH_CHECK_OWNER}).json()["total"] == 0


@pytest.mark.django_db(transaction=True)
def test_several_tests_at_once_all_work(api: Api, at_once: Callable[..., list[Any]]) -> None:
    answers = at_once(*[lambda: Api(MANAGEMENT_KEY).get("/api/memory/health").json()] * 6)
    assert [answer["working"] for answer in answers] == [True] * 6
    assert not Memory.objects.exists()


def test_every_test_has_a_memory_of_its_own(api: Api, monkeypatch: Any) -> None:
    create, drafts = services.create, []
    monkeypatch.setattr(services, "create", lambda draft: drafts.append(draft) or create(draft))
    for _ in range(2):
        api.get("/api/memory/health")
    assert {draft.owner for draft in drafts} == {HEALTH_CHECK_OWNER}
    assert len({draft.key for draft in drafts}) == 2


def test_a_store_that_fails_is_told_with_200_and_without_details(api: Api, monkeypatch: Any) -> None:
    def fail(draft: object) -> None:
        raise DatabaseError("no such table: memories in /var/lib/secret/path")

    monkeypatch.setattr(services, "create", fail)
    answer = api.get("/api/memory/health")
    assert (answer.status_code, answer.json()["working"]) == (200, False)
    assert "could not be stored" in answer.json()["error"]
    assert "path" not in answer.content.decode()


def test_an_extraction_that_finds_nothing_is_told(api: Api, monkeypatch: Any) -> None:
    monkeypatch.setattr(health, "extract_facts", lambda text, role: [])
    told = api.get("/api/memory/health").json()
    assert told["working"] is False
    assert "No fact" in told["error"]
