"""The `adaptive` strategy: keywords by the owner's own statistics, meaning, conversation, dates and speakers in one
ranking, out of an index in this process. SQL has the last word on every memory that is handed out."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

import numpy as np
from django.utils import timezone
from numpy.typing import NDArray

from memory.models import Memory
from memory.records import SearchHit, SearchQuery
from memory.rows import load_newest, load_usable
from memory.search.conversation import Bools, Floats
from memory.search.exclusion import Exclusion, find_exclusion
from memory.search.fusion import FusedScores, fuse
from memory.search.index_cache import INDEXES
from memory.search.lexical import LexicalScores, read_query, score_words
from memory.search.owner_index import OwnerIndex
from memory.search.stems import measure_latin_share, split_query
from memory.search.vector_evidence import Vector, VectorEvidence, VectorScores

Verdict = Exclusion | Literal["no_evidence", "below_minimum_relevance"]
# How much of a query (0 to 1) the embedder can read. The default is that of an English embedder.
EmbedderReads = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a memory was chosen or not. Ranks count from 1 among the memories the query may use.

    `keyword_score` is the keyword leg's score with its neighbours' share, `own_keyword_score` without;
    `vector_score` the cosine. `excluded_by` is None for a memory that was ranked.
    """

    memory_id: str
    excluded_by: Verdict | None
    candidates: int = 0
    score: float | None = None
    rank: int | None = None
    keyword_score: float | None = None
    own_keyword_score: float | None = None
    keyword_rank: int | None = None
    vector_score: float | None = None
    vector_rank: int | None = None
    relevance: float | None = None


@dataclass(frozen=True, slots=True)
class _Scores:
    """Arrays in the view's order; `is_ranked` False for what the query may not use or what nothing speaks for."""

    ids: NDArray[np.int64]
    own_times: NDArray[np.float64]
    usable: Bools
    is_ranked: Bools
    relevance: Floats
    words: LexicalScores
    fused: FusedScores


_DAY: Final = timedelta(days=1)


def search_adaptive(
    query: SearchQuery,
    query_vector: Vector | None,
    vectors: VectorScores | None,
    *,
    embedder_reads: EmbedderReads = measure_latin_share,
    minimum_relevance: float = 0.0,
) -> list[SearchHit]:
    """Return at most `query.limit` hits, best first. `query_vector` has length 1; without it or `vectors` the keyword
    leg ranks alone.

    `minimum_relevance` (0 to 1) drops memories whose mean of covered query words and cosine lies below. Where nothing
    speaks for any memory, the newest stand in with score 0, unless a minimum is set.
    """
    now = timezone.now()
    scores = _score(query, query_vector, vectors, embedder_reads, minimum_relevance, now)
    if scores is None or not scores.is_ranked.any():
        newest = [] if minimum_relevance > 0 else load_newest(query, query.limit, now)
        return [SearchHit(record, 0.0, "adaptive") for record in newest]
    best = _take_best(scores, query.limit)
    memory_ids: list[int] = scores.ids[best].tolist()
    records = load_usable(query, memory_ids, now)
    keyword_ranks = _rank(scores.words.spread, best, scores.usable)
    vector_ranks = None if scores.fused.cosines is None else _rank(scores.fused.cosines, best, scores.usable)
    return [
        SearchHit(
            records[memory_id],
            float(scores.fused.fused[position]),
            "adaptive",
            vector_score=_read_cosine(scores, position),
            keyword_score=_read_keyword_score(scores, position),
            vector_rank=None if vector_ranks is None else vector_ranks[place],
            keyword_rank=keyword_ranks[place],
        )
        for place, (position, memory_id) in enumerate(zip(best.tolist(), memory_ids, strict=True))
        if memory_id in records
    ]


def explain(
    query: SearchQuery,
    query_vector: Vector | None,
    vectors: VectorScores | None,
    memory_uuid: str,
    *,
    embedder_reads: EmbedderReads = measure_latin_share,
    minimum_relevance: float = 0.0,
) -> Explanation:
    """Tell how the search with these arguments saw one memory, whether or not it found it."""
    now = timezone.now()
    excluded_by = find_exclusion(query, memory_uuid, now)
    if excluded_by is not None:
        return Explanation(memory_uuid, excluded_by)
    memory_id = Memory.objects.filter(uuid=memory_uuid).values_list("memory_id", flat=True).first()
    scores = _score(query, query_vector, vectors, embedder_reads, minimum_relevance, now)
    found = np.nonzero(scores.ids == memory_id)[0] if scores is not None else np.zeros(0, np.int64)
    if scores is None or not len(found) or not scores.usable[found[0]]:
        return Explanation(memory_uuid, "no_evidence")
    return _describe(scores, int(found[0]), memory_uuid, minimum_relevance)


def _score(
    query: SearchQuery,
    query_vector: Vector | None,
    vectors: VectorScores | None,
    embedder_reads: EmbedderReads,
    minimum_relevance: float,
    now: datetime,
) -> _Scores | None:
    """Score all memories of the owner; None when there are none or the query says nothing."""
    if not query.text.strip():
        return None
    reads = min(max(embedder_reads(query.text), 0.0), 1.0)
    evidence: VectorEvidence | None = None
    if query_vector is not None and vectors is not None and reads > 0:
        evidence = vectors.score(query.owner, query_vector)
        if not evidence.cosines.any():
            evidence = None
    terms = read_query(query.text)
    with INDEXES.open(query.owner) as index:
        if not len(index):
            return None
        view = index.view()
        usable = _find_usable(index, query, now)
        words = score_words(index, terms, usable)
        speakers = index.find_speakers(split_query(query.text), query.text.casefold())
    fused = fuse(view, words, evidence, speakers, usable, reads)
    if usable is None:
        usable = np.ones(len(view.ids), bool)
    relevance = _measure_relevance(words, fused, reads)
    is_ranked = usable & fused.is_supported
    if minimum_relevance > 0:
        is_ranked &= relevance >= minimum_relevance
    return _Scores(view.ids, view.own_times, usable, is_ranked, relevance, words, fused)


def _find_usable(index: OwnerIndex, query: SearchQuery, now: datetime) -> Bools | None:
    """Return which memories the query may use, None when it may use all."""
    view = index.view()
    usable: Bools = (view.expires > now.timestamp()) & (view.updated >= (now - query.retention_days * _DAY).timestamp())
    if query.session_id is not None:
        usable &= index.is_in_session(query.session_id)
    if query.type is not None:
        usable &= index.is_of_type(query.type)
    return None if usable.all() else usable


def _measure_relevance(words: LexicalScores, fused: FusedScores, reads: float) -> Floats:
    """Half the query's covered words, half the cosine; as far as the embedder can't read, the words alone."""
    if fused.cosines is None:
        return words.coverage
    nearness = np.clip(np.nan_to_num(fused.cosines, nan=0.0), 0, 1)
    half = np.float32(reads / 2)
    relevance: Floats = (1 - half) * words.coverage + half * nearness
    return relevance


def _take_best(scores: _Scores, limit: int) -> NDArray[np.int64]:
    ranked = np.nonzero(scores.is_ranked)[0]
    values = scores.fused.fused[ranked]
    if len(ranked) > limit:
        kept = np.argpartition(-values, limit - 1)[:limit]
        ranked, values = ranked[kept], values[kept]
    order = np.lexsort((-scores.ids[ranked], -scores.own_times[ranked], -values))
    return ranked[order]


def _read_keyword_score(scores: _Scores, position: int) -> float | None:
    score = float(scores.words.spread[position])
    return score if score > 0 else None


def _read_cosine(scores: _Scores, position: int) -> float | None:
    if scores.fused.cosines is None or np.isnan(scores.fused.cosines[position]):
        return None
    return float(scores.fused.cosines[position])


def _describe(scores: _Scores, position: int, memory_uuid: str, minimum_relevance: float) -> Explanation:
    fused, words = scores.fused, scores.words
    relevance = float(scores.relevance[position])
    is_ranked = bool(scores.is_ranked[position])
    too_weak = minimum_relevance > 0 and relevance < minimum_relevance
    place = np.array([position])
    return Explanation(
        memory_uuid,
        None if is_ranked else "below_minimum_relevance" if too_weak else "no_evidence",
        candidates=int(scores.is_ranked.sum()),
        score=float(fused.fused[position]),
        rank=1 + int((fused.fused > fused.fused[position])[scores.is_ranked].sum()) if is_ranked else None,
        keyword_score=_read_keyword_score(scores, position),
        own_keyword_score=float(words.own[position]),
        keyword_rank=_rank(words.spread, place, scores.usable)[0],
        vector_score=_read_cosine(scores, position),
        vector_rank=None if fused.cosines is None else _rank(fused.cosines, place, scores.usable)[0],
        relevance=relevance,
    )


def _rank(values: Floats, positions: NDArray[np.int64], among: Bools) -> list[int | None]:
    """Return the places of some memories by a score, from 1, equal ones sharing one; None where there is no score."""
    chosen = values[positions]
    ordered = np.sort(values[among & (values != 0) & ~np.isnan(values)])
    ranks = 1 + len(ordered) - np.searchsorted(ordered, chosen, side="right")
    return [None if score == 0 or np.isnan(score) else int(rank) for score, rank in zip(chosen, ranks, strict=True)]
