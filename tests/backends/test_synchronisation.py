"""Fallbacks follow the primary: jobs that may be done twice, out of order, and as late as it takes."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from core.jobs import runner
from core.jobs.models import Job
from memory import corrections, queue, services
from memory.backends.base import MemoryChanges
from memory.backends.synchronisation import mirror
from memory.models import Memory
from memory.records import MemoryDraft, MemoryFilter, MemoryRecord
from tests.backends.routing import OUTAGE, REFUSAL, FakeBackend, register, use

pytestmark = pytest.mark.django_db


@pytest.fixture
def copy(fresh_engine: None) -> FakeBackend:
    """The fallback of SQLite."""
    [backend] = register("copy")
    use("sqlite", "copy")
    return backend


def remember(key: str = "tea", content: str = "green tea") -> MemoryRecord:
    return services.create(MemoryDraft("A", key, content))


def contents(backend: FakeBackend) -> list[str]:
    return sorted(record.content for record in backend.held.values())


def open_jobs() -> list[dict[str, Any]]:
    return list(Job.objects.filter(name=queue.MIRROR_BACKEND, state=Job.State.QUEUED).values("payload", "run_at"))


def bring_forward() -> None:
    Job.objects.filter(state=Job.State.QUEUED).update(run_at=timezone.now())
    runner.run_waiting_jobs()


def test_an_outage_is_waited_out_however_long_it_takes(copy: FakeBackend) -> None:
    record = remember()
    copy.fault = OUTAGE
    services.update(record.id, MemoryChanges(content="black tea"))
    for tries in range(1, 12):
        bring_forward()
        [job] = open_jobs()
        assert job["payload"]["tries"] == tries
        assert timezone.now() < job["run_at"] <= timezone.now() + timedelta(seconds=900)
    assert not Job.objects.filter(state=Job.State.DEAD).exists()
    copy.fault = None
    bring_forward()
    assert contents(copy) == ["black tea"]
    assert open_jobs() == []


def test_jobs_may_be_done_twice_and_out_of_order(copy: FakeBackend) -> None:
    record = remember()
    services.update(record.id, MemoryChanges(content="one"))
    services.update(record.id, MemoryChanges(content="two", key="drink"))
    kept = remember("other", "kept")
    services.update(kept.id, MemoryChanges(type="episodic"))
    services.delete(record.id)
    payloads = [job["payload"] for job in open_jobs()]
    for payload in [*reversed(payloads), *payloads, payloads[0]]:
        mirror(payload)
    assert contents(copy) == ["kept"]
    assert [it.type for it in copy.held.values()] == ["episodic"]


def test_a_change_while_a_copy_is_written_is_not_lost(copy: FakeBackend) -> None:
    record = remember()
    services.update(record.id, MemoryChanges(content="old"))
    [job] = open_jobs()

    def change_once() -> None:
        copy.before_write = lambda: None
        Memory.objects.filter(uuid=record.id).update(content="new")

    copy.before_write = change_once
    mirror(job["payload"])
    assert contents(copy) == ["new"]


def test_a_fallback_that_gives_its_own_ids_keeps_one_copy_through_a_new_key(copy: FakeBackend) -> None:
    record = remember()
    copy.held["own-id"] = replace(record, id="own-id", content="stale")
    services.update(record.id, MemoryChanges(key="drink", content="coffee"))
    bring_forward()
    assert contents(copy) == ["coffee"]
    copy.held = {"own-id": replace(next(iter(copy.held.values())), id="own-id")}
    services.delete(record.id)
    bring_forward()
    assert copy.held == {}


def test_a_deleted_memory_does_not_take_its_heir_along(copy: FakeBackend) -> None:
    first = remember()
    services.delete(first.id)
    remember(content="said anew")
    copy.held["own-id"] = replace(first, id="own-id")
    bring_forward()
    assert contents(copy) == ["said anew"]


def test_what_a_fallback_refuses_holds_up_nobody_and_is_told(copy: FakeBackend) -> None:
    bad, good = remember("bad", "bad"), remember("good", "good")

    def refuse_once() -> None:
        copy.before_write = lambda: None
        raise REFUSAL

    for _ in range(6):
        copy.before_write = refuse_once
        if not Job.objects.filter(name=queue.MIRROR_BACKEND).exists():
            queue.enqueue_mirroring("copy", [[bad.id, "A", "bad"], [good.id, "A", "good"]])
        bring_forward()
    assert contents(copy) == ["good"]
    [job] = Job.objects.filter(name=queue.MIRROR_BACKEND)
    assert (job.state, "it refuses that" in job.error) == (Job.State.DEAD, True)


def test_jobs_of_a_backend_that_is_no_fallback_any_more_end(copy: FakeBackend) -> None:
    record = remember()
    services.update(record.id, MemoryChanges(content="black tea"))
    use("sqlite")
    bring_forward()
    assert (copy.held, open_jobs()) == ({}, [])


def test_without_fallbacks_no_job_is_made(fresh_engine: None) -> None:
    record = remember()
    services.update(record.id, MemoryChanges(content="black tea"))
    services.delete(record.id)
    assert open_jobs() == []


def test_a_change_that_is_rolled_back_tells_nobody(copy: FakeBackend) -> None:
    record = remember()
    with pytest.raises(Exception, match="key"):
        remember("taken")
        services.update(record.id, MemoryChanges(key="taken"))
    assert open_jobs() == []


def test_every_way_to_change_rows_is_followed(copy: FakeBackend) -> None:
    """Deletions by filter, by an operator, and their undo: whatever is gone must not be found in a fallback."""
    records = [remember(key, key) for key in "abc"]
    for record in records:
        copy.held[record.id] = record
    services.clear(MemoryFilter("A", text="a"))
    correction = corrections.delete_memories([records[1].id])
    bring_forward()
    assert contents(copy) == ["c"]
    corrections.undo(correction.undo_id)
    corrections.edit(records[2].id, MemoryChanges(content="edited"))
    bring_forward()
    assert contents(copy) == ["b", "edited"]


def test_sqlite_as_a_fallback_gets_copies_with_their_ids(fresh_engine: None) -> None:
    [primary] = register("first")
    use("first", "sqlite")
    record = remember()
    services.update(record.id, MemoryChanges(content="black tea"))
    bring_forward()
    row = Memory.objects.get()
    assert (row.uuid, row.content, row.created_at) == (record.id, "black tea", record.created_at)
    services.delete(record.id)
    bring_forward()
    assert not Memory.objects.exists()
    assert primary.held == {}
