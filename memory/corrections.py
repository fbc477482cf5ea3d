"""Changes that an operator makes and can take back: delete, edit, retype, merge, import. And the undo of them all.

What a change replaces is kept for settings.MEMORY_UNDO_DAYS. Many memories are changed batch by batch, each in a short
transaction of its own; what a killed process leaves half done can be undone like the whole. Everything here is a
management call.
"""

import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Final

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from core.db.pauses import let_others_write
from core.errors import ConflictError, FieldError, InvalidFieldsError, NotFoundError
from core.words import gettext as _
from memory import queue, services
from memory.backends import archive, bulk_rows
from memory.backends.archive import KeptCompaction, KeptVersion, Kind
from memory.backends.base import MemoryChanges
from memory.backends.manager import get_primary
from memory.backends.selection import select_matching
from memory.models import Memory, MemoryQuerySet
from memory.records import MemoryFilter, MemoryRecord, MemoryType
from memory.undo import UndoReport, undo

__all__ = [
    "Correction",
    "UndoReport",
    "can_undo",
    "delete_matching",
    "delete_memories",
    "drop_import",
    "edit",
    "erase_matching",
    "find_correction",
    "keep_import",
    "list_corrections",
    "list_versions",
    "merge",
    "open_import",
    "retype",
    "retype_matching",
    "undo",
]

logger = structlog.get_logger(__name__)

# Few enough that nobody who wants to write waits long for one batch.
BATCH_ROWS: Final = 200
MERGED_FROM: Final = "mergedFrom"


@dataclass(frozen=True, slots=True)
class Correction:
    """What was changed: `count` memories. `undo_id` is "" when it can't be undone, or nothing was changed."""

    undo_id: str
    count: int
    kind: str


def can_undo() -> bool:
    """Whether memories are stored where what is replaced can be kept: in this database."""
    return get_primary().is_local


def delete_memories(ids: Sequence[str], *, undo_id: str = "") -> Correction:
    """Delete these memories. Where another backend stores them, for good.

    With `undo_id` they are kept under that id, so that what was begun and broken off is one change when it is finished.
    """
    if not can_undo():
        return Correction("", sum(get_primary().delete(id) for id in ids), Kind.DELETE)
    return _run(Kind.DELETE, _batch_ids(ids), archive.delete_kept, undo_id)


def delete_matching(filter: MemoryFilter) -> Correction:
    """Delete every memory that matches and was not changed since this began."""
    if not can_undo():
        return Correction("", services.clear(filter), Kind.DELETE)
    return _run(Kind.DELETE, _batch_matching(filter), archive.delete_kept)


def erase_matching(filter: MemoryFilter) -> int:
    """Delete every memory that matches for good, with what is kept of it for an undo; return how many there were."""
    if not can_undo():
        return services.clear(filter)
    count = 0
    for memory_ids in _batch_matching(filter):
        with transaction.atomic():
            count += archive.erase(memory_ids)
        let_others_write()
    archive.drop_empty()
    logger.info("memory.erased", memories=count)
    return count


def retype(ids: Sequence[str], type: MemoryType) -> Correction:
    """Make these memories ones of this type; those that are already stay untouched."""
    if not can_undo():
        records = [services.update(id, MemoryChanges(type=type)) for id in ids]
        return Correction("", len(records), Kind.RETYPE)
    return _run(Kind.RETYPE, _batch_ids(ids), partial(_retype, type=type))


def retype_matching(filter: MemoryFilter, type: MemoryType) -> Correction:
    """Make every memory that matches one of this type."""
    if not can_undo():
        told = _("The backend that stores memories can change them one by one only")
        raise ConflictError(told, code="not_supported")
    return _run(Kind.RETYPE, _batch_matching(filter), partial(_retype, type=type))


def edit(id: str, changes: MemoryChanges, *, seen_at: datetime | None = None) -> Correction:
    """Change one memory.

    NotFoundError when it isn't there; ConflictError when its owner has the key elsewhere, or, with `seen_at`, the
    `updated_at` that the editor saw, when somebody changed it since.
    """
    if not can_undo():
        services.update(id, changes)
        return Correction("", 1, Kind.EDIT)
    with transaction.atomic():
        row = Memory.objects.filter(uuid=id).first()
        if row is None:
            raise NotFoundError(_("Memory not found"))
        if seen_at is not None and row.updated_at != seen_at:
            raise ConflictError(_("This memory was changed since you opened it"), code="changed_since")
        correction = Correction(_open(Kind.EDIT), 0, Kind.EDIT)
        count = _change(correction.undo_id, [row.memory_id], changes=changes)
        if not count:
            archive.drop_if_empty(correction.undo_id)
    return _close(replace(correction, count=count))


def merge(kept_id: str, ids: Sequence[str]) -> Correction:
    """Let one memory stand for duplicates of it: the others go, it notes their ids in `metadata.mergedFrom`.

    NotFoundError without the one that stays; InvalidFieldsError when one of the others is of another owner.
    """
    kept = get_primary().get(kept_id)
    if kept is None:
        raise NotFoundError(_("Memory not found"))
    if not can_undo():
        raise ConflictError(_("The backend that stores memories can't merge them"), code="not_supported")
    with transaction.atomic():
        rows = Memory.objects.filter(uuid__in=[id for id in ids if id != kept_id]).order_by("memory_id")
        if rows.exclude(api_key_id=kept.owner).exists():
            raise InvalidFieldsError([FieldError("ids", _("Only memories of one API key can be merged"))])
        memory_ids = list(rows.values_list("memory_id", flat=True)[:BATCH_ROWS])
        if not memory_ids:
            return Correction("", 0, Kind.MERGE)
        undo_id = _open(Kind.MERGE)
        going = list(rows.filter(memory_id__in=memory_ids).values_list("uuid", flat=True))
        metadata = {**kept.metadata, MERGED_FROM: [*_read_merged(kept), *going]}
        _change(undo_id, [kept.memory_id], changes=MemoryChanges(metadata=metadata))
        archive.replace_with(undo_id, memory_ids, _read(kept_id))
    return _close(Correction(undo_id, len(memory_ids), Kind.MERGE))


def open_import(label: str) -> str:
    """Make the entry of an import, called `label` (the file's name), and return its undo id."""
    return _open(Kind.IMPORT, label[:200])


def keep_import(undo_id: str, before: Sequence[MemoryRecord], created: Sequence[MemoryRecord]) -> None:
    """Keep what an import replaced and note what it made. After the writes, in their transaction."""
    archive.keep_records(undo_id, before, created)


def drop_import(undo_id: str) -> None:
    """Forget the entry of an import that changed nothing."""
    archive.drop_if_empty(undo_id)


def list_corrections(limit: int, kinds: Sequence[str] = ()) -> list[KeptCompaction]:
    """The newest changes that can be undone, also those that were; all kinds without `kinds`."""
    return archive.list_kept(limit, kinds)


def find_correction(undo_id: str) -> KeptCompaction | None:
    """The change of that id, undone or not; None when there is none, or its time is over."""
    return archive.read_kept(undo_id)


def list_versions(owner: str, id: str, limit: int = 10) -> list[KeptVersion]:
    """What the owner's memory said before it was changed in the studio, the newest first, as far as it is kept."""
    return archive.list_versions(owner, id, limit)


def _run(
    kind: Kind, batches: Iterator[list[int]], change: Callable[[str, Sequence[int]], int], undo_id: str = ""
) -> Correction:
    """Change batch after batch, each in a transaction of its own."""
    count = 0
    for memory_ids in batches:
        with transaction.atomic():
            undo_id = _open(kind, undo_id=undo_id)
            count += change(undo_id, memory_ids)
        let_others_write()
    if undo_id and not count:
        archive.drop_if_empty(undo_id)
    return _close(Correction(undo_id, count, kind))


def _close(correction: Correction) -> Correction:
    if not correction.count:
        return replace(correction, undo_id="")
    logger.info("memory.corrected", undo_id=correction.undo_id, kind=correction.kind, memories=correction.count)
    return correction


def _change(undo_id: str, memory_ids: Sequence[int], *, changes: MemoryChanges) -> int:
    """Keep the rows aside and change those that the changes make any different."""
    rows = list(Memory.objects.filter(memory_id__in=memory_ids))
    differing = [row for row in rows if _differs(row, changes)]
    archive.keep_aside(undo_id, Memory.objects.filter(memory_id__in=[row.memory_id for row in differing]))
    for row in differing:
        services.update(row.uuid, changes)
    archive.settle(undo_id, [row.uuid for row in differing])
    return len(differing)


def _retype(undo_id: str, memory_ids: Sequence[int], *, type: MemoryType) -> int:
    """All at once, since nothing of it is text: one by one, ten thousand memories take a minute."""
    count = bulk_rows.retype_kept(undo_id, memory_ids, type, timezone.now())
    if count:
        queue.enqueue_indexing()
    return count


def _differs(row: Memory, changes: MemoryChanges) -> bool:
    pairs = ((changes.type, row.type), (changes.key, row.key), (changes.content, row.content))
    return any(new is not None and new != old for new, old in (*pairs, (changes.metadata, row.metadata)))


def _batch_ids(ids: Sequence[str]) -> Iterator[list[int]]:
    wanted = iter(dict.fromkeys(ids))
    while some := list(islice(wanted, BATCH_ROWS)):
        memory_ids = list(Memory.objects.filter(uuid__in=some).values_list("memory_id", flat=True))
        if memory_ids:
            yield memory_ids


def _batch_matching(filter: MemoryFilter) -> Iterator[list[int]]:
    """Ids of what matches now. What somebody writes meanwhile is not what the operator saw, and is left alone."""
    rows: MemoryQuerySet = select_matching(filter).filter(updated_at__lte=timezone.now())
    last = 0
    while memory_ids := list(
        rows.filter(memory_id__gt=last).order_by("memory_id").values_list("memory_id", flat=True)[:BATCH_ROWS]
    ):
        last = memory_ids[-1]
        yield memory_ids


def _open(kind: Kind, label: str = "", undo_id: str = "") -> str:
    undo_id = undo_id or str(uuid.uuid4())
    archive.open_compaction(undo_id, timezone.now() + timedelta(days=settings.MEMORY_UNDO_DAYS), kind, label)
    return undo_id


def _read(id: str) -> MemoryRecord:
    record = get_primary().get(id)
    if record is None:
        raise NotFoundError(_("Memory not found"))
    return record


def _read_merged(record: MemoryRecord) -> list[str]:
    merged = record.metadata.get(MERGED_FROM)
    return [str(id) for id in merged] if isinstance(merged, list) else []
