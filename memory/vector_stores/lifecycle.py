"""The life of vector indexes: opened for an embedding, filled, swapped in when whole, retired, dropped.

The index that answers is never touched by a change of the embedding: the new one is filled beside it. All decisions
are made under SQLite's write lock, so two processes can't open or swap at once. Readers hold no lock: a search may
have found an index and be embedding its query while that is retired, so its table stays for a while.
"""

from dataclasses import asdict
from datetime import timedelta
from itertools import count

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from core.db.sqlite import vec0
from embeddings.base import EmbeddingConfig, EmbeddingResolution
from embeddings.resolver import pin
from memory import queue
from memory.models import Memory, VectorIndex
from memory.vector_stores.sqlite_vec import SqliteVecStore

# vec0 tables can't be renamed, so each generation takes the first of vec_memories, vec_memories_2, ... that is free.
TABLE_NAME = "vec_memories"
# Longer than any search that has an index in hand goes on.
RETIRED_SECONDS = 60


def find_index(state: VectorIndex.State) -> VectorIndex | None:
    return VectorIndex.objects.filter(state=state).first()


def find_active() -> VectorIndex | None:
    """The index that answers queries."""
    return find_index(VectorIndex.State.ACTIVE)


def has_index() -> bool:
    """Quickly, since every chat asks: is there any index, active or building?"""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM memory_vec_meta LIMIT 1")
        return cursor.fetchone() is not None


def is_in_use(index: VectorIndex) -> bool:
    """Whether the index answers or is to: it was neither retired nor dropped since it was read."""
    return VectorIndex.objects.filter(pk=index.pk).exclude(state=VectorIndex.State.RETIRED).exists()


def find_target() -> VectorIndex | None:
    """The index that is being filled: the building one if there is one, else the active one."""
    return find_index(VectorIndex.State.BUILDING) or find_active()


def open_store(index: VectorIndex) -> SqliteVecStore | None:
    """The index's table, or None while its dimensions are unknown or vec0 isn't loaded in this process."""
    if index.dimensions is None or not vec0.STATUS.available:
        return None
    return SqliteVecStore(index)


def read_config(index: VectorIndex) -> EmbeddingConfig:
    """The embedding that the index's vectors were made with."""
    return EmbeddingConfig(**index.config)


def open_target(resolution: EmbeddingResolution, config: EmbeddingConfig) -> VectorIndex:
    """Return the index to fill for this embedding, opening one when the embedding is another than before.

    The first index is active at once, half full as it is: there is none that could answer better.
    """
    with transaction.atomic():
        active, building = find_active(), find_index(VectorIndex.State.BUILDING)
        if active is not None and _is_for(active, resolution):
            if building is not None:
                retire(building)
            return active
        if building is not None and _is_for(building, resolution):
            return building
        if building is not None:
            retire(building)
        index = VectorIndex.objects.create(
            table_name=_choose_table_name(),
            signature=resolution.signature,
            # Pinned: while a new index is built, queries must go on being embedded the way this one was.
            config=asdict(pin(config)),
            dimensions=resolution.dimensions,
            quantization=settings.MEMORY_VEC_QUANTIZATION,
            state=VectorIndex.State.ACTIVE if active is None else VectorIndex.State.BUILDING,
        )
        _make_table(index)
        flag_all()
    return index


def settle_dimensions(index: VectorIndex, dimensions: int) -> VectorIndex:
    """Record the width that the first vector showed and make the table (T21)."""
    with transaction.atomic():
        fresh = VectorIndex.objects.get(pk=index.pk)
        if fresh.dimensions is None:
            fresh.dimensions = dimensions
            fresh.signature = f"{fresh.signature.rpartition(':')[0]}:{dimensions}"
            fresh.save(update_fields=["dimensions", "signature"])
            _make_table(fresh)
    return fresh


def swap_in(building: VectorIndex) -> None:
    """Let the filled index answer and retire the one before it."""
    with transaction.atomic():
        if not VectorIndex.objects.filter(pk=building.pk, state=VectorIndex.State.BUILDING).exists():
            return
        active = find_active()
        if active is not None:
            retire(active)
        VectorIndex.objects.filter(pk=building.pk).update(state=VectorIndex.State.ACTIVE, created_at=timezone.now())


def retire(index: VectorIndex) -> None:
    """Take the index out of use; its table goes with a later `drop_retired`."""
    VectorIndex.objects.filter(pk=index.pk).update(state=VectorIndex.State.RETIRED, retired_at=timezone.now())


def drop_retired() -> None:
    """Drop what was retired long enough ago that nobody reads it any more."""
    until = timezone.now() - timedelta(seconds=RETIRED_SECONDS)
    for index in VectorIndex.objects.filter(state=VectorIndex.State.RETIRED, retired_at__lte=until):
        with transaction.atomic():
            store = open_store(index)
            if store is not None:
                store.drop_table()
            index.delete()


def flag_all() -> int:
    """Have every memory indexed anew; returns how many."""
    return Memory.objects.owned_by(None).update(needs_reindex=True, index_attempts=0, index_retry_at=None)


def allow_retries() -> None:
    """Let memories that used up their tries be tried again: somebody asked for it."""
    failed = Memory.objects.owned_by(None).filter(needs_reindex=True, index_attempts__gt=0)
    failed.update(index_attempts=0, index_retry_at=None)


def drop_vectors(memory_ids: list[int]) -> None:
    """Take the vectors of changed or deleted memories out of every index, in the transaction of the change.

    Qdrant, where it is on, follows in the background.
    """
    queue.enqueue_vector_sync()
    for index in VectorIndex.objects.all():
        store = open_store(index)
        if store is not None:
            store.delete(memory_ids)


def _is_for(index: VectorIndex, resolution: EmbeddingResolution) -> bool:
    """True when the index holds vectors of this embedding, in the form that is asked for."""
    return resolution.agrees_with(index.signature) and index.quantization == settings.MEMORY_VEC_QUANTIZATION


def _choose_table_name() -> str:
    taken = set(VectorIndex.objects.values_list("table_name", flat=True))
    names = (TABLE_NAME if number == 1 else f"{TABLE_NAME}_{number}" for number in count(1))
    return next(name for name in names if name not in taken)


def _make_table(index: VectorIndex) -> None:
    store = open_store(index)
    if store is not None:
        # A table of that name can be left from a process that had no vec0 to drop it with.
        store.drop_table()
        store.create_table()
