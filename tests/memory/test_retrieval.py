"""What goes into a prompt: the token budget, stand-ins, and what counts as evidence."""

import pytest

from memory import services
from memory.config import MEMORY_SECTION, load_settings
from memory.records import MemoryDraft, SearchQuery
from memory.retrieval import retrieve, retrieve_for_chat

pytestmark = pytest.mark.django_db


def remember(content: str, **fields) -> None:
    services.create(MemoryDraft("A", "", content, **fields))


def choose(text: str, max_tokens: int, strategy="hybrid") -> list[str]:
    retrieval = retrieve(SearchQuery("A", text, strategy, 30), max_tokens=max_tokens)
    return [item.hit.record.content[:20] for item in retrieval.chosen]


def test_rw_014_the_specifications_strategies_stop_at_the_first_overflow_and_adaptive_packs():
    for number in range(5):
        remember(f"pizza place number {number}")
    remember("pizza " * 6000)
    assert choose("pizza", 200) == ["pizza " * 3 + "pi"], "the best match comes alone, whatever it costs"
    packed = choose("pizza", 200, "adaptive")
    assert len(packed) == 5 and all("place" in content for content in packed)
    for strategy in ("exact", "semantic", "hybrid", "adaptive"):
        assert len(choose("pizza", 1, strategy)) == 1


def test_newest_that_only_stand_in_stay_within_the_budget():
    remember("x" * 40_000)
    assert choose("hello there", 2000) == []
    remember("a short one")
    assert choose("hello there", 2000) == ["a short one"]
    remember("y" * 40_000)
    assert choose("hello there", 2000) == ["a short one"]


def test_the_saved_strategy_decides_in_chat():
    MEMORY_SECTION.write({"enabled": True, "strategy": "recent"})
    remember("first")
    remember("second")
    found = retrieve_for_chat("A", "first", load_settings())
    assert [item.hit.record.content for item in found.chosen] == ["second", "first"]


def test_a_budget_of_nothing_gives_nothing():
    remember("pizza")
    assert choose("pizza", 0) == []
