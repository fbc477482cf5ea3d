"""Rank memories that a backend has handed over whole: BM25 over their stems, or the specification's keyword score."""

import math
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from core.words import gettext as _
from memory.backends.narrowing import is_usable, sort_records
from memory.records import MemoryRecord, SearchHit, SearchOutcome, SearchQuery
from memory.search.ranking import score_keywords
from memory.search.stems import split_query, split_words, stem_word

# What each word counts (BM25): how soon repetition stops to help, and how much long texts pay for their length.
_K1: Final = 1.2
_B: Final = 0.75


def rank_records(records: Sequence[MemoryRecord], query: SearchQuery, now: datetime, *, peer: str) -> SearchOutcome:
    """Rank those that the query may use. A blank text ranks by age alone; with one, only what matches is returned.

    Vectors are kept of this database's memories only, so the strategies that want them say what they did without.
    """
    usable = sort_records((record for record in records if is_usable(record, query, now)), "-created")
    if not query.text.strip():
        hits = [SearchHit(record, 0.0, "backend") for record in usable]
        return SearchOutcome(hits[: query.limit], query.strategy)
    if query.strategy == "exact":
        scores = _score_by_phrase(usable, query.text)
        reason = None
    else:
        scores = _score_by_words(usable, query.text)
        reason = _("%(peer)s has no vectors (ranked by keywords)") % {"peer": peer}
    hits = [
        SearchHit(record, score, "backend", keyword_score=score)
        for record, score in zip(usable, scores, strict=True)
        if score > 0
    ]
    hits.sort(key=lambda hit: hit.score, reverse=True)
    return SearchOutcome(hits[: query.limit], query.strategy, fallback_reason=reason)


def _score_by_phrase(records: Sequence[MemoryRecord], text: str) -> list[float]:
    phrase = text.strip().lower()
    return [score_keywords(record, phrase, phrase.split()) for record in records]


def _score_by_words(records: Sequence[MemoryRecord], text: str) -> list[float]:
    counts = [Counter(stem_word(word) for word in split_words(f"{_spell(record.key)} {record.content}"))
              for record in records]  # fmt: skip
    mean_length = sum(count.total() for count in counts) / len(counts) if counts else 0.0
    scores = [0.0] * len(records)
    for stem in {stem_word(word) for word in split_query(text)}:
        holders = [index for index, count in enumerate(counts) if stem in count]
        rarity = math.log(1 + (len(counts) - len(holders) + 0.5) / (len(holders) + 0.5))
        for index in holders:
            often = counts[index][stem]
            length = counts[index].total() / mean_length
            scores[index] += rarity * often * (_K1 + 1) / (often + _K1 * (1 - _B + _B * length))
    return scores


def _spell(key: str) -> str:
    """Keys join their words by underscores, which count as letters elsewhere."""
    return key.replace("_", " ")
