"""What every backend must do with many memories: owners, filters, order, pages, deleting, counting."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from core.errors import InvalidFieldsError
from memory.backends.base import MemoryChanges
from memory.models import HEALTH_CHECK_OWNER, MemoryUse
from memory.records import MemoryFilter, SearchQuery
from tests.backends.contract_drafts import OTHER, OWNER, BackendUnderTest, draft


class ListContract(BackendUnderTest):
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
