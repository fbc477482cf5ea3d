"""Compare ids both ways and repair both ways: points that are missing in Qdrant, and points of nobody's memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from django.utils import timezone

from core.words import gettext as _
from memory.models import Memory
from memory.vector_stores.qdrant_sync import start_over, sync
from memory.vector_stores.qdrant_writer import QdrantWriter, WritingHaltedError
from qdrant_admin import lifecycle
from qdrant_admin.config import QdrantSettings, load_qdrant_settings
from qdrant_admin.installation import read_installation
from qdrant_admin.lifecycle import CollectionGoneError
from qdrant_admin.models import Collection, Point
from qdrant_admin.points import PointFilter, QdrantError, ScoredPoint, Server, open_server

logger = structlog.get_logger(__name__)

BATCH_ROWS: Final = 200
PAGE_POINTS: Final = 500


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """`missing` points were written again, `unknown` ones deleted, `written` counts all that were sent.

    `reason` says why it could not be done to the end.
    """

    checked: int = 0
    missing: int = 0
    unknown: int = 0
    written: int = 0
    reason: str | None = None


def reconcile(*, is_forced: bool = False) -> Reconciliation:
    """Bring Qdrant up to date, then compare; `is_forced` has every vector made anew. For background jobs only."""
    settings = load_qdrant_settings()
    if not settings.is_on:
        return Reconciliation(reason=_("Qdrant is switched off"))
    if is_forced:
        start_over()
    report = sync()
    if report.reason is not None:
        return Reconciliation(reason=report.reason)
    collection = lifecycle.find_collection(settings, Collection.State.ACTIVE)
    if collection is None or not collection.is_created:
        return Reconciliation(reason=None if collection is not None else _("no collection is filled yet"))
    try:
        return _reconcile(settings, collection)
    except CollectionGoneError:
        return Reconciliation(reason=_("the collection is gone; it is made again with the next write"))
    except (QdrantError, WritingHaltedError) as error:
        logger.warning("qdrant.not_reconciled", reason=error.reason)
        return Reconciliation(reason=error.reason)


def _reconcile(settings: QdrantSettings, collection: Collection) -> Reconciliation:
    server, writer = open_server(settings), QdrantWriter(settings, collection)
    writer.check()
    lifecycle.point_alias(collection, server)
    checked = missing = written = 0
    for memory_ids in _list_batches():
        missing += _forget_missing(collection, server, memory_ids)
        written += writer.write(memory_ids)
        checked += len(memory_ids)
    unknown = _delete_unknown(collection, server)
    lifecycle.drop_retired(settings, server, timezone.now())
    logger.info("qdrant.reconciled", checked=checked, missing=missing, unknown=unknown, written=written)
    return Reconciliation(checked, missing, unknown, written)


def _list_batches() -> Iterator[list[int]]:
    last = 0
    while True:
        rows = Memory.objects.owned_by(None).filter(memory_id__gt=last).order_by("memory_id")
        memory_ids = list(rows.values_list("memory_id", flat=True)[:BATCH_ROWS])
        if not memory_ids:
            return
        yield memory_ids
        last = memory_ids[-1]


def _forget_missing(collection: Collection, server: Server, memory_ids: Sequence[int]) -> int:
    """Take back the note of points that Qdrant has not, so that they are written; return how many."""
    # Noted points first: one that is written meanwhile is not missing.
    noted = Point.objects.filter(collection=collection, source_id__in=memory_ids, has_vector=True)
    ids = dict(noted.values_list("point_id", "pk"))
    if not ids:
        return 0
    found, _ = server.scroll(collection.name, PointFilter(ids=list(ids)), limit=len(ids))
    present = {point.id for point in found}
    gone = [pk for point_id, pk in ids.items() if point_id not in present]
    return Point.objects.filter(pk__in=gone).delete()[0]


def _delete_unknown(collection: Collection, server: Server) -> int:
    """Delete points of memories that are not there; another installation's points are none of our business."""
    mark, deleted, after = read_installation(), 0, None
    while True:
        page, following = server.scroll(
            collection.name, PointFilter(), limit=PAGE_POINTS, after=after, fields=("installation",)
        )
        ours = [point.id for point in page if _is_ours(point, mark, collection)]
        known = set(Memory.objects.owned_by(None).filter(uuid__in=ours).values_list("uuid", flat=True))
        unknown = [point_id for point_id in ours if point_id not in known]
        if unknown:
            server.delete(collection.name, unknown)
            Point.objects.filter(collection=collection, point_id__in=unknown).delete()
            deleted += len(unknown)
        if following is None:
            return deleted
        after = following


def _is_ours(point: ScoredPoint, mark: str, collection: Collection) -> bool:
    """Without a mark it is ours in a collection that we made; in another one it was somebody's before us."""
    return bool(point.payload.get("installation", mark if collection.is_ours else "") == mark)
