"""Rows to records, and the one place where candidates are narrowed to what a search may use."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from memory.models import Memory, MemoryQuerySet
from memory.records import MemoryRecord, SearchQuery

_COLUMNS = (
    "memory_id",
    "uuid",
    "api_key_id",
    "session_id",
    "type",
    "key",
    "content",
    "metadata",
    "created_at",
    "updated_at",
    "expires_at",
)


def select_usable(query: SearchQuery, now: datetime | None = None) -> MemoryQuerySet:
    """Rows this query may use: its owner's, not expired, retained, of its session. Every tier starts from here."""
    now = now or timezone.now()
    retained_since = now - timedelta(days=query.retention_days)
    return Memory.objects.owned_by(query.owner).usable(now, retained_since, query.session_id)


def load_records(rows: MemoryQuerySet) -> list[MemoryRecord]:
    """Read the rows in their order."""
    return [_make_record(values) for values in rows.values_list(*_COLUMNS)]


def load_by_ids(rows: MemoryQuerySet, memory_ids: Iterable[int]) -> dict[int, MemoryRecord]:
    """Read those of `rows` that have the given ids, by id; ids outside `rows` are simply not there."""
    return {record.memory_id: record for record in load_records(rows.filter(memory_id__in=list(memory_ids)))}


def load_newest(rows: MemoryQuerySet, limit: int) -> list[MemoryRecord]:
    return load_records(rows.order_by("-created_at", "-memory_id")[:limit])


def _make_record(values: tuple[Any, ...]) -> MemoryRecord:
    record = MemoryRecord(*values)
    if isinstance(record.metadata, dict):
        return record
    # An import or another client can leave anything in the column; on the wire metadata is always an object.
    return replace(record, metadata={})


def make_record(row: Memory) -> MemoryRecord:
    """The record of a row that is already loaded."""
    return _make_record(tuple(getattr(row, column) for column in _COLUMNS))
