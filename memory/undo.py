"""The undo of everything that can be undone: compactions, and what operators corrected."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from django.db import transaction

from core.errors import ConflictError, NotFoundError
from core.jobs.watching import list_open
from memory import queue
from memory.backends import archive, reversal
from memory.backends.archive import Kind
from memory.backends.reversal import Obstacle, Restoration

logger = structlog.get_logger(__name__)

# Few enough that nobody who wants to write waits long for one batch.
BATCH_ROWS: Final = 200
TOLD_OBSTACLES: Final = 5


@dataclass(frozen=True, slots=True)
class UndoReport:
    """`removed` are ids of what the change had made: summaries, imported memories. `kept_newer` says what a forced
    undo left as it was; with `was_undone_before` there was nothing left to do."""

    undo_id: str
    kind: str
    restored_count: int
    removed: tuple[str, ...]
    kept_newer: tuple[str, ...]
    was_undone_before: bool

    @property
    def removed_summaries(self) -> tuple[str, ...]:
        return self.removed


def undo(undo_id: str, *, is_forced: bool = False, kinds: Sequence[str] = ()) -> UndoReport:
    """Put memories back exactly as they were, and take away what the change had made. Safe to run twice.

    NotFoundError when there is no such change (of these kinds) or its time is over; ConflictError, with nothing
    changed, when something newer is in the way. With `is_forced` what is newer stays and the rest is put back.
    """
    kept = archive.read_kept(undo_id)
    if kept is None or (kinds and kept.kind not in kinds):
        raise NotFoundError("There is no such change, or the time to undo it is over")
    if kept.undone_at is not None:
        return UndoReport(undo_id, kept.kind, 0, (), (), True)
    refuse_unfinished(undo_id)
    # A summary and what it stands for change places at once; elsewhere a batch is enough.
    limit = None if kept.kind == Kind.COMPACTION else BATCH_ROWS
    if not is_forced and limit is not None:
        refuse_conflicts(undo_id)
    restored, removed, told = 0, list[str](), list[str]()
    while True:
        done = _restore_some(undo_id, limit, is_forced=is_forced or limit is not None)
        if done is None:
            break
        restoration, obstacles = done
        restored += restoration.restored
        removed += restoration.removed
        told += [obstacle.told for obstacle in obstacles]
    logger.info("memory.change_undone", undo_id=undo_id, kind=kept.kind, memories=restored, kept=len(told))
    return UndoReport(undo_id, kept.kind, restored, tuple(removed), tuple(told), False)


def refuse_unfinished(undo_id: str) -> None:
    """ConflictError while a job still makes that change: what it does next would not be undone."""
    jobs = list_open((queue.BULK_CHANGE,), ("undoId",))
    if any(job.values["undoId"] == undo_id and not job.is_dead for job in jobs):
        raise ConflictError("This change is still being made; undo it when it is done", code="undo_conflict")


def refuse_conflicts(undo_id: str) -> None:
    """ConflictError when something newer is in the way of undoing that change."""
    _refuse(reversal.find_obstacles(undo_id, reversal.list_entries(undo_id)))


def _restore_some(undo_id: str, limit: int | None, *, is_forced: bool) -> tuple[Restoration, list[Obstacle]] | None:
    """Put a batch back; None, and the change closed, when nothing is left of it."""
    with transaction.atomic():
        entries = reversal.list_entries(undo_id, limit)
        if not entries:
            reversal.close(undo_id)
            return None
        obstacles = reversal.find_obstacles(undo_id, entries)
        if not is_forced:
            _refuse(obstacles)
        restoration = reversal.restore(undo_id, entries, obstacles)
        queue.enqueue_indexing()
    return restoration, obstacles


def _refuse(obstacles: Sequence[Obstacle]) -> None:
    if obstacles:
        raise ConflictError(_tell(obstacles), code="undo_conflict")


def _tell(obstacles: Sequence[Obstacle]) -> str:
    told = "; ".join(obstacle.told for obstacle in obstacles[:TOLD_OBSTACLES])
    more = f"; and {len(obstacles) - TOLD_OBSTACLES} more" if len(obstacles) > TOLD_OBSTACLES else ""
    return f"Nothing was undone: {told}{more}. Forcing it keeps what is newer and puts back the rest"
