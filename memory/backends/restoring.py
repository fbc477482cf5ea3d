"""Memories of this database taken out in the order they were stored in, and put in as a file tells them, ids and times
with them. Whoever writes here does so in a transaction with what belongs to it.
"""

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from memory.backends.mirroring import note_touched
from memory.backends.selection import select_matching
from memory.backends.sqlite import SQLiteBackend, expect_indexing, touch
from memory.models import Memory
from memory.records import MemoryFilter, MemoryRecord
from memory.rows import load_records, make_record

# SQLite bounds the number of parameters.
IDS_AT_ONCE: Final = 500
_Value = TypeVar("_Value")


def load_stored(filter: MemoryFilter, after: int, limit: int) -> list[MemoryRecord]:
    """Up to `limit` memories that match and were stored after the one with that `memory_id`, in that order.

    Put in again in the same order, those that an index holds for equal come out in the same order too.
    """
    return load_records(select_matching(filter).filter(memory_id__gt=after).order_by("memory_id")[:limit])


def load_by_keys(owner: str, keys: Sequence[str]) -> dict[str, MemoryRecord]:
    """The owner's memories that have these keys, by key."""
    found: dict[str, MemoryRecord] = {}
    for some in _batch(keys):
        rows = Memory.objects.owned_by(owner).filter(key__in=some)
        found.update((record.key, record) for record in load_records(rows))
    return found


def load_by_ids(owner: str, ids: Sequence[str]) -> dict[str, MemoryRecord]:
    """The owner's memories that have these ids, by id."""
    found: dict[str, MemoryRecord] = {}
    for some in _batch(ids):
        rows = Memory.objects.owned_by(owner).filter(uuid__in=some)
        found.update((record.id, record) for record in load_records(rows))
    return found


def find_taken_ids(ids: Sequence[str]) -> set[str]:
    """Which of these ids some memory has, whosever it is; nothing else of it is told."""
    taken: set[str] = set()
    for some in _batch(ids):
        taken.update(Memory.objects.owned_by(None).filter(uuid__in=some).values_list("uuid", flat=True))
    return taken


def insert(records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
    """Store new memories as they are, but for `memory_id`, which the database gives; in this order."""
    rows = [
        Memory(
            uuid=record.id,
            api_key_id=record.owner,
            session_id=record.session_id,
            type=record.type,
            key=record.key,
            content=record.content,
            metadata=dict(record.metadata),
            created_at=record.created_at,
            updated_at=record.updated_at,
            expires_at=record.expires_at,
        )
        for record in records
    ]
    expect_indexing(*rows)
    return [make_record(row) for row in Memory.objects.owned_by(None).bulk_create(rows, batch_size=50)]


def overwrite(records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
    """Give the memories of these `memory_id`s, whose owner must be the same, everything but id and owner."""
    wanted = {record.memory_id: record for record in records}
    written: list[MemoryRecord] = []
    for some in _batch(list(wanted)):
        rows = list(Memory.objects.filter(memory_id__in=some))
        note_touched(SQLiteBackend.id, map(touch, rows))
        rows = [row for row in rows if row.api_key_id == wanted[row.memory_id].owner]
        expect_indexing(*[row for row in rows if _copy_into(row, wanted[row.memory_id])])
        for row in rows:
            row.save()
            written.append(make_record(row))
    return written


def _copy_into(row: Memory, record: MemoryRecord) -> bool:
    """Give the row what the record says; True when the indexed text is another now."""
    before = (row.content, row.key)
    row.content, row.key, row.type = record.content, record.key, record.type
    row.session_id, row.metadata = record.session_id, dict(record.metadata)
    row.created_at, row.updated_at, row.expires_at = record.created_at, record.updated_at, record.expires_at
    return before != (row.content, row.key)


def _batch(values: Sequence[_Value]) -> Iterable[Sequence[_Value]]:
    for start in range(0, len(values), IDS_AT_ONCE):
        yield values[start : start + IDS_AT_ONCE]
