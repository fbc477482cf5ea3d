"""What every backend must do with one memory, and with a copy of one that another backend has."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from core.errors import ConflictError
from memory.backends.base import MemoryChanges
from memory.records import MemoryFilter, MemoryRecord
from tests.backends.contract_drafts import OWNER, BackendUnderTest, draft, told


class MemoryContract(BackendUnderTest):
    # --- one memory -----------------------------------------------------------------------------------------

    def test_a_memory_is_read_as_it_was_stored(self) -> None:
        expires_at = timezone.now().replace(microsecond=0) + timedelta(days=3)
        metadata = {"category": "preference", "n": 1, "nested": {"a": [None, True, "ä"]}, "yes": "no", "at": "12:30"}
        stored = self.backend.create(draft(type="episodic", session_id="s 1", metadata=metadata, expires_at=expires_at))
        found = self.backend.get(stored.id)
        assert told(found) == told(stored) == (
            OWNER, "tea", "I prefer green tea", "episodic", "s 1", metadata, expires_at,
        )  # fmt: skip
        assert found is not None
        assert found.id == stored.id
        assert abs(found.created_at - datetime.now(UTC)) < timedelta(minutes=1)
        assert found == self.backend.find_by_key(OWNER, "tea")

    @pytest.mark.parametrize(
        "content",
        [
            "---\nkey: value\n---\nafter",
            "\n\n  leading and trailing  \n\n",
            "line one\r\nline two\n# heading\n[[link]] #tag ^block",
            "emoji 🍵 and 茶 and ‮ and \u2028 end",
            "x" * 3999 + "🍵" * 2500,
            "'quoted' \"double\" : # | > & * ! %",
        ],
        ids=["front_matter", "blanks", "markdown", "unicode", "long", "punctuation"],
    )
    def test_any_content_comes_back_letter_by_letter(self, content: str) -> None:
        stored = self.backend.create(draft(key=content[:40].strip() or "k", content=content))
        found = self.backend.get(stored.id)
        assert found is not None
        assert (found.key, found.content) == (content[:40].strip() or "k", content)

    def test_what_is_not_there_is_none_or_false(self) -> None:
        absent = "00000000-0000-4000-8000-000000000000"
        assert self.backend.get(absent) is None
        assert self.backend.find_by_key(OWNER, "absent") is None
        assert self.backend.update(absent, MemoryChanges(content="x")) is None
        assert self.backend.delete(absent) is False

    def test_a_key_that_the_owner_has_is_updated_in_place(self) -> None:
        first = self.backend.create(
            draft(type="episodic", session_id="s", metadata={"a": 1, "b": 1}, expires_at=timezone.now())
        )
        second = self.backend.create(draft(content="coffee now", metadata={"b": 2}))
        assert (second.id, second.created_at) == (first.id, first.created_at)
        assert second.updated_at >= first.updated_at
        assert told(self.backend.get(first.id)) == (
            OWNER, "tea", "coffee now", "factual", "", {"a": 1, "b": 2}, None,
        )  # fmt: skip
        assert self.backend.count(MemoryFilter(OWNER)) == {"factual": 1}

    def test_memories_without_a_key_stand_side_by_side(self) -> None:
        ids = {self.backend.create(draft("", text)).id for text in ("one", "two")}
        assert len(ids) == 2
        assert self.backend.count(MemoryFilter(OWNER)) == {"factual": 2}

    def test_changes_leave_the_rest_as_it_is(self) -> None:
        stored = self.backend.create(draft(session_id="s", metadata={"a": 1}))
        changed = self.backend.update(stored.id, MemoryChanges(content="black tea", type="semantic"))
        assert told(changed) == told(self.backend.get(stored.id)) == (
            OWNER, "tea", "black tea", "semantic", "s", {"a": 1}, None,
        )  # fmt: skip
        self.backend.update(stored.id, MemoryChanges(metadata={"b": 2}))
        assert dict(self.get(stored.id).metadata) == {"b": 2}

    def test_a_new_key_is_found_and_the_old_one_is_free(self) -> None:
        stored = self.backend.create(draft())
        self.backend.update(stored.id, MemoryChanges(key="drink"))
        assert self.backend.find_by_key(OWNER, "tea") is None
        assert self.backend.find_by_key(OWNER, "drink") == self.backend.get(stored.id)
        assert self.backend.create(draft()).id != stored.id

    def test_a_key_that_another_memory_has_is_a_conflict(self) -> None:
        self.backend.create(draft("taken"))
        stored = self.backend.create(draft())
        with pytest.raises(ConflictError):
            self.backend.update(stored.id, MemoryChanges(key="taken"))
        assert self.get(stored.id).key == "tea"

    def test_a_deleted_memory_is_gone(self) -> None:
        stored = self.backend.create(draft())
        assert self.backend.delete(stored.id) is True
        assert self.backend.delete(stored.id) is False
        assert self.backend.get(stored.id) is None
        assert self.backend.find_by_key(OWNER, "tea") is None
        assert self.backend.count(MemoryFilter(OWNER)) == {}

    def test_keys_that_look_alike_are_different_memories(self) -> None:
        keys = ["Tea", "tea", "tea ", "te-a", "te/a", "../tea", "tea.md", "茶", "TEA:1", "tea?x=1#y", ".", "con"]
        ids = {key: self.backend.create(draft(key, f"says {key}")).id for key in keys}
        assert len(set(ids.values())) == len(keys)
        for key, id in ids.items():
            assert self.get(id).content == f"says {key}"
            found = self.backend.find_by_key(OWNER, key)
            assert found is not None
            assert found.id == id

    # --- copies ---------------------------------------------------------------------------------------------

    def test_a_copy_says_what_the_original_says(self) -> None:
        created_at = datetime(2024, 5, 6, 7, 8, 9, 123000, UTC)
        record = MemoryRecord(
            7, "aaaaaaaa-0000-4000-8000-000000000001", OWNER, "s", "semantic", "tea", "copied", {"a": 1}, created_at,
            created_at + timedelta(days=1), None,
        )  # fmt: skip
        self.backend.put(record)
        self.backend.put(record)
        copy = self.backend.find_by_key(OWNER, "tea")
        assert told(copy) == told(record)
        assert copy is not None
        assert (copy.id, copy.created_at, copy.updated_at) == (record.id, created_at, record.updated_at)
        assert self.backend.count(MemoryFilter(OWNER)) == {"semantic": 1}

    def test_a_copy_takes_the_place_of_what_has_its_key(self) -> None:
        self.backend.create(draft(content="of before"))
        now = timezone.now()
        id = "aaaaaaaa-0000-4000-8000-000000000002"
        self.backend.put(MemoryRecord(1, id, OWNER, "", "factual", "tea", "copied", {}, now, now, None))
        assert [record.content for record in self.list()] == ["copied"]
