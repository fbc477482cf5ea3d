"""Merges, imports and whole rows of changes can be taken back, and leave the store as it was."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from core.errors import ConflictError, InvalidFieldsError
from memory import corrections, services
from memory.backends.base import MemoryChanges
from memory.models import Compaction, Memory
from tests.stored_rows import read_rows
from tests.studio.memories_page import remember
from tests.studio.undoable import make_store

pytestmark = pytest.mark.django_db


# --- merge ---
def test_merged_memories_come_back_and_the_kept_one_is_as_it_was():
    kept, twin, third = remember("tea", "k", metadata={"a": 1}), remember("tea ", "t"), remember("TEA", "u")
    before = read_rows()
    correction = corrections.merge(kept.id, [twin.id, third.id, kept.id])
    assert correction.count == 2
    row = Memory.objects.get()
    assert (row.uuid, row.metadata) == (kept.id, {"a": 1, "mergedFrom": [twin.id, third.id]})
    report = corrections.undo(correction.undo_id)
    assert (report.restored_count, report.removed) == (3, ())
    assert read_rows() == before


def test_memories_of_two_owners_are_never_merged():
    kept, foreign = remember(), remember(owner="B")
    with pytest.raises(InvalidFieldsError):
        corrections.merge(kept.id, [foreign.id])
    assert Memory.objects.count() == 2


def test_a_merge_whose_memory_was_changed_since_gives_back_the_others_only():
    kept, twin = remember("tea", "k"), remember("tea", "t")
    undo_id = corrections.merge(kept.id, [twin.id]).undo_id
    services.update(kept.id, MemoryChanges(content="green tea"))
    report = corrections.undo(undo_id, is_forced=True)
    assert (report.restored_count, len(report.kept_newer)) == (1, 1)
    assert sorted(Memory.objects.values_list("content", flat=True)) == ["green tea", "tea"]


# --- import ---
def test_an_import_is_undone_what_it_made_goes_and_what_it_changed_is_as_it_was():
    stored = remember("old", "k", metadata={"a": 1})
    before = read_rows()
    undo_id = corrections.open_import("backup.json")
    changed, created = remember("new", "k", metadata={"b": 2}), remember("more", "m")
    corrections.keep_import(undo_id, [stored], [created])
    assert (changed.id, Memory.objects.count()) == (stored.id, 2)
    report = corrections.undo(undo_id)
    assert (report.kind, report.restored_count, report.removed) == ("import", 1, (created.id,))
    assert read_rows() == before


def test_imported_memories_that_were_changed_since_stay_and_deleted_ones_are_missed_by_nobody():
    undo_id = corrections.open_import("backup.json")
    created = [remember(f"m{number}", f"m{number}") for number in range(3)]
    corrections.keep_import(undo_id, [], created)
    services.update(created[0].id, MemoryChanges(content="mine now"))
    services.delete(created[1].id)
    with pytest.raises(ConflictError):
        corrections.undo(undo_id)
    report = corrections.undo(undo_id, is_forced=True)
    assert report.removed == (created[2].id,)
    assert list(Memory.objects.values_list("content", flat=True)) == ["mine now"]


def test_an_import_that_changed_nothing_leaves_nothing():
    undo_id = corrections.open_import("backup.json")
    corrections.drop_import(undo_id)
    assert not Compaction.objects.exists()


# --- whole rows of changes ---
class AnyOrder(TestCase):
    """Whatever is done, taking everything back in the opposite order leaves the store as it was."""

    @settings(max_examples=12, deadline=None)
    @given(st.lists(st.sampled_from(["delete", "edit", "retype", "merge"]), min_size=1, max_size=6), st.integers(0, 99))
    def test_any_row_of_changes_is_undone_backwards(self, kinds, seed):
        Memory.objects.all().delete()
        chance = random.Random(seed)
        make_store(8)
        before = read_rows()
        undo_ids = [change_something(kind, chance) for kind in kinds]
        for undo_id in reversed([undo_id for undo_id in undo_ids if undo_id]):
            corrections.undo(undo_id)
        assert read_rows() == before


def change_something(kind: str, chance: random.Random) -> str:
    ids = list(Memory.objects.filter(api_key_id="A").order_by("memory_id").values_list("uuid", flat=True))
    if len(ids) < 2:
        return ""
    some = chance.sample(ids, 2)
    if kind == "delete":
        return corrections.delete_memories(some[:1]).undo_id
    if kind == "edit":
        return corrections.edit(some[0], MemoryChanges(content=f"text {chance.random()}")).undo_id
    if kind == "retype":
        return corrections.retype(some, chance.choice(["factual", "semantic"])).undo_id
    return corrections.merge(some[0], some[1:]).undo_id
