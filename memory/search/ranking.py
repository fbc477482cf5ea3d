"""Scores and order. Pure functions over records; contract 6.3 (keyword relevance) and 6.6 (token budget)."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from memory.records import MemoryRecord

WHOLE_QUERY_SCORE: Final = 20.0
KEY_TERM_SCORE: Final = 6.0
TERM_SCORE: Final = 3.0
CHARS_PER_TOKEN: Final = 4

Item = TypeVar("Item")


def estimate_tokens(text: str) -> int:
    """Characters / 4, rounded up; the estimate that every budget of the product counts in."""
    return -(-len(text) // CHARS_PER_TOKEN)


def score_keywords(record: MemoryRecord, phrase: str, terms: Iterable[str]) -> float:
    """Keyword relevance (contract 6.3): `phrase` is the whole query, lower-cased, `terms` its words.

    Each of content, key and metadata gives 20 if it holds the phrase; each term gives 6 if the key holds it, else 3
    for every occurrence. Metadata is its JSON, names and all, as specified: "use" stands in "user_message".
    """
    key = record.key.lower()
    fields = [(record.content.lower(), False), (key, True)]
    if record.metadata:
        fields.append((json.dumps(dict(record.metadata), ensure_ascii=False).lower(), False))
    score = 0.0
    for field, is_key in fields:
        if phrase and phrase in field:
            score += WHOLE_QUERY_SCORE
        for term in terms:
            if is_key:
                score += KEY_TERM_SCORE if term in field else 0.0
            else:
                score += TERM_SCORE * field.count(term)
    return score


def fuse_reciprocal_ranks(rankings: Iterable[Sequence[int]], rrf_k: int) -> dict[int, float]:
    """Reciprocal rank fusion: an id's score is the sum of 1/(rrf_k + rank) over the rankings that hold it.

    Ranks count from 1. Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual
    Rank Learning Methods", SIGIR 2009.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, memory_id in enumerate(ranking, start=1):
            scores[memory_id] = scores.get(memory_id, 0.0) + 1.0 / (rrf_k + rank)
    return scores


def walk_budget(ranked: Sequence[Item], max_tokens: int, count_tokens: Callable[[Item], int]) -> list[tuple[Item, int]]:
    """Take items in rank order while they fit; stop at the first that does not (contract B8).

    The first item is taken whatever it costs: a search that matched never ends with nothing.
    """
    chosen: list[tuple[Item, int]] = []
    total = 0
    for item in ranked:
        tokens = count_tokens(item)
        if chosen and total + tokens > max_tokens:
            break
        chosen.append((item, tokens))
        total += tokens
        if total > max_tokens:
            break
    return chosen
