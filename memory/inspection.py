"""What the studio shows of memories beside their content: whether their vectors are up to date, and what is near them.

Every read is a management call, of rows of this database: what another backend stores is shown as it gives it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import numpy as np
from django.db.models import F, Sum
from django.db.models.functions import Length
from django.utils import timezone

from embeddings.resolver import resolve
from memory.backends.listing import load_page
from memory.backends.manager import get_primary
from memory.backends.selection import select_matching
from memory.config import load_settings
from memory.models import Memory
from memory.records import DEFAULT_ORDER, MemoryFilter, MemoryOrder, MemoryRecord
from memory.rows import load_records
from memory.search.keyword import find_fulltext_fault
from memory.search.ranking import CHARS_PER_TOKEN
from memory.vector_stores import lifecycle
from qdrant_admin.config import load_qdrant_settings
from qdrant_admin.lifecycle import find_collection
from qdrant_admin.models import Collection, Point

# Cosine from which two texts are worth a look. With the bundled model two ways of saying one decision have .77 and
# more, two likings of one thing .71 and less.
NEAR_COSINE: Final = 0.75
# How many neighbours are looked at; the memory itself is one of them.
NEIGHBOURS: Final = 12
MAX_LISTED: Final = 200


@dataclass(frozen=True, slots=True)
class ListedMemories:
    """A page of a list, without a count: whether anything comes after it is known, how much is not."""

    records: list[MemoryRecord]
    has_more: bool


@dataclass(frozen=True, slots=True)
class QdrantPlace:
    """Whether the memory's point was sent; `reason` says why not, as far as it is known."""

    is_sent: bool
    collection: str
    reason: str


@dataclass(frozen=True, slots=True)
class IndexState:
    """How one memory stands in the indexes. `keyword_fault` is None while the full-text index works; `has_source` is
    false while no embedding source is chosen; `model` is the embedding of the index that answers, None without one;
    `qdrant` is None while Qdrant is off."""

    keyword_fault: str | None
    has_vector: bool
    is_waiting: bool
    attempts: int
    has_source: bool
    model: str | None
    dimensions: int | None
    qdrant: QdrantPlace | None


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """Another memory of the same owner; `cosine` is 1.0 where the text is the same but for case and spaces."""

    record: MemoryRecord
    cosine: float


def list_memory_ids(filter: MemoryFilter) -> tuple[int, ...]:
    """The `memory_id` of all that matches, the oldest first; only where this database stores them."""
    return tuple(select_matching(filter).order_by("memory_id").values_list("memory_id", flat=True))


def list_page(filter: MemoryFilter, *, limit: int, offset: int, order: MemoryOrder = DEFAULT_ORDER) -> ListedMemories:
    """A page of what matches, read without counting the rest."""
    backend = get_primary()
    if not backend.is_local:
        page = backend.list(filter, limit=limit, offset=offset, order=order)
        return ListedMemories(page.records, offset + len(page.records) < page.total)
    records = load_page(filter, order, limit=limit + 1, offset=offset)
    return ListedMemories(records[:limit], len(records) > limit)


def count_tokens(filter: MemoryFilter) -> int:
    """Estimated tokens of what matches; of all the owner's memories where another backend stores them."""
    backend = get_primary()
    if not backend.is_local:
        return backend.count_tokens(filter.owner)
    tokens = (Length(F("content")) + CHARS_PER_TOKEN - 1) / CHARS_PER_TOKEN
    return int(select_matching(filter).aggregate(tokens=Sum(tokens))["tokens"] or 0)


def list_waiting(ids: Sequence[str]) -> set[str]:
    """Those of these memories whose vectors are not up to date; none while nothing is there to make vectors."""
    if not has_embedding_source():
        return set()
    return set(Memory.objects.filter(uuid__in=ids, needs_reindex=True).values_list("uuid", flat=True))


def has_embedding_source() -> bool:
    """Whether one is chosen; it may fail at the moment."""
    return resolve(load_settings().embedding).source is not None


def list_sessions(owner: str | None) -> list[str]:
    """The sessions that memories name, in order of their names, the first MAX_LISTED of them."""
    rows = Memory.objects.owned_by(owner).exclude(session_id="").order_by("session_id")
    return list(rows.values_list("session_id", flat=True).distinct()[:MAX_LISTED])


def list_owners() -> list[str]:
    """Owners that have memories, the first MAX_LISTED of them: keys, and what has no key any more."""
    rows = Memory.objects.owned_by(None).order_by("api_key_id")
    return list(rows.values_list("api_key_id", flat=True).distinct()[:MAX_LISTED])


def read_index_state(record: MemoryRecord) -> IndexState:
    """How the memory stands in the indexes of this database."""
    row = Memory.objects.filter(uuid=record.id).values("needs_reindex", "index_attempts").first()
    active = lifecycle.find_active()
    store = None if active is None else lifecycle.open_store(active)
    has_vector = store is not None and len(store.read(record.owner, [record.memory_id])[0]) > 0
    return IndexState(
        keyword_fault=find_fulltext_fault(),
        has_vector=has_vector,
        is_waiting=bool(row and row["needs_reindex"]),
        attempts=row["index_attempts"] if row else 0,
        has_source=has_embedding_source(),
        model=None if active is None else _name_model(active.signature),
        dimensions=None if active is None else active.dimensions,
        qdrant=_find_in_qdrant(record),
    )


def find_near_duplicates(record: MemoryRecord, limit: int = 5) -> list[NearDuplicate]:
    """Memories of the same owner that say the same, or nearly so by their vectors; the nearest first."""
    rows = Memory.objects.owned_by(record.owner).exclude(memory_id=record.memory_id)
    same = load_records(rows.filter(content__iexact=record.content.strip()).order_by("-updated_at")[:limit])
    found = {twin.memory_id: NearDuplicate(twin, 1.0) for twin in same}
    near = _find_neighbours(record)
    wanted = [memory_id for memory_id in near if memory_id not in found]
    for other in load_records(rows.filter(memory_id__in=wanted)):
        found[other.memory_id] = NearDuplicate(other, near[other.memory_id])
    return sorted(found.values(), key=lambda item: -item.cosine)[:limit]


def _find_neighbours(record: MemoryRecord) -> dict[int, float]:
    """Cosines of what is nearest to the memory's own vector, by memory_id; nothing while it has none."""
    active = lifecycle.find_active()
    store = None if active is None else lifecycle.open_store(active)
    if store is None:
        return {}
    ids, vectors = store.read(record.owner, [record.memory_id])
    if not len(ids) or not np.any(vectors[0]):
        return {}
    usable = Memory.objects.owned_by(record.owner).usable(timezone.now(), _retained_since(), None)
    hits = store.search(record.owner, vectors[0], NEIGHBOURS, usable)
    # Of unit vectors, the squared L2 distance is 2 - 2 cos.
    cosines = {hit.memory_id: 1.0 - hit.distance**2 / 2.0 for hit in hits if hit.memory_id != record.memory_id}
    return {memory_id: cosine for memory_id, cosine in cosines.items() if cosine >= NEAR_COSINE}


def _find_in_qdrant(record: MemoryRecord) -> QdrantPlace | None:
    """By our own rows: Qdrant itself is not asked."""
    settings = load_qdrant_settings()
    if not settings.is_on:
        return None
    states = (Collection.State.ACTIVE, Collection.State.BUILDING)
    collection = next(filter(None, (find_collection(settings, state) for state in states)), None)
    if collection is None:
        return QdrantPlace(False, settings.collection, "")
    point = Point.objects.filter(collection=collection, source_id=record.memory_id).first()
    is_sent = point is not None and point.has_vector and bool(point.text_digest)
    return QdrantPlace(is_sent, collection.name or collection.alias, "" if is_sent else collection.fault)


def _name_model(signature: str) -> str:
    """The model in a signature (source:model@revision:dimensions), as people call it."""
    return signature.partition(":")[2].rpartition(":")[0].partition("@")[0]


def _retained_since() -> datetime:
    return timezone.now() - timedelta(days=load_settings().retention_days)
