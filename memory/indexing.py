"""Embed memories and write their vectors; the only writer of vector indexes and of the rows' index flags.

The flag on the row is the truth: `needs_reindex` is set in the transaction that changes a text and cleared in the one
that stores its vector, and only if the text is still the same then.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.db.models import Count, F, Min, Q
from django.utils import timezone

from core.db.sqlite import vec0
from core.words import gettext as _
from core.words import join_words
from embeddings.base import Embedding, EmbeddingConfig, EmbeddingError
from embeddings.resolver import embed_documents, resolve
from memory.config import load_settings
from memory.models import Memory, MemoryQuerySet, VectorIndex
from memory.records import MemoryRecord
from memory.rows import load_records
from memory.vector_stores import lifecycle
from memory.vector_stores.base import VectorPoint

logger = structlog.get_logger(__name__)

BATCH_ROWS = 100
# A row that failed this often is left alone until somebody asks for a reindex.
MAX_ATTEMPTS = 8
MAX_RETRY_SECONDS = 3600
NO_SOURCE_ADVICE = _("set staticEnabled to true, which works offline, or add the key of a provider that embeds")


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What one batch did.

    `retry_at` is when the earliest row that failed may be tried again; `is_outage` says that the embedding source
    answered nothing at all; `reason` tells either in words.
    """

    processed: int
    errors: int
    retry_at: datetime | None = None
    is_outage: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Backlog:
    """Of `total` memories, `pending` have no current vector: `due` may be tried now, `given_up` have used up their
    tries, the rest wait, the first until `next_try_at`."""

    total: int
    pending: int
    due: int
    given_up: int
    next_try_at: datetime | None


def prepare_target() -> tuple[VectorIndex | None, str]:
    """Return the index to fill under the saved settings, or None and why there is nothing to fill."""
    if not vec0.STATUS.available:
        return None, vec0.STATUS.reason
    config = load_settings().embedding
    resolution = resolve(config)
    if not resolution.is_available:
        return None, resolution.reason
    return lifecycle.open_target(resolution, config), resolution.reason


def find_obstacle() -> str | None:
    """Return why nothing can be indexed until an operator changes something; None when there is no such reason.

    A local model that isn't on this machine yet is no obstacle: the indexing job fetches it.
    """
    config = load_settings().embedding
    if not vec0.STATUS.available:
        return vec0.STATUS.reason
    resolution = resolve(config)
    if resolution.source is None:
        return join_words("; ", (resolution.reason, NO_SOURCE_ADVICE))
    return resolution.reason if resolution.failure == "no_key" else None


def read_backlog() -> Backlog:
    """Return how many memories there are and what keeps those without a vector."""
    rows = Memory.objects.owned_by(None)
    pending = rows.filter(needs_reindex=True)
    counts = pending.aggregate(
        pending=Count("memory_id"),
        given_up=Count("memory_id", filter=Q(index_attempts__gte=MAX_ATTEMPTS)),
        due=Count("memory_id", filter=Q(index_attempts__lt=MAX_ATTEMPTS) & _is_due()),
        next_try_at=Min("index_retry_at", filter=Q(index_attempts__lt=MAX_ATTEMPTS)),
    )
    return Backlog(total=rows.count(), **counts)


def count_pending() -> int:
    """Memories whose vector is missing or old."""
    return Memory.objects.owned_by(None).filter(needs_reindex=True).count()


def find_oldest_pending() -> datetime | None:
    """When the text was written that has waited longest for its vector; None when none waits."""
    pending = Memory.objects.owned_by(None).filter(needs_reindex=True)
    return pending.order_by("updated_at").values_list("updated_at", flat=True).first()


def index_batch(limit: int = BATCH_ROWS) -> BatchReport:
    """Index up to `limit` memories that are due, and swap the index in when nothing is left to do.

    What an earlier swap left behind is dropped on the way.

    Raises nothing for a row or text that fails: it is counted, its next try put off, and the others go on. A request
    that fails as a whole (no key, rate limit, outage) leaves every row as it is and is told in `reason`.
    """
    lifecycle.drop_retired()
    index, reason = prepare_target()
    if index is None:
        return BatchReport(0, 0, reason=reason)
    records = load_records(_select_due().order_by("index_attempts", "memory_id")[:limit])
    if not records:
        report = BatchReport(0, 0, retry_at=_select_pending().aggregate(first=Min("index_retry_at"))["first"])
    else:
        report = _index_records(index, records)
    _swap_if_whole(index)
    return report


def backfill_owner(owner: str, config: EmbeddingConfig, *, limit: int, timeout_seconds: float) -> None:
    """Lazy backfill (contract B16): index a few of an owner's pending memories, the newest first, within a time."""
    # Without an index there is nothing to add to; making the first one is the background job's.
    if not (vec0.STATUS.available and lifecycle.has_index() and resolve(config).is_available):
        return
    records = load_records(_select_due().owned_by(owner).order_by("-memory_id")[:limit])
    index, _ = prepare_target() if records else (None, "")
    if index is not None:
        _index_records(index, records, timeout_seconds)


def _index_records(index: VectorIndex, records: Sequence[MemoryRecord], timeout_seconds: float = 30.0) -> BatchReport:
    try:
        results = embed_documents(
            lifecycle.read_config(index), [record.content for record in records], timeout_seconds=timeout_seconds
        )
    except EmbeddingError as error:
        logger.warning("memory.index.unavailable", reason=error.reason, source=error.source)
        return BatchReport(0, 0, is_outage=True, reason=error.message)
    pairs = list(zip(records, results, strict=True))
    good = [(record, item) for record, item in pairs if isinstance(item, Embedding)]
    # What an outage cut off is no fault of the text: its rows stay due as they are.
    outages = [item for _, item in pairs if isinstance(item, EmbeddingError) and item.is_outage]
    bad = [(record, item) for record, item in pairs if isinstance(item, EmbeddingError) and not item.is_outage]
    if good:
        index = lifecycle.settle_dimensions(index, good[0][1].dimensions)
        if any(item.signature != index.signature for _, item in good):
            told = _("the model answers as %(model)s where the index holds %(index)s")
            reason = told % {"model": good[0][1].signature, "index": index.signature}
            logger.warning("memory.index.signature_mismatch", reason=reason)
            return BatchReport(0, 0, is_outage=True, reason=reason)
        _write(index, good)
    for record, item in bad:
        logger.warning("memory.index.row_failed", memory_id=record.memory_id, reason=item.reason)
    _put_off([record for record, _ in bad])
    reasons = [item.message for _, item in bad] + [item.message for item in outages]
    is_outage = bool(outages) and not (good or bad)
    return BatchReport(len(good), len(bad), is_outage=is_outage, reason=next(iter(reasons), None))


def _write(index: VectorIndex, embedded: Sequence[tuple[MemoryRecord, Embedding]]) -> None:
    """Store the vectors and clear the flags of their rows."""
    # First, so that the flags, whose change in-process copies follow, are the last thing to change.
    _keep_active_current(index, [record for record, _ in embedded])
    with transaction.atomic():
        stored = _store_vectors(index, embedded)
        flags = Memory.objects.filter(memory_id__in=stored)
        flags.update(needs_reindex=False, index_attempts=0, index_retry_at=None)


def _keep_active_current(target: VectorIndex, records: Sequence[MemoryRecord]) -> None:
    """While a new index is filled, memories written meanwhile go into the one that answers as well, where it can."""
    active = lifecycle.find_active()
    store = lifecycle.open_store(active) if active is not None and active.pk != target.pk else None
    if active is None or store is None:
        return
    present = {int(memory_id) for memory_id in store.read(None, [record.memory_id for record in records])[0]}
    missing = [record for record in records if record.memory_id not in present]
    if not missing:
        return
    try:
        results = embed_documents(
            lifecycle.read_config(active), [record.content for record in missing], timeout_seconds=5.0
        )
    except EmbeddingError as error:
        logger.info("memory.index.active_not_updated", reason=error.reason)
        return
    pairs = zip(missing, results, strict=True)
    _store_vectors(active, [(record, item) for record, item in pairs if isinstance(item, Embedding)])


def _store_vectors(index: VectorIndex, embedded: Sequence[tuple[MemoryRecord, Embedding]]) -> list[int]:
    """Write the vectors of those rows whose text is still what was embedded; returns their memory_ids."""
    store = lifecycle.open_store(index)
    if store is None:
        return []
    rows = Memory.objects.filter(memory_id__in=[record.memory_id for record, _ in embedded])
    with transaction.atomic():
        # Looked up under the write lock: what goes into a table that nobody asks any more counts as not indexed.
        if not lifecycle.is_in_use(index):
            return []
        current = dict(rows.values_list("memory_id", "content"))
        points = [
            VectorPoint(record, embedding.vector)
            for record, embedding in embedded
            if current.get(record.memory_id) == record.content
        ]
        store.upsert(points)
    return [point.record.memory_id for point in points]


def _put_off(records: Sequence[MemoryRecord]) -> None:
    """Count a failed try and set the next: 2, 4, 8 ... seconds from now, at most an hour."""
    now = timezone.now()
    rows = Memory.objects.filter(memory_id__in=[record.memory_id for record in records])
    attempts = dict(rows.values_list("memory_id", "index_attempts"))
    for memory_id, count in attempts.items():
        wait_seconds = min(2 ** (count + 1), MAX_RETRY_SECONDS)
        rows.filter(memory_id=memory_id).update(
            index_attempts=F("index_attempts") + 1, index_retry_at=now + timedelta(seconds=wait_seconds)
        )


def _select_due() -> MemoryQuerySet:
    """Rows that may be tried now."""
    return _select_pending().filter(_is_due())


def _is_due() -> Q:
    return Q(index_retry_at__isnull=True) | Q(index_retry_at__lte=timezone.now())


def _select_pending() -> MemoryQuerySet:
    return Memory.objects.owned_by(None).filter(needs_reindex=True, index_attempts__lt=MAX_ATTEMPTS)


def _swap_if_whole(index: VectorIndex) -> None:
    """Let a building index answer once it holds all that was there when it was opened.

    What was written since is indexed in its turn, as ever: to wait for that as well would be to wait for ever on a
    server that is written to all the time.
    """
    if index.state != VectorIndex.State.BUILDING:
        return
    if not _select_pending().filter(updated_at__lte=index.created_at).exists():
        lifecycle.swap_in(index)
        logger.info("memory.index.swapped", signature=index.signature)
