"""Changes of more memories than a page waits for: a job makes them, a line on the page watches it, and so the undo."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from core.errors import ConflictError
from core.jobs.execution import run_job
from core.jobs.models import Job
from core.jobs.queue import claim_next
from memory import bulk_changes, corrections, services
from memory.backends import archive
from memory.backends.base import MemoryChanges
from memory.models import Compaction, Memory, MemoryArchive
from memory.records import MemoryDraft, MemoryFilter
from memory.summarization import counting
from studio.views import memories_bulk, memories_upkeep

MEMORY = "/dashboard/memory"

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator"))
    return client


@pytest.fixture(autouse=True)
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three memories are many, and two a batch."""
    monkeypatch.setattr(memories_bulk, "AT_ONCE", 3)
    for name in ("AT_ONCE_ROWS", "UNDO_AT_ONCE_ROWS"):
        monkeypatch.setattr(bulk_changes, name, 3)
    monkeypatch.setattr(corrections, "BATCH_ROWS", 2)


def remember(count: int) -> None:
    for number in range(count):
        services.create(MemoryDraft("A", f"k{number}", f"memory {number}"))


def do_jobs(name: str) -> None:
    while job := claim_next(name):
        run_job(job)


def delete_all(client: Client, **fields: str) -> str:
    """Ask for it as the page does; return the id of the change."""
    answer = client.post(f"{MEMORY}/delete", {"whole": "1", "q": "memory", **fields}, follow=True)
    assert answer.status_code == 200
    return str(Job.objects.get(name="memory.bulk_change").payload["undoId"])


def poll(client: Client, undo_id: str) -> Any:
    return client.get(f"{MEMORY}/change/{undo_id}", headers={"HX-Request": "true"})


def test_many_are_deleted_by_a_job_that_the_page_watches_and_that_offers_the_undo(client):
    remember(5)
    undo_id = delete_all(client)
    assert Memory.objects.count() == 5
    page = client.get(MEMORY).content.decode()
    assert "Deleting in the background" in page
    assert f"{MEMORY}/change/{undo_id}" in page
    assert "0 of 5 memories" in poll(client, undo_id).content.decode()
    do_jobs("memory.bulk_change")
    assert Memory.objects.count() == 0
    told = poll(client, undo_id)
    assert told.headers["HX-Trigger-After-Settle"] == "memories-changed"
    assert "Deleted 5 memories" in told.content.decode()
    assert f"{MEMORY}/undo/{undo_id}" in told.content.decode()
    assert "in the background" not in client.get(MEMORY).content.decode()


def test_many_are_put_back_by_a_job_too(client):
    remember(5)
    undo_id = corrections.delete_matching(MemoryFilter(None)).undo_id
    client.post(f"{MEMORY}/undo/{undo_id}")
    client.post(f"{MEMORY}/undo/{undo_id}")
    assert Memory.objects.count() == 0
    assert Job.objects.filter(name="memory.undo_change").count() == 1
    assert "Undoing in the background" in client.get(MEMORY).content.decode()
    do_jobs("memory.undo_change")
    assert Memory.objects.count() == 5
    assert "Undone: 5 memories are as they were" in poll(client, undo_id).content.decode()
    assert "This was undone before" in client.post(f"{MEMORY}/undo/{undo_id}", follow=True).content.decode()


def test_a_few_are_put_back_at_once(client):
    remember(3)
    undo_id = corrections.delete_matching(MemoryFilter(None)).undo_id
    client.post(f"{MEMORY}/undo/{undo_id}")
    assert Memory.objects.count() == 3


def test_what_is_still_being_changed_cannot_be_undone_yet(client):
    remember(5)
    undo_id = delete_all(client)
    with pytest.raises(ConflictError, match="still being made"):
        bulk_changes.start_undo(undo_id)
    archive.open_compaction(undo_id, timezone.now() + timedelta(days=1), archive.Kind.DELETE)
    with pytest.raises(ConflictError, match="still being made"):
        corrections.undo(undo_id)


def test_a_change_whose_job_was_killed_goes_on_as_the_same_change(client, monkeypatch):
    remember(5)
    undo_id = delete_all(client)
    delete, calls = corrections.archive.delete_kept, []

    def die_in_the_second_batch(*args: Any) -> int:
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return delete(*args)

    with monkeypatch.context() as patched:
        patched.setattr(corrections.archive, "delete_kept", die_in_the_second_batch)
        job = claim_next("memory.bulk_change")
        assert job is not None
        change = bulk_changes.BulkChange("delete", tuple(job.payload["memoryIds"]), None, undo_id)
        with pytest.raises(KeyboardInterrupt):
            bulk_changes.run_bulk_change(change)
    assert Memory.objects.count() == 3
    assert "2 of 5 memories" in poll(client, undo_id).content.decode()
    run_job(job)
    assert Compaction.objects.get().uuid == undo_id
    do_undo(client, undo_id)
    assert Memory.objects.count() == 5


def do_undo(client: Client, undo_id: str) -> None:
    client.post(f"{MEMORY}/undo/{undo_id}")
    do_jobs("memory.undo_change")


def test_a_job_that_was_given_up_is_told_and_no_longer_watched(client):
    remember(5)
    undo_id = delete_all(client)
    Job.objects.filter(name="memory.bulk_change").update(state=Job.State.DEAD, error="the disk is full")
    told = poll(client, undo_id)
    assert "given up after 0 of 5 memories" in told.content.decode()
    assert "in the background" not in client.get(MEMORY).content.decode()


def test_what_is_newer_refuses_an_undo_before_a_job_is_made(client):
    remember(5)
    undo_id = corrections.delete_matching(MemoryFilter(None)).undo_id
    services.create(MemoryDraft("A", "k1", "somebody took the key"))
    with pytest.raises(ConflictError, match="k1"):
        bulk_changes.start_undo(undo_id)
    assert not Job.objects.filter(name="memory.undo_change").exists()
    do_undo(client, undo_id)
    assert Memory.objects.count() == 5


def test_many_are_retyped_with_as_many_queries_a_batch_as_few(django_assert_max_num_queries):
    remember(8)
    few, many = (list(Memory.objects.values_list("uuid", flat=True)[part]) for part in (slice(0, 2), slice(2, 8)))
    with django_assert_max_num_queries(40) as asked:
        corrections.retype(few, "semantic")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(corrections, "BATCH_ROWS", 100)
        with django_assert_max_num_queries(len(asked)):
            assert corrections.retype(many, "semantic").count == 6
    assert set(Memory.objects.values_list("type", flat=True)) == {"semantic"}


# --- wherever the operator is by then ---
OTHER_PAGES = ["/dashboard/overview", "/dashboard/requests", "/dashboard/settings", f"{MEMORY}?tab=engine"]


def read(client: Client, address: str) -> str:
    return client.get(address).content.decode()


@pytest.mark.parametrize("address", OTHER_PAGES)
def test_the_end_of_a_change_is_told_once_on_the_next_page_whichever_it_is(client, address):
    remember(5)
    undo_id = delete_all(client)
    assert "Deleted 5 memories" not in read(client, address)
    do_jobs("memory.bulk_change")
    page = read(client, address)
    assert "Deleted 5 memories" in page
    assert f"{MEMORY}/undo/{undo_id}" in page
    assert "Deleted 5 memories" not in read(client, address)
    assert "Deleted 5 memories" not in read(client, MEMORY)


def test_a_page_that_stays_open_asks_for_the_end_while_there_is_one_to_come(client):
    assert 'hx-get="/dashboard/work"' not in read(client, "/dashboard/overview")
    remember(5)
    undo_id = delete_all(client)
    assert 'hx-get="/dashboard/work"' in read(client, "/dashboard/overview")
    waiting = client.get("/dashboard/work", headers={"HX-Request": "true"})
    assert 'hx-get="/dashboard/work"' in waiting.content.decode()
    assert "HX-Trigger-After-Settle" not in waiting.headers
    do_jobs("memory.bulk_change")
    ended = client.get("/dashboard/work", headers={"HX-Request": "true"})
    assert f"{MEMORY}/undo/{undo_id}" in ended.content.decode()
    assert 'hx-get="/dashboard/work"' not in ended.content.decode()
    assert ended.headers["HX-Trigger-After-Settle"] == "memories-changed"


def test_the_line_above_the_list_and_another_page_do_not_both_tell_it(client):
    remember(5)
    undo_id = delete_all(client)
    do_jobs("memory.bulk_change")
    assert "Deleted 5 memories" in read(client, "/dashboard/overview")
    line = poll(client, undo_id)
    assert "Deleted 5 memories" not in line.content.decode()
    assert line.headers["HX-Trigger-After-Settle"] == "memories-changed"


def test_who_has_not_asked_for_it_is_told_only_where_it_is_watched(client):
    remember(5)
    undo_id = delete_all(client)
    do_jobs("memory.bulk_change")
    other = Client()
    other.force_login(User.objects.create_superuser("colleague"))
    assert "Deleted 5 memories" not in read(other, "/dashboard/overview")
    assert "Deleted 5 memories" in poll(other, undo_id).content.decode()
    assert "Deleted 5 memories" in read(client, "/dashboard/overview")


def test_the_end_of_an_undo_and_what_was_newer_are_told_on_another_page(client):
    remember(5)
    undo_id = corrections.delete_matching(MemoryFilter(None)).undo_id
    client.post(f"{MEMORY}/undo/{undo_id}", follow=True)
    services.create(MemoryDraft("A", "k1", "somebody took the key"))
    do_jobs("memory.undo_change")
    page = read(client, "/dashboard/overview")
    assert "Undone: 4 memories are as they were. 1 is newer and stays" in page


def test_what_was_given_up_is_told_on_another_page(client):
    remember(5)
    delete_all(client)
    Job.objects.filter(name="memory.bulk_change").update(state=Job.State.DEAD, error="the disk is full")
    assert "given up after 0 of 5 memories" in read(client, "/dashboard/overview")
    assert "given up" not in read(client, "/dashboard/overview")


def test_a_page_asks_once_whether_there_is_something_to_tell(client, django_assert_num_queries):
    client.get("/dashboard/settings")
    with django_assert_num_queries(3):  # the session, the operator, what is untold
        client.get("/dashboard/work", headers={"HX-Request": "true"})


def test_the_end_of_a_compaction_is_told_on_another_page_with_its_undo(client, monkeypatch):
    monkeypatch.setattr(counting, "AT_ONCE_THINGS", 3)
    for number in range(6):
        services.create(MemoryDraft("A", "", f"Deployment {number} went out. {'All was well and quiet. ' * 20}"))
    Memory.objects.update(created_at=timezone.now() - timedelta(days=40))
    client.post(f"{MEMORY}/compact", {"days": "30", "owner": ""}, follow=True)
    assert 'hx-get="/dashboard/work"' in read(client, "/dashboard/overview")
    do_jobs("memory.compact")
    page = read(client, "/dashboard/overview")
    assert "Compacted 6 memories into 1" in page
    assert f"{MEMORY}/undo/{Compaction.objects.get().uuid}" in page


# --- erasing what a list shows ---
def test_many_are_erased_by_a_job_with_a_line_and_without_an_undo(client, monkeypatch):
    monkeypatch.setattr(memories_upkeep, "AT_ONCE_THINGS", 3)
    remember(5)
    other = services.create(MemoryDraft("B", "other", "stays"))
    corrections.edit(Memory.objects.get(key="k1").uuid, MemoryChanges(content="memory one"))
    answer = client.post(f"{MEMORY}/erase", {"whole": "1", "q": "memory", "typed": "erase 5"}, follow=True)
    assert "5 memories are being erased in the background" in answer.content.decode()
    assert Memory.objects.count() == 6
    page = read(client, MEMORY)
    assert "Erasing in the background" in page
    assert "it can be undone" not in page
    do_jobs("memory.bulk_change")
    assert list(Memory.objects.values_list("uuid", flat=True)) == [other.id]
    assert not MemoryArchive.objects.exists()
    told = read(client, "/dashboard/overview")
    assert "Erased 5 memories for good" in told
    assert f"{MEMORY}/undo/" not in told
