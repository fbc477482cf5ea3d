"""What an operator does to many memories at once: delete, expire, retype, reindex.

A few are changed at once; more than that in a job, batch by batch, so that nobody who wants to write waits for long.
What is deleted, expired or retyped can be undone like every other correction.
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

from memory import corrections, queue
from memory.backends import archive, bulk_rows
from memory.records import MemoryType

logger = structlog.get_logger(__name__)

BulkKind = Literal["delete", "expire", "retype", "reindex"]
BULK_KINDS: Final[tuple[BulkKind, ...]] = get_args(BulkKind)
# More than this takes longer than anybody waits for a page.
AT_ONCE_ROWS: Final = 500
BATCH_ROWS: Final = 200


@dataclass(frozen=True, slots=True)
class BulkChange:
    """`kind` done to the rows of these `memory_ids`; `type` is what a retype makes of them."""

    kind: BulkKind
    memory_ids: tuple[int, ...]
    type: MemoryType | None = None


@dataclass(frozen=True, slots=True)
class BulkStart:
    """`count` memories were changed, or will be by the job; `undo_id` is "" where there is nothing to undo yet."""

    count: int
    is_queued: bool
    undo_id: str = ""


def start_bulk_change(change: BulkChange) -> BulkStart:
    """Do it now if it is little, else have it done."""
    if len(change.memory_ids) > AT_ONCE_ROWS:
        queue.enqueue_bulk_change(change.kind, change.memory_ids, change.type)
        return BulkStart(len(change.memory_ids), is_queued=True)
    return run_bulk_change(change)


def run_bulk_change(change: BulkChange) -> BulkStart:
    """Do it to the end. Safe to run twice: what was changed already is left alone."""
    if change.kind == "reindex":
        done = BulkStart(_flag(change.memory_ids), is_queued=False)
    elif change.kind == "delete":
        ids = [id for some in _split(change.memory_ids) for id in bulk_rows.list_ids(some)]
        deleted = corrections.delete_memories(ids)
        done = BulkStart(deleted.count, is_queued=False, undo_id=deleted.undo_id)
    else:
        done = _change_in_place(change)
    queue.enqueue_indexing()
    logger.info("memory.bulk_change", kind=change.kind, memories=done.count, undo_id=done.undo_id)
    return done


def _flag(memory_ids: Sequence[int]) -> int:
    count = 0
    for ids in _split(memory_ids):
        with transaction.atomic():
            count += bulk_rows.flag_rows(ids)
    return count


def _change_in_place(change: BulkChange) -> BulkStart:
    """Expire or retype, each batch in a transaction of its own."""
    undo_id, count = str(uuid.uuid4()), 0
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
    archive.drop_if_empty(undo_id)
    return BulkStart(count, is_queued=False, undo_id=undo_id if count else "")


def _split(memory_ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(memory_ids), BATCH_ROWS):
        yield memory_ids[start : start + BATCH_ROWS]
