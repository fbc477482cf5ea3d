"""What an operator does to many memories at once: delete, expire, retype, reindex; and the undo of it.

A few are changed at once; more than that in a job, batch by batch, so that nobody who wants to write waits for long.
What is deleted, expired or retyped can be undone like every other correction. Its undo id is known before the job
begins, so that a job that was killed goes on with the same change, and anybody can watch it.
"""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal, get_args

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from core.db.pauses import let_others_write
from core.errors import ConflictError, NotFoundError
from core.jobs.watching import OpenJob, list_open
from core.words import gettext as _
from memory import corrections, queue
from memory.backends import archive, bulk_rows
from memory.background import (
    AT_ONCE_THINGS,
    UNDO,
    Work,
    advance,
    end_work,
    find_open_work,
    open_work,
    read_known_work,
    read_work,
)
from memory.records import MemoryType
from memory.undo import UndoBatch, UndoReport, find_kept, refuse_conflicts, refuse_unfinished, undo

logger = structlog.get_logger(__name__)

BulkKind = Literal["delete", "expire", "retype", "reindex", "erase"]
BULK_KINDS: Final[tuple[BulkKind, ...]] = get_args(BulkKind)
# More than this takes longer than anybody waits for a page.
AT_ONCE_ROWS: Final = 500
UNDO_AT_ONCE_ROWS: Final = AT_ONCE_THINGS
BATCH_ROWS: Final = 200


@dataclass(frozen=True, slots=True)
class BulkChange:
    """`kind` done to the rows of these `memory_ids`; `type` is what a retype makes of them.

    `undo_id` is what the change is known by, also one that can't be undone; `work_id` is where a job notes its way.
    """

    kind: BulkKind
    memory_ids: tuple[int, ...]
    type: MemoryType | None = None
    undo_id: str = ""
    work_id: str = ""


@dataclass(frozen=True, slots=True)
class BulkStart:
    """`count` memories were changed, or will be by the job; `undo_id` is "" where there is nothing to undo yet."""

    count: int
    is_queued: bool
    undo_id: str = ""


@dataclass(frozen=True, slots=True)
class OpenChange:
    """A change that a job makes or, with `kind` "undo", takes back: `done` of `count` memories so far.

    `error` is why it waits for another try or, with `is_dead`, has been given up.
    """

    undo_id: str
    kind: str
    count: int
    done: int
    is_dead: bool
    error: str


def start_bulk_change(change: BulkChange, *, asked_by: str = "") -> BulkStart:
    """Do it now if it is little, else have it done; `asked_by` is the operator of the studio who is told of its end."""
    count = len(change.memory_ids)
    if count <= AT_ONCE_ROWS:
        return run_bulk_change(change)
    undo_id = str(uuid.uuid4())
    with transaction.atomic():
        work_id = open_work(change.kind, count, undo_id=undo_id, asked_by=asked_by)
        queue.enqueue_bulk_change(change.kind, change.memory_ids, change.type, undo_id, work_id=work_id)
    return BulkStart(count, is_queued=True)


def run_bulk_change(change: BulkChange) -> BulkStart:
    """Do it to the end. Safe to run twice: what was changed already is left alone."""
    if change.kind == "reindex":
        done = BulkStart(_flag(change.memory_ids), is_queued=False)
    elif change.kind == "erase":
        done = BulkStart(_erase(change), is_queued=False)
    elif change.kind == "delete":
        ids = [id for some in _split(change.memory_ids) for id in bulk_rows.list_ids(some)]
        deleted = corrections.delete_memories(ids, undo_id=change.undo_id)
        done = BulkStart(deleted.count, is_queued=False, undo_id=deleted.undo_id)
    else:
        done = _change_in_place(change)
    queue.enqueue_indexing()
    if change.work_id:
        end_work(change.work_id)
    logger.info("memory.bulk_change", kind=change.kind, memories=done.count, undo_id=done.undo_id)
    return done


def start_undo(
    undo_id: str, *, is_forced: bool = False, kinds: Sequence[str] = (), asked_by: str = ""
) -> UndoReport | Work:
    """Take a change back now if it is little; else have that done, and return the work. Errors are those of `undo`.

    Asked twice, it is done once. `asked_by` is the operator of the studio who is told of its end.
    """
    running = find_open_work(UNDO, undo_id=undo_id)
    if running is not None:
        return running
    refuse_unfinished(undo_id)
    kept = find_kept(undo_id, kinds)
    if kept.undone_at is not None or kept.memories <= UNDO_AT_ONCE_ROWS:
        return undo(undo_id, is_forced=is_forced, kinds=kinds)
    if not is_forced:
        refuse_conflicts(undo_id)
    # What becomes newer while the job is at it stays. A summary and what it stands for change places at once or not.
    is_forced = is_forced or kept.kind != archive.Kind.COMPACTION
    with transaction.atomic():
        work_id = open_work(UNDO, kept.memories, undo_id=undo_id, asked_by=asked_by, notes={"changeKind": kept.kind})
        queue.enqueue_undo(undo_id, kept.memories, is_forced=is_forced, work_id=work_id)
    return read_known_work(work_id)


def run_undo(undo_id: str, *, is_forced: bool, work_id: str) -> None:
    """Take a large change back and note how far it is. Safe to run twice: it goes on with what is left."""

    def note(batch: UndoBatch) -> None:
        counts = {"restored": batch.restored, "removed": len(batch.removed)}
        advance(work_id, batch.entries, counts=counts, kept=[it.told_without_key for it in batch.obstacles])

    try:
        undo(undo_id, is_forced=is_forced, tell=note)
    except NotFoundError as error:
        end_work(work_id, error=error.message)
    except ConflictError:
        # Its own words name keys, which are not to be kept.
        words = _("Nothing was undone: something newer is in the way. Forcing it keeps that and puts back the rest")
        end_work(work_id, error=words)
    else:
        end_work(work_id)


def list_open_changes() -> list[OpenChange]:
    """Changes and undos that jobs are at, or have given up, the oldest first."""
    fields = ("undoId", "kind", "count", "workId")
    jobs = list_open((queue.BULK_CHANGE, queue.COMPACT, queue.UNDO_CHANGE), fields)
    return [_read_open(job) for job in jobs if job.values["undoId"]]


def find_open(undo_id: str) -> OpenChange | None:
    """The job's change of that id, one that goes on before one that was given up; None when no job is at it."""
    found = [change for change in list_open_changes() if change.undo_id == undo_id]
    return min(found, key=lambda change: change.is_dead, default=None)


def _read_open(job: OpenJob) -> OpenChange:
    undo_id, count = job.values["undoId"], job.values["count"] or 0
    if job.values["kind"] == "erase":
        work = read_work(job.values["workId"] or "")
        return OpenChange(undo_id, "erase", count, work.done if work else 0, job.is_dead, job.error)
    kept = archive.read_kept(undo_id)
    rows = 0 if kept is None else min(kept.memories, count)
    is_undo = job.name == queue.UNDO_CHANGE
    kind = "undo" if is_undo else job.values["kind"]
    return OpenChange(undo_id, kind, count, count - rows if is_undo else rows, job.is_dead, job.error)


def _flag(memory_ids: Sequence[int]) -> int:
    count = 0
    for ids in _split(memory_ids):
        with transaction.atomic():
            count += bulk_rows.flag_rows(ids)
        let_others_write()
    return count


def _erase(change: BulkChange) -> int:
    """Delete the rows for good, with what is kept of what they said before."""
    count = 0
    for ids in _split(change.memory_ids):
        with transaction.atomic():
            erased = archive.erase(ids)
            advance(change.work_id, len(ids), counts={"erased": erased})
            count += erased
        let_others_write()
    archive.drop_empty()
    logger.info("memory.erased", memories=count)
    return count


def _change_in_place(change: BulkChange) -> BulkStart:
    """Expire or retype, each batch in a transaction of its own."""
    undo_id, count = change.undo_id or str(uuid.uuid4()), 0
    until = timezone.now() + timedelta(days=settings.MEMORY_UNDO_DAYS)
    kind, label = (archive.Kind.EDIT, "expired") if change.type is None else (archive.Kind.RETYPE, change.type)
    for ids in _split(change.memory_ids):
        now = timezone.now()
        with transaction.atomic():
            archive.open_compaction(undo_id, until, kind, label)
            if change.type is None:
                count += bulk_rows.expire_kept(undo_id, ids, now)
            else:
                count += bulk_rows.retype_kept(undo_id, ids, change.type, now)
        let_others_write()
    archive.drop_if_empty(undo_id)
    return BulkStart(count, is_queued=False, undo_id=undo_id if count else "")


def _split(memory_ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(memory_ids), BATCH_ROWS):
        yield memory_ids[start : start + BATCH_ROWS]
