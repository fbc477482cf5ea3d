"""The keyword leg of the adaptive search: BM25 with the owner's own document frequencies, spread over neighbours.

Each word of the query counts once in a memory. What it weighs there reaches the memories near it in the conversation
as well, but never twice: of a memory's own share and its neighbours' the largest counts.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory.search.conversation import BM25_K1, Bools, ConversationView, Floats
from memory.search.dates import find_date_terms
from memory.search.kindred import find_kin
from memory.search.owner_index import OwnerIndex
from memory.search.stems import split_query, stem_word

# Kin that more of the memories have says nothing.
_COMMON_SHARE: Final = 0.5
# How many cells (words x memories) are worked on together: few calls for small owners, small arrays for large ones.
_CELLS_AT_ONCE: Final = 1 << 16

Kin = Callable[[str], Iterable[tuple[str, float]]]


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A word asked for: its stem and the date it may name, and stems of kindred meaning with their weights."""

    stems: tuple[str, ...]
    kin: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class LexicalScores:
    """One entry a memory of the view. `own` is BM25 of the memory alone, `spread` with its neighbours' share;
    `best_possible` is what a memory of usual length would get that has every word of the query."""

    own: Floats
    spread: Floats
    best_possible: float

    @property
    def coverage(self) -> Floats:
        """How much of the query a memory and its neighbours hold, 0 to 1, rare words weighing more."""
        if not self.best_possible:
            return np.zeros_like(self.spread)
        covered: Floats = np.minimum(self.spread / np.float32(self.best_possible), np.float32(1))
        return covered


@dataclass(frozen=True, slots=True)
class _Match:
    """`kin` and the word itself in ascending weight, so that written one after the other the largest stays."""

    weight: float
    postings: tuple[tuple[NDArray[np.int32], float], ...]


def read_query(text: str, kin: Kin = find_kin) -> list[QueryTerm]:
    dates = find_date_terms(text)
    terms: dict[str, QueryTerm] = {}
    for word in split_query(text):
        stem = stem_word(word)
        date = dates.pop(word, None)
        related = () if date or word.isdigit() else tuple(kin(word))
        terms.setdefault(stem, QueryTerm((stem, date) if date else (stem,), related))
    # What names a date but is no word of its own: the 8 of "8th", the month of "2023-05".
    terms.update((date, QueryTerm((date,))) for date in dates.values())
    return list(terms.values())


def score_words(index: OwnerIndex, terms: list[QueryTerm], usable: Bools | None) -> LexicalScores:
    """Score every memory of the view; `usable` False gives nothing and shares nothing (None: all are usable)."""
    view = index.view()
    count = len(view.ids)
    own, spread = np.zeros(count, np.float32), np.zeros(count, np.float32)
    matches = [_match_term(index, term) for term in terms]
    # An unknown word is part of what was asked for: a memory can't cover all of the query without it.
    best_possible = sum(match.weight for match in matches) / (1 + BM25_K1)
    matches = [match for match in matches if match.postings]
    at_once = max(1, _CELLS_AT_ONCE // max(count, 1))
    for start in range(0, len(matches), at_once):
        weights = _weigh(matches[start : start + at_once], view)
        if usable is not None:
            weights *= usable
        own += weights.sum(axis=0)
        spread += (_reach_neighbours(weights, view) if view.has_links else weights).sum(axis=0)
    return LexicalScores(own, spread, best_possible)


def _weigh(matches: list[_Match], view: ConversationView) -> Floats:
    """Return what each word (a row) weighs in each memory (a column)."""
    count = len(view.ids)
    weights = np.zeros((len(matches), count), np.float32)
    for row, match in zip(weights, matches, strict=True):
        if match.postings:
            positions = np.concatenate([positions for positions, _ in match.postings])
            sizes = [len(positions) for positions, _ in match.postings]
            shares = np.repeat(np.array([weight for _, weight in match.postings], np.float32), sizes)
            row[positions] = shares * view.saturation[positions]
    return weights


def _match_term(index: OwnerIndex, term: QueryTerm) -> _Match:
    found = [index.find_positions(stem) for stem in term.stems]
    positions = found[0] if len(found) == 1 else np.unique(np.concatenate(found))
    count = len(index)
    weight = weigh_rarity(len(positions), count)
    postings = [(positions, weight)] if len(positions) else []
    for stem, share in term.kin:
        near = index.find_positions(stem)
        if 0 < len(near) <= count * _COMMON_SHARE:
            postings.append((near, share * min(weight, weigh_rarity(len(near), count))))
    postings.sort(key=lambda posting: posting[1])
    return _Match(weight, tuple(postings))


def weigh_rarity(matching: int, count: int) -> float:
    """BM25's inverse document frequency, never below 0."""
    return math.log(1 + (count - matching + 0.5) / (matching + 0.5))


def _reach_neighbours(weights: Floats, view: ConversationView) -> Floats:
    best = weights.copy()
    for step, links in enumerate(view.word_links, 1):
        forward = view.answer_links if step == 1 else links
        np.maximum(best[:, step:], forward[step:] * weights[:, :-step], out=best[:, step:])
        np.maximum(best[:, :-step], links[step:] * weights[:, step:], out=best[:, :-step])
    return best
