"""Qdrant follows the memories: what `memory_changes` names is written there as it is now, then the cursor moves on.

Triggers renew a memory's place in `memory_changes` at every write, whoever writes, and a deleted memory leaves its
place. Only the present state of a row is ever sent, in the order of the changes, and the cursor moves on when Qdrant
has it: nothing is lost by an outage or a kill, and a late write can't bring a deleted memory back.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from core.words import gettext as _
from core.words import join_words
from embeddings.base import EmbeddingConfig, EmbeddingResolution
from embeddings.resolver import prepare, resolve
from memory import queue
from memory.config import load_settings
from memory.models import HEALTH_CHECK_OWNER, Memory, MemoryChange
from memory.vector_stores.qdrant_writer import QdrantWriter, WritingHaltedError
from qdrant_admin import lifecycle
from qdrant_admin.config import QdrantSettings, load_qdrant_settings
from qdrant_admin.embedding import choose_embedding
from qdrant_admin.lifecycle import CollectionGoneError
from qdrant_admin.models import Collection, Point
from qdrant_admin.points import QdrantError, open_server

logger = structlog.get_logger(__name__)

BATCH_CHANGES: Final = 100
# How long to wait for an embedding source that answers nothing.
OUTAGE_SECONDS: Final = 60
State = Collection.State


@dataclass(frozen=True, slots=True)
class SyncReport:
    """How many points were written; `reason` why it stopped before the end, `retry_at` when to go on by itself."""

    written: int = 0
    reason: str | None = None
    retry_at: datetime | None = None


def read_head() -> int:
    """The place of the last change of any memory."""
    return int(MemoryChange.objects.aggregate(last=Max("seq"))["last"] or 0)


def count_pending(collection: Collection) -> int:
    """Changes that the collection does not have yet, changes of nothing but index flags among them."""
    return MemoryChange.objects.filter(seq__gt=collection.cursor).exclude(api_key_id=HEALTH_CHECK_OWNER).count()


def choose_config() -> EmbeddingConfig:
    """What points are embedded with under the saved settings."""
    return choose_embedding(load_qdrant_settings().embedding_model, load_settings().embedding)


def sync() -> SyncReport:
    """Write to Qdrant what has changed; fetch the local model for it, if it is missing. For background jobs only."""
    settings = load_qdrant_settings()
    if not settings.is_on:
        return SyncReport()
    config = choose_config()
    resolution = prepare(config)
    if not resolution.is_available:
        return SyncReport(reason=tell_no_embedding(resolution))
    target = lifecycle.open_target(settings, resolution, config, read_head())
    if target.next_try_at is not None and target.next_try_at > timezone.now():
        return SyncReport(reason=target.fault, retry_at=None if target.is_blocked else target.next_try_at)
    try:
        written = _follow_target(settings, target)
    except CollectionGoneError:
        lifecycle.forget_content(target, read_head())
        return SyncReport(reason=_("the collection is gone and is made again"), retry_at=timezone.now())
    except WritingHaltedError as error:
        return SyncReport(reason=error.reason, retry_at=timezone.now() + timedelta(seconds=OUTAGE_SECONDS))
    except QdrantError as error:
        retry_at = lifecycle.note_failure(target, error, _find_newest_write(target))
        return SyncReport(reason=error.reason, retry_at=None if target.is_blocked else retry_at)
    lifecycle.note_success(target)
    _follow_former(settings, target)
    return SyncReport(written)


def request_reindex(*, is_forced: bool) -> int | None:
    """Have Qdrant compared and mended in the background, with `is_forced` every vector made anew.

    Returns how many memories or changes are to be looked at; None, and nothing is queued, while Qdrant is off.
    """
    settings = load_qdrant_settings()
    if not settings.is_on:
        return None
    queue.enqueue_vector_reconciliation(is_forced=is_forced)
    total = Memory.objects.owned_by(None).count()
    building = lifecycle.find_collection(settings, State.BUILDING)
    collection = building or lifecycle.find_collection(settings, State.ACTIVE)
    return total if is_forced or collection is None else count_pending(collection)


def start_over() -> None:
    """Have every vector made anew by the next `sync`, in place: it is the same embedding, so searches go on."""
    for collection in Collection.objects.exclude(state=State.RETIRED):
        last = 0
        while ids := _list_points(collection, last):
            Point.objects.filter(pk__in=ids).update(text_digest="")
            last = ids[-1]
        Collection.objects.filter(pk=collection.pk).update(cursor=0)


def _list_points(collection: Collection, after: int) -> list[int]:
    points = Point.objects.filter(collection=collection, pk__gt=after).order_by("pk")
    return list(points.values_list("pk", flat=True)[: lifecycle.ROWS_A_TRANSACTION])


def tell_no_embedding(resolution: EmbeddingResolution) -> str:
    advice = _("choose an embedding model for Qdrant that can be used (embeddingModel)")
    return join_words("; ", (resolution.reason, advice))


def follow(settings: QdrantSettings, collection: Collection, writer: QdrantWriter) -> int:
    """Write change after change until none is left; return how many points. Stops when Qdrant is switched off."""
    written = 0
    while changes := _read_changes(collection.cursor):
        if load_qdrant_settings() != settings:
            return written
        memory_ids = [memory_id for _, owner, memory_id in changes if owner != HEALTH_CHECK_OWNER]
        written += writer.write(memory_ids)
        if not _advance(collection, changes[-1][0], memory_ids):
            return written
    return written


def _follow_target(settings: QdrantSettings, target: Collection) -> int:
    writer = QdrantWriter(settings, target)
    writer.check()
    written = follow(settings, target, writer)
    if target.state == State.BUILDING and target.is_whole:
        lifecycle.swap_in(target, open_server(settings))
    return written


def _follow_former(settings: QdrantSettings, target: Collection) -> None:
    """While a new collection is filled, the one that answers is kept current, as far as it can be."""
    active = lifecycle.find_collection(settings, State.ACTIVE)
    if active is None or active.pk == target.pk or not resolve(lifecycle.read_config(active)).is_available:
        return
    try:
        follow(settings, active, QdrantWriter(settings, active))
    except CollectionGoneError:
        lifecycle.forget_content(active, read_head())
    except (QdrantError, WritingHaltedError) as error:
        logger.info("qdrant.former_not_updated", collection=active.name, reason=error.reason)


def _read_changes(cursor: int) -> list[tuple[int, str, int]]:
    """The next changes as (seq, owner, memory_id)."""
    changes = MemoryChange.objects.filter(seq__gt=cursor).order_by("seq")
    return list(changes.values_list("seq", "api_key_id", "memory_id")[:BATCH_CHANGES])


def _advance(collection: Collection, seq: int, memory_ids: list[int]) -> bool:
    """Move the cursor on; False when another worker has done so meanwhile.

    What either wrote last may then be the older state, so both stop and the batch is written anew.
    """
    rows = Collection.objects.filter(pk=collection.pk)
    before = collection.cursor
    with transaction.atomic():
        if rows.filter(cursor=before).update(cursor=seq):
            collection.cursor = seq
            return True
        rows.filter(cursor__gt=before).update(cursor=before)
        Point.objects.filter(collection=collection, source_id__in=memory_ids).update(text_digest="", payload_digest="")
    logger.warning("qdrant.two_writers", collection=collection.name)
    return False


def _find_newest_write(collection: Collection) -> int:
    """When the newest of the waiting memories was written, in microseconds: what a warning is given once for."""
    waiting = MemoryChange.objects.filter(seq__gt=collection.cursor).order_by("-seq")
    memory_ids = list(waiting.values_list("memory_id", flat=True)[:BATCH_CHANGES])
    newest = Memory.objects.filter(memory_id__in=memory_ids).aggregate(last=Max("updated_at"))["last"]
    return 0 if newest is None else int(newest.timestamp() * 1_000_000)
