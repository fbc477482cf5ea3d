"""The undo of everything that can be undone: compactions, and what operators corrected."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import structlog
from django.db import transaction

from core.db.pauses import let_others_write
from core.errors import ConflictError, NotFoundError
from core.jobs.watching import list_open
from core.words import gettext as _
from core.words import join_words
from memory import queue
from memory.backends import archive, reversal
from memory.backends.archive import KeptCompaction, Kind
from memory.backends.reversal import Obstacle

logger = structlog.get_logger(__name__)

# Few enough that nobody who wants to write waits long for one batch.
BATCH_ROWS: Final = 1000
TOLD_OBSTACLES: Final = 5


@dataclass(frozen=True, slots=True)
class UndoBatch:
    """What one transaction of an undo did with `entries` of what was kept."""

    entries: int
    restored: int
    removed: tuple[str, ...]
    obstacles: tuple[Obstacle, ...]


def _tell_nobody(batch: UndoBatch) -> None:
    """Nobody waits for it."""


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


def undo(
    undo_id: str,
    *,
    is_forced: bool = False,
    kinds: Sequence[str] = (),
    tell: Callable[[UndoBatch], None] = _tell_nobody,
) -> UndoReport:
    """Put memories back exactly as they were, and take away what the change had made. Safe to run twice.

    NotFoundError when there is no such change (of these kinds) or its time is over; ConflictError, with nothing
    changed, when something newer is in the way. With `is_forced` what is newer stays and the rest is put back.
    `tell` is called in the transaction of every batch, at its end.
    """
    kept = find_kept(undo_id, kinds)
    if kept.undone_at is not None:
        return UndoReport(undo_id, kept.kind, 0, (), (), True)
    refuse_unfinished(undo_id)
    if not is_forced:
        refuse_conflicts(undo_id)
    # What becomes newer while this is at it stays. Before anything of a compaction is put back, it is looked at again.
    keeps_newer = is_forced or kept.kind != Kind.COMPACTION
    restored, removed, told = 0, list[str](), list[str]()
    while True:
        batch = _restore_some(undo_id, tell, is_forced=keeps_newer)
        if batch is None:
            break
        keeps_newer = True
        restored += batch.restored
        removed += batch.removed
        told += [obstacle.told for obstacle in batch.obstacles]
        let_others_write()
    logger.info("memory.change_undone", undo_id=undo_id, kind=kept.kind, memories=restored, kept=len(told))
    return UndoReport(undo_id, kept.kind, restored, tuple(removed), tuple(told), False)


def find_kept(undo_id: str, kinds: Sequence[str] = ()) -> KeptCompaction:
    """What is kept of a change, undone or not; NotFoundError when there is none of these kinds, or its time is over."""
    kept = archive.read_kept(undo_id)
    if kept is None or (kinds and kept.kind not in kinds):
        raise NotFoundError(_("There is no such change, or the time to undo it is over"))
    return kept


def refuse_unfinished(undo_id: str) -> None:
    """ConflictError while a job still makes that change: what it does next would not be undone."""
    jobs = list_open((queue.BULK_CHANGE, queue.COMPACT), ("undoId",))
    if any(job.values["undoId"] == undo_id and not job.is_dead for job in jobs):
        raise ConflictError(_("This change is still being made; undo it when it is done"), code="undo_conflict")


def refuse_conflicts(undo_id: str) -> None:
    """ConflictError when something newer is in the way of undoing that change."""
    entries = reversal.list_entries(undo_id)
    _refuse(() if entries is None else reversal.find_obstacles(entries))


def _restore_some(undo_id: str, tell: Callable[[UndoBatch], None], *, is_forced: bool) -> UndoBatch | None:
    """Put a batch back; None, and the change closed, when nothing is left of it."""
    with transaction.atomic():
        entries = reversal.list_batch(undo_id, BATCH_ROWS)
        if entries is None:
            reversal.close(undo_id)
            return None
        obstacles = reversal.find_obstacles(entries)
        if not is_forced:
            _refuse(obstacles)
        restoration = reversal.restore(entries, obstacles)
        queue.enqueue_indexing()
        batch = UndoBatch(entries.count, restoration.restored, restoration.removed, tuple(obstacles))
        tell(batch)
    return batch


def _refuse(obstacles: Sequence[Obstacle]) -> None:
    if obstacles:
        raise ConflictError(_tell(obstacles), code="undo_conflict")


def _tell(obstacles: Sequence[Obstacle]) -> str:
    told = [obstacle.told for obstacle in obstacles[:TOLD_OBSTACLES]]
    if len(obstacles) > TOLD_OBSTACLES:
        told.append(_("and %(count)d more") % {"count": len(obstacles) - TOLD_OBSTACLES})
    words = _("Nothing was undone: %(obstacles)s. Forcing it keeps what is newer and puts back the rest")
    return words % {"obstacles": join_words("; ", told)}
