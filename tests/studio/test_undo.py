"""Deleting, editing and retyping can be taken back: exactly, in batches, twice, and never over something newer."""

import pytest
from django.utils import timezone

from core.errors import ConflictError, NotFoundError
from memory import corrections, services
from memory.backends.base import MemoryChanges
from memory.models import Compaction, Memory, MemoryArchive
from memory.records import MemoryFilter
from memory.summarization import list_compactions, purge_archives, undo_compaction
from tests.stored_rows import read_rows
from tests.studio.memories_page import remember
from tests.studio.undoable import make_store

pytestmark = pytest.mark.django_db


# --- delete ---
def test_deleted_memories_come_back_with_id_dates_and_metadata():
    records = make_store()
    before = read_rows()
    correction = corrections.delete_memories([records[1].id, records[3].id])
    assert (correction.count, correction.kind) == (2, "delete")
    assert Memory.objects.count() == 3
    report = corrections.undo(correction.undo_id)
    assert (report.restored_count, report.kept_newer) == (2, ())
    assert read_rows() == before


def test_a_memory_that_came_back_waits_for_its_vector_anew():
    record = remember()
    Memory.objects.update(needs_reindex=False)
    corrections.undo(corrections.delete_memories([record.id]).undo_id)
    assert Memory.objects.get().needs_reindex


def test_what_the_filter_shows_is_deleted_and_nothing_else():
    make_store(6)
    before = read_rows()
    correction = corrections.delete_matching(MemoryFilter("A", session_id="s0"))
    assert correction.count == 1
    assert sorted(Memory.objects.values_list("key", flat=True)) == ["k1", "k2", "k3", "k4", "k5"]
    corrections.undo(correction.undo_id)
    assert read_rows() == before


def test_more_than_one_batch_is_one_change(monkeypatch):
    monkeypatch.setattr(corrections, "BATCH_ROWS", 2)
    make_store(7)
    before = read_rows()
    correction = corrections.delete_matching(MemoryFilter(None))
    assert correction.count == 7
    assert not Memory.objects.exists()
    assert Compaction.objects.count() == 1
    assert corrections.undo(correction.undo_id).restored_count == 7
    assert read_rows() == before


def test_a_change_that_was_killed_half_way_is_undone_like_a_whole_one(monkeypatch):
    monkeypatch.setattr(corrections, "BATCH_ROWS", 2)
    make_store(6)
    before = read_rows()
    delete, calls = corrections.archive.delete_kept, []

    def die_at_the_second(undo_id, memory_ids):
        calls.append(undo_id)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return delete(undo_id, memory_ids)

    monkeypatch.setattr(corrections.archive, "delete_kept", die_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        corrections.delete_matching(MemoryFilter(None))
    assert Memory.objects.count() == 4
    assert corrections.undo(calls[0]).restored_count == 2
    assert read_rows() == before


def test_nothing_deleted_leaves_nothing_to_undo():
    correction = corrections.delete_memories(["no such id"])
    assert (correction.count, correction.undo_id) == (0, "")
    assert not Compaction.objects.exists()


def test_undoing_twice_changes_nothing_the_second_time():
    record = remember()
    undo_id = corrections.delete_memories([record.id]).undo_id
    corrections.undo(undo_id)
    services.delete(record.id)
    again = corrections.undo(undo_id)
    assert (again.was_undone_before, again.restored_count) == (True, 0)
    assert not Memory.objects.exists()


def test_a_key_that_was_taken_anew_is_told_and_not_overwritten():
    records = [remember("old", "k"), remember("other", "o")]
    undo_id = corrections.delete_memories([record.id for record in records]).undo_id
    remember("new", "k")
    with pytest.raises(ConflictError, match="the key 'k' of owner 'A' was taken by a newer memory"):
        corrections.undo(undo_id)
    assert list(Memory.objects.values_list("content", flat=True)) == ["new"]
    report = corrections.undo(undo_id, is_forced=True)
    assert (report.restored_count, len(report.kept_newer)) == (1, 1)
    assert sorted(Memory.objects.values_list("content", flat=True)) == ["new", "other"]


def test_what_is_erased_leaves_no_copy_of_what_it_said():
    record, other = remember("secret one", "k"), remember("other", "o", owner="B")
    corrections.edit(record.id, MemoryChanges(content="secret two"))
    corrections.edit(other.id, MemoryChanges(content="other two"))
    assert corrections.erase_matching(MemoryFilter("A")) == 1
    assert list(MemoryArchive.objects.values_list("content", flat=True)) == ["other"]
    assert list(Memory.objects.values_list("content", flat=True)) == ["other two"]
    assert len(corrections.list_corrections(10)) == 1


# --- edit and retype ---
def test_an_edit_is_undone_to_the_letter():
    record = remember("I like tea\n ", "k", metadata={"source": "user_message"})
    before = read_rows()
    correction = corrections.edit(record.id, MemoryChanges(content="I like coffee", key="k2", type="semantic"))
    row = Memory.objects.get()
    assert (row.content, row.key, row.type, row.metadata["source"]) == ("I like coffee", "k2", "semantic", "operator")
    corrections.undo(correction.undo_id)
    assert read_rows() == before


def test_an_edit_that_changes_nothing_is_none():
    record = remember("tea", "k")
    before = read_rows()
    assert corrections.edit(record.id, MemoryChanges(content="tea", key="k")).undo_id == ""
    assert read_rows() == before
    assert not Compaction.objects.exists()


def test_an_editor_who_saw_an_older_text_is_refused():
    record = remember("tea", "k")
    services.update(record.id, MemoryChanges(content="coffee"))
    with pytest.raises(ConflictError, match="changed since you opened it"):
        corrections.edit(record.id, MemoryChanges(content="water"), seen_at=record.updated_at)
    assert Memory.objects.get().content == "coffee"


def test_an_edit_over_which_somebody_wrote_stays():
    record = remember("tea", "k")
    undo_id = corrections.edit(record.id, MemoryChanges(content="coffee")).undo_id
    services.update(record.id, MemoryChanges(content="water"))
    with pytest.raises(ConflictError, match="was changed since"):
        corrections.undo(undo_id)
    assert corrections.undo(undo_id, is_forced=True).restored_count == 0
    assert Memory.objects.get().content == "water"


def test_an_edit_of_what_is_not_there_is_told():
    with pytest.raises(NotFoundError):
        corrections.edit("no such id", MemoryChanges(content="x"))


def test_earlier_versions_are_kept_and_an_undone_one_is_none():
    record = remember("one", "k")
    corrections.edit(record.id, MemoryChanges(content="two"))
    last = corrections.edit(record.id, MemoryChanges(content="three"))
    assert [version.content for version in corrections.list_versions("A", record.id)] == ["two", "one"]
    assert corrections.list_versions("B", record.id) == []
    corrections.undo(last.undo_id)
    assert [version.content for version in corrections.list_versions("A", record.id)] == ["one"]


def test_retyping_leaves_those_alone_that_are_of_the_type_already():
    records = make_store(4)
    before = read_rows()
    correction = corrections.retype([record.id for record in records], "episodic")
    assert correction.count == 2
    assert set(Memory.objects.values_list("type", flat=True)) == {"episodic"}
    assert Memory.objects.get(uuid=records[1].id).updated_at == records[1].updated_at
    corrections.undo(correction.undo_id)
    assert read_rows() == before


def test_all_that_a_filter_shows_is_retyped():
    make_store(4)
    assert corrections.retype_matching(MemoryFilter("A"), "procedural").count == 2
    assert sorted(Memory.objects.values_list("api_key_id", "type")) == [
        ("A", "procedural"), ("A", "procedural"), ("B", "episodic"), ("B", "episodic"),
    ]  # fmt: skip


# --- the archive ---
def test_when_its_time_is_over_a_change_is_final_and_what_it_kept_is_gone():
    record = remember()
    undo_id = corrections.delete_memories([record.id]).undo_id
    Compaction.objects.update(expires_at=timezone.now())
    with pytest.raises(NotFoundError):
        corrections.undo(undo_id)
    assert purge_archives() == 1
    assert not MemoryArchive.objects.exists()


def test_compactions_are_listed_and_undone_apart_from_an_operators_corrections():
    record = remember()
    undo_id = corrections.delete_memories([record.id]).undo_id
    assert list_compactions() == []
    with pytest.raises(NotFoundError, match="no such compaction"):
        undo_compaction(undo_id)
    assert [kept.kind for kept in corrections.list_corrections(10)] == ["delete"]
