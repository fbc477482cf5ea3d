"""Search: rank an owner's memories for a query, by the best way that is available now.

`exact` reads the newest and scores them by keyword. `semantic` ranks by vector, `hybrid` fuses keywords and vectors by
reciprocal rank, `adaptive` by score (see `memory.search.adaptive`). Each degrades to FTS5 and, where that finds
nothing, to the newest, and says so in `fallback_reason`.
"""

from dataclasses import replace

from django.conf import settings as process_settings
from django.utils import timezone

from memory.config import load_settings
from memory.models import MemoryQuerySet
from memory.records import MemoryRecord, SearchHit, SearchOutcome, SearchQuery
from memory.rows import load_by_ids, load_newest, select_usable
from memory.search import keyword
from memory.search.ranking import TERM_SCORE, fuse_reciprocal_ranks, score_keywords
from memory.search.terms import extract_query_terms
from memory.vector_stores.base import VectorHit
from memory.vector_stores.resolver import NoVectors, VectorLeg, open_leg

# Candidates a leg may bring (contract 6.2).
CANDIDATES = 100
NO_FULLTEXT = "FTS5 is not available (degraded to the newest)"
EMPTY_VECTORS = "the vector search found nothing (degraded to FTS5)"


def search(query: SearchQuery) -> SearchOutcome:
    """Return hits in rank order. A blank query ranks by age alone, in every strategy."""
    if not query.text.strip():
        newest = load_newest(select_usable(query), CANDIDATES)
        return SearchOutcome([SearchHit(record, 0.0, "fts5") for record in newest], query.strategy)
    if query.strategy == "exact":
        hits = _score_records(load_newest(select_usable(query), CANDIDATES), query.text, query.text.lower().split(), {})
        return SearchOutcome([hit for hit in hits if hit.score > 0], "exact")
    leg = open_leg(query.text, load_settings().embedding)
    if isinstance(leg, NoVectors):
        outcome = _search_by_keywords(query, leg.reason)
        return replace(outcome, embedding_source=leg.embedding_source, embedding_model=leg.embedding_model)
    return _search_with_vectors(query, leg)


def _search_with_vectors(query: SearchQuery, leg: VectorLeg) -> SearchOutcome:
    rows = select_usable(query, timezone.now())
    depth = CANDIDATES if query.strategy == "semantic" else process_settings.MEMORY_VEC_TOP_K
    near = leg.store.search(query.owner, leg.query_vector, depth, rows)
    # No hit: nothing is indexed for this owner, or nothing of it may be used. Keywords see more (T6).
    outcome = _search_near(query, rows, near) if near else _search_by_keywords(query, EMPTY_VECTORS)
    return replace(
        outcome,
        embedding_source=leg.embedding_source,
        embedding_model=leg.embedding_model,
        vector_store=leg.store.name,
    )


def _search_near(query: SearchQuery, rows: MemoryQuerySet, near: list[VectorHit]) -> SearchOutcome:
    hits = _rank_by_distance(rows, near) if query.strategy == "semantic" else _fuse_legs(rows, near, query)
    return SearchOutcome(hits, query.strategy)


def _rank_by_distance(rows: MemoryQuerySet, near: list[VectorHit]) -> list[SearchHit]:
    records = load_by_ids(rows, [hit.memory_id for hit in near])
    return [
        SearchHit(records[hit.memory_id], hit.similarity, "vector", vector_score=hit.similarity)
        for hit in near
        if hit.memory_id in records
    ]


def _fuse_legs(rows: MemoryQuerySet, near: list[VectorHit], query: SearchQuery) -> list[SearchHit]:
    """Reciprocal rank fusion of both legs (contract 6.5); a memory that only one leg found counts with that one."""
    ranks = {}
    if keyword.has_fulltext_index():
        ranks = dict(keyword.rank_by_fulltext(rows, query.text, query.owner, CANDIDATES))
    similarities = {hit.memory_id: hit.similarity for hit in near}
    fused = fuse_reciprocal_ranks([list(ranks), list(similarities)], process_settings.MEMORY_RRF_K)
    records = load_by_ids(rows, fused)
    hits = [
        SearchHit(records[memory_id], score, "hybrid-rrf", similarities.get(memory_id), ranks.get(memory_id))
        for memory_id, score in fused.items()
        if memory_id in records
    ]
    return sorted(hits, key=lambda hit: (-hit.score, -hit.record.memory_id))


def _search_by_keywords(query: SearchQuery, reason: str) -> SearchOutcome:
    """Tier 0: FTS5 matches; `hybrid` adds those of the newest that hold a term as part of a word.

    When nothing matches, the newest stand in, so that a greeting still carries context.
    """
    rows = select_usable(query, timezone.now())
    terms = extract_query_terms(query.text)
    ranks: dict[int, float] = {}
    if keyword.has_fulltext_index():
        ranks = dict(keyword.rank_by_fulltext(rows, query.text, query.owner, CANDIDATES))
    else:
        reason = NO_FULLTEXT
    found = load_by_ids(rows, ranks)
    candidates = [found[memory_id] for memory_id in ranks if memory_id in found]
    if query.strategy == "hybrid" or not candidates:
        candidates += [record for record in load_newest(rows, CANDIDATES) if record.memory_id not in ranks]
    hits = _score_records(candidates, query.text, terms, ranks)
    matched = [hit for hit in hits if hit.score > 0]
    return SearchOutcome(matched if ranks else hits, query.strategy, fallback_reason=reason)


def _score_records(
    records: list[MemoryRecord], text: str, terms: list[str], ranks: dict[int, float]
) -> list[SearchHit]:
    """Order by keyword relevance, then bm25, then age (contract 6.3).

    A row that FTS5 matched by the stem of a word ("databases" - "database") counts as one occurrence of it.
    """
    phrase = text.strip().lower()
    hits = []
    for record in records:
        score = score_keywords(record, phrase, terms)
        rank = ranks.get(record.memory_id)
        if rank is not None:
            score = max(score, TERM_SCORE)
        hits.append(SearchHit(record, score, "fts5", keyword_score=rank))
    hits.sort(key=lambda hit: (-hit.score, hit.keyword_score or 0.0, -hit.record.created_at.timestamp()))
    return hits
