"""The undo of compactions, over HTTP and in the admin."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from compactions import UNDO, find, list_vector_ids, remember_old, summarize, undo
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone
from rest_api import Api, fields_of

from memory.models import Compaction, Memory, MemoryArchive
from tests.engine import do_jobs, use_static_model
from tests.stored_rows import read_rows

pytestmark = pytest.mark.django_db


# --- undo ---
@pytest.mark.usefixtures("fresh_engine")
def test_an_undo_restores_every_column_and_the_indexes(api: Api) -> None:
    use_static_model()
    remember_old(api, 3, apiKeyId="A", metadata={"a": [1, {"b": "ž"}]}, sessionId="s")
    remember_old(api, 2, apiKeyId="B", type="procedural")
    do_jobs()
    before, vectors = read_rows(), list_vector_ids()
    told = summarize(api)
    do_jobs()
    assert find(api, "kettle") == []
    back = undo(api, told["undoId"])
    assert (back["restoredCount"], len(back["removedSummaries"]), back["keptNewer"]) == (5, 2, [])
    assert read_rows() == before
    assert Memory.objects.filter(uuid=before[0]["uuid"]).get().needs_reindex
    do_jobs()
    assert list_vector_ids() == vectors
    assert len(find(api, "kettle")) == 5
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO memory_fts(memory_fts, rank) VALUES ('integrity-check', 1)")


def test_an_undo_may_be_asked_twice_and_what_is_back_can_be_compacted_again(api: Api) -> None:
    remember_old(api, 2)
    told = summarize(api)
    assert undo(api, told["undoId"].upper())["restoredCount"] == 2
    again = undo(api, told["undoId"])
    assert (again["restoredCount"], again["wasUndoneBefore"]) == (0, True)
    assert summarize(api)["deletedCount"] == 2


def test_compactions_are_listed_the_newest_first(api: Api) -> None:
    assert api.get(UNDO).json() == {"compactions": []}
    remember_old(api, 2, apiKeyId="A")
    first = summarize(api)["undoId"]
    remember_old(api, 3, apiKeyId="B")
    second = summarize(api)["undoId"]
    undo(api, first)
    newest, oldest = api.get(UNDO).json()["compactions"]
    assert (newest["undoId"], newest["memories"], newest["owners"], newest["undoneAt"]) == (second, 3, 1, None)
    assert newest["createdAt"] < newest["undoableUntil"]
    assert oldest["undoId"] == first
    assert oldest["undoneAt"] is not None


def test_an_undo_that_would_overwrite_something_newer_is_refused_and_says_what(api: Api) -> None:
    remember_old(api, 3, apiKeyId="A")
    told = summarize(api)
    newer = api.remember(key="story-1", content="the newer words", apiKeyId="A")
    api.put(f"/api/memory/{told['summaryId']}", {"content": "edited by hand"})
    before = read_rows()
    refused = api.post(UNDO, {"undoId": told["undoId"]})
    assert refused.status_code == 409
    error = refused.json()["error"]
    assert error["code"] == "undo_conflict"
    assert "'story-1'" in error["message"]
    assert f"the summary {told['summaryId']} was changed" in error["message"]
    assert read_rows() == before

    forced = undo(api, told["undoId"], force=True)
    assert (forced["restoredCount"], forced["removedSummaries"], len(forced["keptNewer"])) == (2, [], 2)
    contents = {row["key"]: row["content"] for row in read_rows()}
    assert contents["story-0"].startswith("Note 0")
    assert contents["story-1"] == newer["content"]
    assert "edited by hand" in contents.values()


def test_a_summary_that_was_deleted_since_stops_an_undo_too(api: Api) -> None:
    remember_old(api, 2, apiKeyId="A")
    told = summarize(api)
    api.delete(f"/api/memory/{told['summaryId']}")
    refused = api.post(UNDO, {"undoId": told["undoId"]})
    assert refused.status_code == 409
    assert "was deleted since" in refused.json()["error"]["message"]
    assert undo(api, told["undoId"], force=True)["restoredCount"] == 2


@pytest.mark.parametrize("undo_id", ["nonsense", "8a9bc9a0-0000-4000-8000-000000000000"])
def test_an_unknown_undo_is_not_found(api: Api, undo_id: str) -> None:
    assert api.post(UNDO, {"undoId": undo_id}).status_code == 404


def test_an_undo_ends_with_its_days(api: Api, settings: Any) -> None:
    settings.MEMORY_UNDO_DAYS = 7
    remember_old(api, 2)
    told = summarize(api)
    kept = Compaction.objects.get(uuid=told["undoId"])
    assert kept.expires_at - kept.created_at == pytest.approx(timedelta(days=7), abs=timedelta(seconds=5))
    Compaction.objects.update(expires_at=timezone.now())
    assert api.post(UNDO, {"undoId": told["undoId"]}).status_code == 404
    assert Memory.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_undos_at_once_restore_once(api: Api, at_once: Callable[..., list[Any]]) -> None:
    remember_old(api, 3)
    undo_id = summarize(api)["undoId"]
    answers = at_once(*[lambda: api.post(UNDO, {"undoId": undo_id})] * 3)
    assert [answer.status_code for answer in answers] == [200] * 3
    assert sorted(answer.json()["restoredCount"] for answer in answers) == [0, 0, 3]
    assert Memory.objects.count() == 3


@pytest.mark.parametrize("body", [{}, {"undoId": 5}, {"undoId": "x", "force": "yes"}, {"undoId": "x", "all": True}])
def test_a_wrong_undo_body_is_refused(api: Api, body: Any) -> None:
    assert fields_of(api.post(UNDO, body))


# --- the admin ---
def test_the_admin_lists_compactions_and_undoes_them(api: Api) -> None:
    remember_old(api, 2, apiKeyId="A")
    first = summarize(api)
    remember_old(api, 2, apiKeyId="B")
    second = summarize(api)
    api.remember(key="story-0", content="newer", apiKeyId="B")
    browser = Client()
    browser.force_login(User.objects.create_superuser("boss"))
    pages = "/admin/memory/compaction/"
    assert first["undoId"] in browser.get(pages).content.decode()
    kept = list(Compaction.objects.values_list("pk", flat=True))
    assert browser.get(f"{pages}{kept[0]}/change/").status_code == 200
    answer = browser.post(pages, {"action": "undo_compactions", "_selected_action": kept}, follow=True)
    page = answer.content.decode()
    assert f"{first['undoId']}: memories put back: 2" in page
    assert f"{second['undoId']}: Nothing was undone" in page
    assert Memory.objects.owned_by("A").count() == 2
    answer = browser.post(pages, {"action": "undo_around_newer", "_selected_action": kept}, follow=True)
    assert f"{second['undoId']}: memories put back: 1" in answer.content.decode()
    remember_old(api, 2, apiKeyId="C")
    summarize(api, {"apiKeyId": "C"})
    assert MemoryArchive.objects.count() == 2
    kept = list(Compaction.objects.values_list("pk", flat=True))
    browser.post(pages, {"action": "delete_selected", "_selected_action": kept, "post": "yes"})
    assert not MemoryArchive.objects.exists()
