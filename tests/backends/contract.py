"""What every backend must do. A backend's test module subclasses this and says how to open one."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory.records import MemoryRecord, SearchQuery
from tests.backends.contract_drafts import OWNER, draft
from tests.backends.contract_lists import ListContract
from tests.backends.contract_memory import MemoryContract


@pytest.mark.django_db
class BackendContract(MemoryContract, ListContract):
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
