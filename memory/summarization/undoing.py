"""Undo of a compaction, as long as what it replaced is kept aside."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from django.db import transaction

from core.errors import ConflictError, NotFoundError
from memory import queue
from memory.backends import archive
from memory.backends.archive import KeptCompaction, Obstacle

logger = structlog.get_logger(__name__)

LISTED: Final = 100
TOLD_OBSTACLES: Final = 5


@dataclass(frozen=True, slots=True)
class UndoReport:
    """`kept_newer` says what a forced undo left as it was; with `was_undone_before` there was nothing left to do."""

    undo_id: str
    restored_count: int
    removed_summaries: tuple[str, ...]
    kept_newer: tuple[str, ...]
    was_undone_before: bool


def list_compactions() -> list[KeptCompaction]:
    """The newest compactions, also those that were undone."""
    return archive.list_kept(LISTED)


def undo_compaction(undo_id: str, *, is_forced: bool = False) -> UndoReport:
    """Put the memories back exactly as they were and remove the summaries. Safe to run twice.

    NotFoundError when there is no such compaction or its time is over; ConflictError, with nothing changed, when
    something newer is in the way. With `is_forced` what is newer stays and the rest is put back.
    """
    with transaction.atomic():
        kept = archive.read_kept(undo_id)
        if kept is None:
            raise NotFoundError("There is no such compaction, or the time to undo it is over")
        if kept.undone_at is not None:
            return UndoReport(undo_id, 0, (), (), True)
        obstacles = archive.find_obstacles(undo_id)
        if obstacles and not is_forced:
            raise ConflictError(_tell(obstacles), code="undo_conflict")
        restoration = archive.restore(undo_id, obstacles)
        queue.enqueue_indexing()
    logger.info("memory.compaction_undone", undo_id=undo_id, memories=restoration.restored, kept=len(obstacles))
    told = tuple(obstacle.told for obstacle in obstacles)
    return UndoReport(undo_id, restoration.restored, restoration.removed_summaries, told, False)


def purge_archives() -> int:
    """Delete for good what can't be undone any more; return how many memories that were."""
    count = archive.forget_expired()
    if count:
        logger.info("memory.archives_purged", memories=count)
    return count


def _tell(obstacles: Sequence[Obstacle]) -> str:
    told = "; ".join(obstacle.told for obstacle in obstacles[:TOLD_OBSTACLES])
    more = f"; and {len(obstacles) - TOLD_OBSTACLES} more" if len(obstacles) > TOLD_OBSTACLES else ""
    return f"Nothing was undone: {told}{more}. Forcing it keeps what is newer and puts back the rest"
