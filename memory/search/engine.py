"""Search: rank an owner's memories for a query, by the best way that is available now.

`exact` reads the newest and scores them by keyword. `semantic` ranks by vector, `hybrid` fuses keywords and vectors by
reciprocal rank, `adaptive` by score (see `memory.search.adaptive`). With Qdrant switched on they take their vectors
from it, else and where it fails from sqlite-vec. Each degrades to FTS5 and, where that finds nothing, to the newest,
and says so in `fallback_reason`.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import structlog
from django.conf import settings as process_settings

from core.providers.rerank import MAX_DOCUMENTS
from core.words import gettext as _
from core.words import join_words
from memory.config import MemorySettings, load_settings
from memory.records import MemoryRecord, SearchHit, SearchOutcome, SearchQuery, Tier
from memory.rows import load_newest, load_usable, select_usable
from memory.search import adaptive, keyword
from memory.search.adaptive import Explanation
from memory.search.matrix_scores import measure_readable_share, open_scores
from memory.search.nearest_scores import NOTHING_FOUND
from memory.search.ranking import TERM_SCORE, fuse_reciprocal_ranks, score_keywords
from memory.search.rerank import rerank_hits
from memory.search.terms import extract_query_terms
from memory.vector_stores.base import VectorHit, VectorStoreError
from memory.vector_stores.resolver import NoVectors, VectorLeg, open_leg, open_qdrant_leg

logger = structlog.get_logger(__name__)

# Candidates a leg may bring (contract 6.2).
CANDIDATES = 100
NO_FULLTEXT = _("FTS5 is not available (degraded to the newest)")
EMPTY_VECTORS = _("the vector search found nothing (degraded to FTS5)")


def search(query: SearchQuery) -> SearchOutcome:
    """Return hits in rank order. A blank query ranks by age alone, in every strategy."""
    if not query.text.strip():
        newest = load_newest(query, CANDIDATES)
        return SearchOutcome([SearchHit(record, 0.0, "fts5") for record in newest], query.strategy)
    if query.strategy == "exact":
        hits = _score_records(load_newest(query, CANDIDATES), query.text, query.text.lower().split(), {})
        return SearchOutcome([hit for hit in hits if hit.score > 0], "exact")
    settings = query.settings or load_settings()
    if settings.vector_store != "qdrant":
        return _search_here(query, settings)
    found = _search_qdrant(query, settings)
    if isinstance(found, SearchOutcome):
        return found
    outcome = _search_here(query, settings)
    instead = outcome.fallback_reason or _("fell back to sqlite-vec")
    told = join_words("; ", (_("Qdrant: %(reason)s") % {"reason": found}, instead))
    return replace(outcome, fallback_reason=told)


def explain(query: SearchQuery, memory_uuid: str) -> Explanation:
    """Tell how the adaptive search for `query` sees one memory, whether or not it finds it."""
    settings = query.settings or load_settings()
    if settings.vector_store == "qdrant":
        leg = open_qdrant_leg(query)
        if isinstance(leg, VectorLeg):
            try:
                return _explain_by(query, leg, memory_uuid)
            except VectorStoreError as error:
                logger.info("memory.search.qdrant_failed", reason=error.reason)
    return _explain_by(query, open_leg(query.text, settings.embedding), memory_uuid)


def _explain_by(query: SearchQuery, leg: VectorLeg | NoVectors, memory_uuid: str) -> Explanation:
    minimum = process_settings.MEMORY_MIN_RELEVANCE
    if isinstance(leg, NoVectors):
        return adaptive.explain(query, None, None, memory_uuid, minimum_relevance=minimum)
    return adaptive.explain(
        query,
        leg.query_vector,
        open_scores(leg, query),
        memory_uuid,
        embedder_reads=partial(measure_readable_share, leg),
        minimum_relevance=minimum,
    )


def _search_qdrant(query: SearchQuery, settings: MemorySettings) -> SearchOutcome | str:
    """Search with the vectors in Qdrant, or return why another way has to do."""
    leg = open_qdrant_leg(query)
    if isinstance(leg, NoVectors):
        return leg.reason
    try:
        if query.strategy == "adaptive":
            outcome = _search_adaptively(_widen_for_reranking(query, settings), leg)
        else:
            hits = _find_by_vector(query, leg)
            if not hits:
                return NOTHING_FOUND
            outcome = SearchOutcome(hits, query.strategy)
    except VectorStoreError as error:
        logger.warning("memory.search.qdrant_failed", reason=error.reason)
        return error.reason
    return _name_leg(_rerank(outcome, query, settings), leg)


def _search_here(query: SearchQuery, settings: MemorySettings) -> SearchOutcome:
    """Search with what is in this database."""
    leg = open_leg(query.text, settings.embedding)
    if query.strategy == "adaptive":
        outcome = _search_adaptively(_widen_for_reranking(query, settings), leg)
    elif isinstance(leg, NoVectors):
        outcome = _search_by_keywords(query, leg.reason)
    else:
        outcome = _search_with_vectors(query, leg)
    if outcome.fallback_reason is None:
        outcome = _rerank(outcome, query, settings)
    return _name_leg(outcome, leg)


def _name_leg(outcome: SearchOutcome, leg: VectorLeg | NoVectors) -> SearchOutcome:
    store = "none" if isinstance(leg, NoVectors) else leg.store.name
    return replace(
        outcome, embedding_source=leg.embedding_source, embedding_model=leg.embedding_model, vector_store=store
    )


def _search_with_vectors(query: SearchQuery, leg: VectorLeg) -> SearchOutcome:
    hits = _find_by_vector(query, leg)
    if not hits:
        # Nothing is indexed for this owner, or nothing of it may be used. Keywords see more (T6).
        return _search_by_keywords(query, EMPTY_VECTORS)
    return SearchOutcome(hits, query.strategy)


def _find_by_vector(query: SearchQuery, leg: VectorLeg) -> list[SearchHit]:
    """What the vectors bring, alone or fused with the keywords; nothing when they bring nothing."""
    depth = CANDIDATES if query.strategy == "semantic" else process_settings.MEMORY_VEC_TOP_K
    near = leg.store.search(query.owner, leg.query_vector, depth, select_usable(query))
    if not near:
        return []
    return _rank_by_distance(query, near, leg) if query.strategy == "semantic" else _fuse_legs(query, near)


def _search_adaptively(query: SearchQuery, leg: VectorLeg | NoVectors) -> SearchOutcome:
    minimum = process_settings.MEMORY_MIN_RELEVANCE
    if isinstance(leg, NoVectors):
        hits = adaptive.search_adaptive(query, None, None, minimum_relevance=minimum)
        return SearchOutcome(hits, query.strategy, fallback_reason=leg.reason)
    hits = adaptive.search_adaptive(
        query,
        leg.query_vector,
        open_scores(leg, query),
        embedder_reads=partial(measure_readable_share, leg),
        minimum_relevance=minimum,
    )
    return SearchOutcome(hits, query.strategy)


def _rerank(outcome: SearchOutcome, query: SearchQuery, settings: MemorySettings) -> SearchOutcome:
    if not (settings.rerank_enabled and settings.rerank_provider_model):
        return outcome
    reranking = rerank_hits(settings.rerank_provider_model, query.text, query.strategy, outcome.hits)
    return replace(outcome, hits=reranking.hits, rerank_applied=reranking.is_applied, rerank_reason=reranking.reason)


def _widen_for_reranking(query: SearchQuery, settings: MemorySettings) -> SearchQuery:
    """A reranker looks at more than is wanted in the end; `retrieval` cuts to the limit."""
    is_reranked = settings.rerank_enabled and settings.rerank_provider_model
    return replace(query, limit=max(query.limit, MAX_DOCUMENTS)) if is_reranked else query


def _rank_by_distance(query: SearchQuery, near: list[VectorHit], leg: VectorLeg) -> list[SearchHit]:
    """Qdrant's score is its own, the cosine; sqlite-vec's is made of the distance (contract 3)."""
    tier: Tier = "qdrant" if leg.store.name == "qdrant" else "vector"
    records = load_usable(query, [hit.memory_id for hit in near])
    hits = []
    for rank, hit in enumerate(near, start=1):
        if hit.memory_id in records:
            score = hit.cosine if tier == "qdrant" else hit.similarity
            hits.append(SearchHit(records[hit.memory_id], score, tier, vector_score=score, vector_rank=rank))
    return hits


def _fuse_legs(query: SearchQuery, near: list[VectorHit]) -> list[SearchHit]:
    """Reciprocal rank fusion of both legs (contract 6.5); a memory that only one leg found counts with that one."""
    ranks = {}
    if keyword.has_fulltext_index():
        ranks = dict(keyword.rank_by_fulltext(query, CANDIDATES))
    similarities = {hit.memory_id: hit.similarity for hit in near}
    fused = fuse_reciprocal_ranks([list(ranks), list(similarities)], process_settings.MEMORY_RRF_K)
    records = load_usable(query, fused)
    vector_ranks, keyword_ranks = _number(similarities), _number(ranks)
    hits = [
        SearchHit(
            records[memory_id],
            score,
            "hybrid-rrf",
            similarities.get(memory_id),
            ranks.get(memory_id),
            vector_ranks.get(memory_id),
            keyword_ranks.get(memory_id),
        )
        for memory_id, score in fused.items()
        if memory_id in records
    ]
    return sorted(hits, key=lambda hit: (-hit.score, -hit.record.memory_id))


def _search_by_keywords(query: SearchQuery, reason: str) -> SearchOutcome:
    """Tier 0: FTS5 matches; `hybrid` adds those of the newest that hold a term as part of a word.

    When nothing matches, the newest stand in, so that a greeting still carries context.
    """
    terms = extract_query_terms(query.text)
    ranks: dict[int, float] = {}
    if keyword.has_fulltext_index():
        ranks = dict(keyword.rank_by_fulltext(query, CANDIDATES))
    else:
        reason = NO_FULLTEXT
    found = load_usable(query, ranks)
    candidates = [found[memory_id] for memory_id in ranks if memory_id in found]
    if query.strategy == "hybrid" or not candidates:
        # Beside matches, the newest count only if they hold a term; without any match they all may stand in.
        newest = load_newest(query, CANDIDATES, holding=terms if ranks else ())
        candidates += [record for record in newest if record.memory_id not in ranks]
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
    keyword_ranks = _number(ranks)
    hits = []
    for record in records:
        score = score_keywords(record, phrase, terms)
        rank = ranks.get(record.memory_id)
        if rank is not None:
            score = max(score, TERM_SCORE)
        place = keyword_ranks.get(record.memory_id)
        hits.append(SearchHit(record, score, "fts5", keyword_score=rank, keyword_rank=place))
    hits.sort(key=lambda hit: (-hit.score, hit.keyword_score or 0.0, -hit.record.created_at.timestamp()))
    return hits


def _number(ranked: Iterable[int]) -> dict[int, int]:
    """Places from 1 of ids in rank order."""
    return {memory_id: place for place, memory_id in enumerate(ranked, start=1)}
