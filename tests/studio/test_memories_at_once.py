"""Many memories at once over HTTP: deleted, retyped, erased, compacted, exported and imported."""

import json
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from memory.models import Compaction, Memory
from tests.studio.memories_page import MEMORY, read, remember, upload

pytestmark = pytest.mark.django_db


# --- many at once ---
def test_deleting_asks_first_with_the_count_and_is_undone(staff):
    records = [remember(f"memory {number}", f"k{number}") for number in range(3)]
    asked = read(staff, f"{MEMORY}/delete", id=[records[0].id, records[1].id])
    assert "Delete 2 memories?" in asked
    assert Memory.objects.count() == 3
    staff.post(f"{MEMORY}/delete", {"id": [records[0].id, records[1].id]})
    assert list(Memory.objects.values_list("key", flat=True)) == ["k2"]
    page = read(staff)
    assert "Deleted 2 memories" in page
    staff.post(re.search(rf'action="({MEMORY}/undo/[^"]+)"', page)[1])
    assert Memory.objects.count() == 3
    assert "2 memories are as they were" in read(staff)


def test_all_that_the_filter_shows_can_be_selected(staff):
    for number in range(30):
        remember(f"memory {number}", owner="AB"[number % 2])
    assert "Delete 15 memories?" in read(staff, f"{MEMORY}/delete", whole="1", key="B")
    staff.post(f"{MEMORY}/delete", {"whole": "1", "key": "B"})
    assert set(Memory.objects.values_list("api_key_id", flat=True)) == {"A"}


def test_nothing_selected_is_told_and_never_means_all(staff):
    remember("tea")
    for path in ("delete", "retype", "erase"):
        assert staff.post(f"{MEMORY}/{path}", {"to": "factual", "key": "A"}).status_code == 400
    assert Memory.objects.count() == 1


def test_several_are_retyped(staff):
    records = [remember(f"memory {number}") for number in range(3)]
    staff.post(f"{MEMORY}/retype", {"id": [record.id for record in records[:2]], "to": "semantic"})
    assert sorted(Memory.objects.values_list("type", flat=True)) == ["factual", "semantic", "semantic"]
    assert staff.post(f"{MEMORY}/retype", {"id": records[0].id, "to": "facts"}).status_code == 400


def test_erasing_needs_the_very_number_typed_and_cannot_be_undone(staff):
    for number in range(3):
        remember(f"memory {number}", owner="AB"[number % 2])
    assert "erase 2" in read(staff, f"{MEMORY}/erase", whole="1", key="A")
    for typed in ("", "erase", "erase 3", "2", "delete 2"):
        assert staff.post(f"{MEMORY}/erase", {"whole": "1", "key": "A", "typed": typed}).status_code == 422
    assert Memory.objects.count() == 3
    staff.post(f"{MEMORY}/erase", {"whole": "1", "key": "A", "typed": "erase 2"})
    assert list(Memory.objects.values_list("api_key_id", flat=True)) == ["B"]
    assert not Compaction.objects.exists()


def test_compaction_shows_what_it_would_do_then_does_it_and_is_undone(staff):
    for number in range(4):
        remember(f"Note {number}. " + "It goes on about the weather that day. " * 12, f"k{number}")
    Memory.objects.update(created_at=timezone.now() - timedelta(days=40))
    asked = read(staff, f"{MEMORY}/compact", days="30", owner="A")
    assert "Compact 4 memories" in asked
    assert Memory.objects.count() == 4
    staff.post(f"{MEMORY}/compact", {"days": "30", "owner": "A"})
    assert Memory.objects.get().metadata["source"] == "compaction"
    staff.post(re.search(rf'action="({MEMORY}/undo/[^"]+)"', read(staff))[1])
    assert Memory.objects.count() == 4


# --- export ---
def test_the_filtered_set_is_exported_as_an_array_of_memories(staff):
    remember("a", "k1", type="episodic", metadata={"x": 1})
    remember("b", "k2")
    answer = staff.get(f"{MEMORY}/export", {"type": "episodic", "page": "7"})
    assert re.fullmatch(r'attachment; filename="memory-export-[\dTZ:-]+\.json"', answer.headers["content-disposition"])
    told = json.loads(b"".join(answer.streaming_content))
    assert [(memory["key"], memory["metadata"]) for memory in told] == [("k1", {"x": 1})]


def test_an_export_of_memories_that_are_gone_is_not_found(staff):
    answer = staff.get(f"{MEMORY}/export", {"id": "4f1c9a52-5f0e-4b57-9a27-0d6a1f2f3e11"})
    assert answer.status_code == 404


def test_the_ticked_ones_alone_are_exported(staff):
    records = [remember(f"memory {number}") for number in range(3)]
    answer = staff.get(f"{MEMORY}/export", {"id": [records[2].id, records[0].id]})
    told = json.loads(b"".join(answer.streaming_content))
    assert [memory["id"] for memory in told] == [records[2].id, records[0].id]


# --- import ---
def test_an_import_is_shown_before_anything_is_written(staff):
    remember("old", "k1")
    remember("same", "k2")
    rows = [
        {"key": "k1", "content": "new"},
        {"key": "k2", "content": "same"},
        {"key": "k3", "content": "more"},
        {"key": "k4", "content": "bad", "type": "facts"},
        {"key": "", "content": ""},
    ]
    page = upload(staff, rows, overwrites="on").content.decode()
    figures = dict(re.findall(r'data-testid="import-([\w-]+)">\s*([\d,]+)\s*<', page))
    assert figures == {"new": "1", "updates": "1", "unchanged": "1", "left-out": "2"}
    assert "facts" in page
    assert Memory.objects.count() == 2
    run = re.search(rf'action="({MEMORY}/import/[^"]+/run)"', page)[1]
    staff.post(run, {"owner": "A", "overwrites": "on"})
    contents = dict(Memory.objects.values_list("key", "content"))
    assert contents == {"k1": "new", "k2": "same", "k3": "more"}
    done = read(staff)
    assert "Imported 2 memories; 2 entries were left out" in done
    staff.post(re.search(rf'action="({MEMORY}/undo/[^"]+)"', done)[1])
    assert dict(Memory.objects.values_list("key", "content")) == {"k1": "old", "k2": "same"}


@pytest.mark.parametrize("content", [b"", b"{", b"\x00\x01\x02", b"[1, 2"])
def test_a_file_that_cannot_be_read_is_told_in_the_dialog(staff, content):
    answer = upload(staff, content)
    assert answer.status_code in (200, 422)
    assert not Memory.objects.exists()
    assert "Traceback" not in answer.content.decode()


def test_rw_067_a_file_never_overwrites_another_owners_memory(staff):
    foreign = remember("I prefer tea", "preference:tea", owner="B")
    rows = [
        {"key": "preference:tea", "content": "changed", "apiKeyId": "B"},
        {"id": foreign.id, "key": "x", "content": "changed by id"},
    ]
    page = upload(staff, rows).content.decode()
    run = re.search(rf'action="({MEMORY}/import/[^"]+/run)"', page)[1]
    staff.post(run, {"owner": "A"})
    row = Memory.objects.get(uuid=foreign.id)
    assert (row.api_key_id, row.content, row.updated_at) == ("B", "I prefer tea", foreign.updated_at)
