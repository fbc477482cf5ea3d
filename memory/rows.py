"""Rows to records, and the one place where candidates are narrowed to what a search may use.

`select_usable` says it for statements that the ORM builds. The reads of every chat are written by hand, from the same
rules: building a statement anew with the ORM takes longer than these reads themselves. A test compares the two.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final, cast

from django.db import connection
from django.db.models import TextField
from django.db.models.functions import Cast
from django.utils import timezone

from memory.models import HEALTH_CHECK_OWNER, Memory, MemoryQuerySet
from memory.records import MemoryRecord, MemoryType, SearchQuery

_PLAIN_COLUMNS: Final = ("memory_id", "uuid", "api_key_id", "session_id", "type", "key", "content")
_TEXT_COLUMNS: Final = ("metadata", "created_at", "updated_at", "expires_at")
# As expressions, dates and metadata come as the text they are stored as, without the driver's slow conversions.
_SELECT: Final = (
    "SELECT memory_id, id, api_key_id, session_id, type, key, content, "
    "metadata || '', created_at || '', updated_at || '', expires_at || '' FROM memories WHERE "
)
# Ids in one statement: SQLite bounds the number of parameters.
_IDS_AT_ONCE: Final = 500


def select_usable(query: SearchQuery, now: datetime | None = None) -> MemoryQuerySet:
    """Rows this query may use: its owner's, not expired, retained, of its session and type. Every tier starts here."""
    now = now or timezone.now()
    retained_since = now - timedelta(days=query.retention_days)
    rows = Memory.objects.owned_by(query.owner).usable(now, retained_since, query.session_id)
    return rows if query.type is None else rows.filter(type=query.type)


def write_usable(query: SearchQuery, now: datetime | None, *, by_id: bool = False) -> tuple[str, list[Any]]:
    """Return the condition of `select_usable` as SQL over `memories`, and its values.

    `by_id` is for statements that look ids up: with the owner as an expression, SQLite can't walk the owner's whole
    index for a handful of rows.
    """
    now = now or timezone.now()
    retained_since = now - timedelta(days=query.retention_days)
    owner = "memories.api_key_id || ''" if by_id else "memories.api_key_id"
    condition = f"{owner} {'<>' if query.owner is None else '='} %s"
    values: list[Any] = [HEALTH_CHECK_OWNER if query.owner is None else query.owner]
    condition += " AND (memories.expires_at IS NULL OR memories.expires_at > %s) AND memories.updated_at >= %s"
    values += [connection.ops.adapt_datetimefield_value(moment) for moment in (now, retained_since)]
    if query.session_id is not None:
        condition += " AND memories.session_id = %s"
        values.append(query.session_id)
    if query.type is not None:
        # As an expression too: the index of types would be walked for all owners.
        condition += " AND memories.type || '' = %s"
        values.append(query.type)
    return condition, values


def load_usable(query: SearchQuery, memory_ids: Iterable[int], now: datetime | None = None) -> dict[int, MemoryRecord]:
    """Read those of the ids that the query may use, by id; the others are simply not there."""
    condition, values = write_usable(query, now, by_id=True)
    ids, records = iter(memory_ids), dict[int, MemoryRecord]()
    with connection.cursor() as cursor:
        while some := list(islice(ids, _IDS_AT_ONCE)):
            marks = ",".join(["%s"] * len(some))
            cursor.execute(f"{_SELECT}{condition} AND memory_id IN ({marks})", [*values, *some])
            records.update((row[0], _make_record(*row)) for row in cursor.fetchall())
    return records


def load_newest(
    query: SearchQuery, limit: int, now: datetime | None = None, *, holding: Sequence[str] = ()
) -> list[MemoryRecord]:
    """Read the newest rows that the query may use, whatever its text.

    With `holding`, only those of them are made into records in which one of these lower-case terms stands somewhere.
    """
    condition, values = write_usable(query, now)
    with connection.cursor() as cursor:
        cursor.execute(f"{_SELECT}{condition} ORDER BY created_at DESC, memory_id DESC LIMIT %s", [*values, limit])
        rows = cursor.fetchall()
    return [_make_record(*row) for row in rows if not holding or _holds_any(row[5:8], holding)]


def load_records(rows: MemoryQuerySet) -> list[MemoryRecord]:
    """Read the rows of a statement that the ORM built, in their order."""
    as_text = {f"{name}_text": Cast(name, TextField()) for name in _TEXT_COLUMNS}
    values = rows.annotate(**as_text).values_list(*_PLAIN_COLUMNS, *as_text)
    return [_make_record(*row) for row in values]


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


def read_metadata(value: Any) -> dict[str, Any]:
    """Read stored metadata. An import or another client can leave anything in the column; here it is an object."""
    if not value or value == "{}":
        return {}
    try:
        metadata = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return {}
    return metadata if isinstance(metadata, dict) else {}


def read_moment(value: Any) -> datetime:
    """Read a stored moment: UTC, unless another writer says so itself."""
    if isinstance(value, str):
        try:
            # Every chat reads hundreds of them: with its zone in the text, one is read in half the time.
            value = datetime.fromisoformat(value + "+00:00")
        except ValueError:  # it names its zone already
            value = datetime.fromisoformat(value)
    moment: datetime = value
    if moment.tzinfo is UTC:
        return moment
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _holds_any(texts: Sequence[str | None], terms: Sequence[str]) -> bool:
    """Stored metadata may spell letters as escapes; then it is taken to hold anything."""
    text = "\n".join(filter(None, texts)).lower()
    return "\\u" in text or any(term in text for term in terms)


def _make_record(*row: Any) -> MemoryRecord:
    memory_id, uuid, owner, session_id, kind, key, content, metadata, created_at, updated_at, expires_at = row
    return MemoryRecord(
        memory_id=memory_id,
        id=uuid,
        owner=owner,
        session_id=session_id,
        type=kind,
        key=key,
        content=content,
        metadata=read_metadata(metadata),
        created_at=read_moment(created_at),
        updated_at=read_moment(updated_at),
        expires_at=read_moment(expires_at) if expires_at else None,
    )
