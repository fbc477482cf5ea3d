"""What every backend must do. A backend's test module subclasses this and says how to open one."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from core.errors import ConflictError, InvalidFieldsError
from memory.backends.base import MemoryBackend, MemoryChanges
from memory.models import HEALTH_CHECK_OWNER, MemoryUse
from memory.records import MemoryDraft, MemoryFilter, MemoryRecord, SearchQuery

OWNER, OTHER = "152868af-9ae2-44d5-b601-a4d4e731ea9f", "other owner/of: a *strange* name"


def draft(key: str = "tea", content: str = "I prefer green tea", owner: str = OWNER, **fields: Any) -> MemoryDraft:
    return MemoryDraft(owner, key, content, **fields)


def told(record: MemoryRecord | None) -> tuple[Any, ...]:
    """What a record says, without what a backend may choose itself."""
    assert record is not None
    return (
        record.owner, record.key, record.content, record.type, record.session_id, dict(record.metadata),
        record.expires_at,
    )  # fmt: skip


@pytest.mark.django_db
class BackendContract:
    backend: MemoryBackend

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

    # --- many -----------------------------------------------------------------------------------------------

    def test_owners_never_see_each_other(self) -> None:
        ours, theirs = self.backend.create(draft()), self.backend.create(draft(owner=OTHER, content="theirs"))
        pool = self.backend.create(draft(owner="", content="nobody's"))
        assert len({ours.id, theirs.id, pool.id}) == 3
        for owner, record in ((OWNER, ours), (OTHER, theirs), ("", pool)):
            assert [it.id for it in self.list(MemoryFilter(owner))] == [record.id]
            assert self.backend.count(MemoryFilter(owner)) == {"factual": 1}
            found = self.backend.find_by_key(owner, "tea")
            assert found is not None
            assert found.id == record.id
        hits = self.backend.search(SearchQuery(OTHER, "tea theirs", "hybrid", 30)).hits
        assert [hit.record.id for hit in hits] == [theirs.id]
        assert len(self.list(MemoryFilter(None))) == 3
        assert self.backend.delete_matching(MemoryFilter(OTHER)) == 1
        assert len(self.list(MemoryFilter(None))) == 2

    def test_the_memory_of_the_self_test_is_in_nobodys_list(self) -> None:
        stored = self.backend.create(draft(owner=HEALTH_CHECK_OWNER))
        assert self.list(MemoryFilter(None)) == []
        assert [it.id for it in self.list(MemoryFilter(HEALTH_CHECK_OWNER))] == [stored.id]

    def test_every_filter_narrows(self) -> None:
        now = timezone.now()
        facts = {"category": "preference", "polarity": "negative", "source": "user_message"}
        fact = self.backend.create(draft("a", "Dislikes Žodis", type="episodic", session_id="s", metadata=facts))
        plain = self.backend.create(draft("b", "plain", expires_at=now + timedelta(days=2)))
        gone = self.backend.create(draft("c", "expired", expires_at=now - timedelta(days=1)))
        late = self.backend.create(draft("d žodis key", "late", expires_at=now + timedelta(days=90)))
        MemoryUse.objects.create(
            memory_uuid=plain.id, api_key_id=OWNER, last_injected_at=now, last_request_id="r", count=1
        )
        expected: list[tuple[dict[str, Any], set[str]]] = [
            ({"type": "episodic"}, {fact.id}),
            ({"session_id": "s"}, {fact.id}),
            ({"session_id": ""}, {plain.id, gone.id, late.id}),
            ({"category": "preference"}, {fact.id}),
            ({"polarity": "negative"}, {fact.id}),
            ({"polarity": "positive"}, set()),
            ({"source": "user_message"}, {fact.id}),
            ({"source": ""}, {plain.id, gone.id, late.id}),
            ({"text": "žODIS"}, {fact.id, late.id}),
            ({"text": "%"}, set()),
            ({"expiry": "never"}, {fact.id}),
            ({"expiry": "active"}, {fact.id, plain.id, late.id}),
            ({"expiry": "soon"}, {plain.id}),
            ({"expiry": "expired"}, {gone.id}),
            ({"is_used": True}, {plain.id}),
            ({"is_used": False}, {fact.id, gone.id, late.id}),
            ({"is_indexed": True}, set()),
            ({"type": "factual", "text": "late"}, {late.id}),
        ]
        for fields, ids in expected:
            filter = MemoryFilter(OWNER, **fields)
            assert {record.id for record in self.list(filter)} == ids, fields
            assert sum(self.backend.count(filter).values()) == len(ids), fields

    @pytest.mark.parametrize("order", ["-created", "created", "-updated", "updated", "-key", "key"])
    def test_lists_are_in_order_page_by_page(self, order: Any) -> None:
        records = [self.backend.create(draft(key, f"c{key}")) for key in ("b", "d", "a", "e", "c")]
        self.backend.update(records[1].id, MemoryChanges(content="changed"))
        sequence = {
            "created": "bdaec", "updated": "baecd", "key": "abcde",
        }[order.removeprefix("-")]  # fmt: skip
        sequence = sequence[::-1] if order.startswith("-") else sequence
        pages = [self.backend.list(MemoryFilter(OWNER), limit=2, offset=at, order=order) for at in (0, 2, 4, 6)]
        assert ["".join(record.key for record in page.records) for page in pages] == [
            sequence[:2], sequence[2:4], sequence[4:], "",
        ]  # fmt: skip
        assert all((page.total, page.by_type) == (5, {"factual": 5}) for page in pages)
        walked, after = "", None
        while True:
            part = self.backend.scan(MemoryFilter(OWNER), limit=2, after=after, order=order)
            walked += "".join(record.key for record in part.records)
            after = part.next_cursor
            if after is None:
                break
        assert walked == sequence
        assert pages[0].next_cursor is not None
        rest = self.backend.scan(MemoryFilter(OWNER), limit=9, after=pages[0].next_cursor, order=order)
        assert "".join(record.key for record in rest.records) == sequence[2:]

    def test_a_walk_is_not_disturbed_by_what_is_deleted_meanwhile(self) -> None:
        ids = [self.backend.create(draft(key, key)).id for key in "abcde"]
        part = self.backend.scan(MemoryFilter(OWNER), limit=2, after=None, order="key")
        for id in ids[:3]:
            self.backend.delete(id)
        rest = self.backend.scan(MemoryFilter(OWNER), limit=9, after=part.next_cursor, order="key")
        assert [record.key for record in rest.records] == ["d", "e"]

    @pytest.mark.parametrize("cursor", ["", "x", "%%%", "W10", "eyJhIjoxfQ"])
    def test_a_broken_cursor_is_refused(self, cursor: str) -> None:
        self.backend.create(draft())
        with pytest.raises(InvalidFieldsError):
            self.backend.scan(MemoryFilter(OWNER), limit=1, after=cursor)

    def test_deleting_what_matches_leaves_the_rest(self) -> None:
        for number in range(5):
            self.backend.create(draft(f"k{number}", "x", type="episodic" if number % 2 else "factual"))
        assert self.backend.delete_matching(MemoryFilter(OWNER, type="episodic")) == 2
        assert self.backend.delete_matching(MemoryFilter(OWNER), older_than=timezone.now() - timedelta(hours=1)) == 0
        assert self.backend.delete_matching(MemoryFilter(OWNER), older_than=timezone.now() + timedelta(hours=1)) == 3
        assert self.list() == []

    def test_tokens_are_counted_by_owner(self) -> None:
        self.backend.create(draft("a", "x" * 9))
        self.backend.create(draft("b", "x" * 4))
        self.backend.create(draft("a", "x" * 40, owner=OTHER))
        assert [self.backend.count_tokens(owner) for owner in (OWNER, OTHER, None, "nobody")] == [4, 10, 14, 0]

    # --- search ---------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("strategy", ["exact", "semantic", "hybrid", "adaptive"])
    def test_the_best_match_comes_first(self, strategy: Any) -> None:
        self.backend.create(draft("editor", "Uses Vim on Linux"))
        best = self.backend.create(draft("drink", "Prefers green tea over black tea"))
        outcome = self.backend.search(SearchQuery(OWNER, "green tea", strategy, 30))
        assert outcome.hits[0].record.id == best.id
        assert outcome.strategy == strategy
        assert outcome.hits[0].score > 0

    def test_a_search_brings_only_what_may_be_used(self) -> None:
        now = timezone.now()
        good = self.backend.create(draft("a", "green tea", session_id="s"))
        self.backend.create(draft("b", "green tea", session_id="s", expires_at=now - timedelta(seconds=1)))
        other_session = self.backend.create(draft("c", "green tea"))
        old = now - timedelta(days=40)
        id = "aaaaaaaa-0000-4000-8000-000000000003"
        self.backend.put(MemoryRecord(1, id, OWNER, "s", "factual", "d", "green tea", {}, old, old, None))
        for text in ("green tea", ""):
            query = SearchQuery(OWNER, text, "hybrid", 30)
            assert {hit.record.id for hit in self.backend.search(query).hits} == {good.id, other_session.id}
            query = SearchQuery(OWNER, text, "hybrid", 30, session_id="s", type="factual")
            assert [hit.record.id for hit in self.backend.search(query).hits] == [good.id]

    def test_a_blank_query_ranks_by_age(self) -> None:
        ids = [self.backend.create(draft(key, key)).id for key in "abc"]
        hits = self.backend.search(SearchQuery(OWNER, "  ", "exact", 30)).hits
        assert [hit.record.id for hit in hits] == ids[::-1]

    def test_numbers_of_memories_do_not_collide(self) -> None:
        for key in "abcdef":
            self.backend.create(draft(key, f"green tea {key}"))
        hits = self.backend.search(SearchQuery(OWNER, "green tea", "hybrid", 30)).hits
        assert len({hit.record.memory_id for hit in hits}) == 6

    # --- the rest -------------------------------------------------------------------------------------------

    def test_it_is_well(self) -> None:
        health = self.backend.health()
        assert (health.is_ok, health.error) == (True, None)
        assert health.latency_ms >= 0

    def get(self, id: str) -> MemoryRecord:
        record = self.backend.get(id)
        assert record is not None
        return record

    def list(self, filter: MemoryFilter | None = None) -> Any:
        return self.backend.list(filter or MemoryFilter(OWNER), limit=100, offset=0).records
