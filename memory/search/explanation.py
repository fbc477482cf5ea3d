"""Why a search did not bring a memory: what keeps it out altogether, or where each leg saw it, however far down."""

from dataclasses import dataclass
from typing import Final

import structlog
from django.db.models import Q
from django.utils import timezone

from memory.config import load_settings
from memory.models import MemoryQuerySet
from memory.records import SearchQuery
from memory.rows import select_usable
from memory.search import keyword
from memory.vector_stores.base import VectorStoreError
from memory.vector_stores.resolver import NoVectors, open_leg, open_qdrant_leg

logger = structlog.get_logger(__name__)

# How far down the legs are looked through: as far as vec0 goes.
DEPTH: Final = 4096


@dataclass(frozen=True, slots=True)
class Places:
    """Places count from 1; None where the leg has it not among its first 4,096, or was not asked.

    `age_rank` is its place when the newest come first, among `usable` memories. `waits_for_vector`: it is not in the
    vector index yet.
    """

    usable: int
    age_rank: int
    keyword_rank: int | None
    vector_rank: int | None
    waits_for_vector: bool


def find_places(query: SearchQuery, memory_uuid: str) -> Places | None:
    """Ask both legs again, deeper than a search does; None when the query may not use the memory."""
    rows = select_usable(query, timezone.now())
    row = rows.filter(uuid=memory_uuid).first()
    if row is None:
        return None
    newer = rows.filter(Q(created_at__gt=row.created_at) | Q(created_at=row.created_at, memory_id__gt=row.memory_id))
    keyword_rank = vector_rank = None
    if query.text.strip() and query.strategy != "exact":
        if keyword.has_fulltext_index():
            matches = keyword.rank_by_fulltext(query, DEPTH)
            keyword_rank = _find_place([memory_id for memory_id, _ in matches], row.memory_id)
        vector_rank = _find_place(_list_near(query, rows), row.memory_id)
    return Places(rows.count(), newer.count() + 1, keyword_rank, vector_rank, row.needs_reindex)


def _list_near(query: SearchQuery, rows: MemoryQuerySet) -> list[int]:
    """The vector leg's order: Qdrant's where it answers, else sqlite-vec's."""
    settings = query.settings or load_settings()
    if settings.vector_store == "qdrant":
        leg = open_qdrant_leg(query)
        if not isinstance(leg, NoVectors):
            try:
                return [hit.memory_id for hit in leg.store.search(query.owner, leg.query_vector, DEPTH, rows)]
            except VectorStoreError as error:
                logger.info("memory.search.qdrant_failed", reason=error.reason)
    leg = open_leg(query.text, settings.embedding)
    if isinstance(leg, NoVectors):
        return []
    return [hit.memory_id for hit in leg.store.search(query.owner, leg.query_vector, DEPTH, rows)]


def _find_place(ranked: list[int], memory_id: int) -> int | None:
    return ranked.index(memory_id) + 1 if memory_id in ranked else None
