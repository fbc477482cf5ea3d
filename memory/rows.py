"""Rows to records, and the one place where candidates are narrowed to what a search may use."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from django.db.models import TextField
from django.db.models.functions import Cast
from django.utils import timezone

from memory.models import Memory, MemoryQuerySet
from memory.records import MemoryRecord, MemoryType, SearchQuery

_PLAIN_COLUMNS: Final = ("memory_id", "uuid", "api_key_id", "session_id", "type", "key", "content")
_TEXT_COLUMNS: Final = ("metadata", "created_at", "updated_at", "expires_at")


def select_usable(query: SearchQuery, now: datetime | None = None) -> MemoryQuerySet:
    """Rows this query may use: its owner's, not expired, retained, of its session. Every tier starts from here."""
    now = now or timezone.now()
    retained_since = now - timedelta(days=query.retention_days)
    return Memory.objects.owned_by(query.owner).usable(now, retained_since, query.session_id)


def load_records(rows: MemoryQuerySet) -> list[MemoryRecord]:
    """Read the rows in their order.

    Dates and metadata are read as the text they are stored as: a search reads hundreds of rows, and the generic
    conversion of their columns would take longer than the search itself.
    """
    as_text = {f"{name}_text": Cast(name, TextField()) for name in _TEXT_COLUMNS}
    values = rows.annotate(**as_text).values_list(*_PLAIN_COLUMNS, *as_text)
    return [_make_record(*row) for row in values]


def load_by_ids(rows: MemoryQuerySet, memory_ids: Iterable[int]) -> dict[int, MemoryRecord]:
    """Read those of `rows` that have the given ids, by id; ids outside `rows` are simply not there."""
    return {record.memory_id: record for record in load_records(rows.filter(memory_id__in=list(memory_ids)))}


def load_newest(rows: MemoryQuerySet, limit: int) -> list[MemoryRecord]:
    return load_records(rows.order_by("-created_at", "-memory_id")[:limit])


def make_record(row: Memory) -> MemoryRecord:
    """The record of a row that is already loaded."""
    return MemoryRecord(
        memory_id=row.memory_id,
        id=row.uuid,
        owner=row.api_key_id,
        session_id=row.session_id,
        type=cast(MemoryType, row.type),
        key=row.key,
        content=row.content,
        metadata=row.metadata if isinstance(row.metadata, dict) else {},
        created_at=row.created_at,
        updated_at=row.updated_at,
        expires_at=row.expires_at,
    )


def _make_record(
    memory_id: int,
    id: str,
    owner: str,
    session_id: str,
    type: MemoryType,
    key: str,
    content: str,
    metadata: str | None,
    created_at: str,
    updated_at: str,
    expires_at: str | None,
) -> MemoryRecord:
    return MemoryRecord(
        memory_id=memory_id,
        id=id,
        owner=owner,
        session_id=session_id,
        type=type,
        key=key,
        content=content,
        metadata=_read_metadata(metadata),
        created_at=_read_moment(created_at),
        updated_at=_read_moment(updated_at),
        expires_at=_read_moment(expires_at) if expires_at else None,
    )


def _read_metadata(text: str | None) -> dict[str, Any]:
    """An import or another client can leave anything in the column; on the wire metadata is always an object."""
    if not text or text == "{}":
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _read_moment(text: str) -> datetime:
    """Stored moments are UTC; rows of other writers may say so themselves."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
