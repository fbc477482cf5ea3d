"""Records of memories that a search has ranked, read anew: SQL has the last word on each.

Written by hand, since building this statement with the ORM takes as long as the whole ranking of a small owner; and the
owner is compared as an expression, or SQLite would walk the owner's index instead of looking the ids up.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db import connection

from memory.models import HEALTH_CHECK_OWNER
from memory.records import MemoryRecord, SearchQuery

_SELECT: Final = (
    "SELECT memory_id, id, api_key_id, session_id, type, key, content, metadata, created_at, updated_at, expires_at "
    "FROM memories WHERE (expires_at IS NULL OR expires_at > %s) AND updated_at >= %s AND "
)
# Ids in one statement: SQLite bounds the number of parameters.
_IDS_AT_ONCE: Final = 500


def load_usable(query: SearchQuery, memory_ids: Sequence[int], now: datetime) -> dict[int, MemoryRecord]:
    """Return, by id, those of the memories that the query may use: the same as `memory.rows.select_usable` selects."""
    retained_since = now - timedelta(days=query.retention_days)
    values: list[Any] = [connection.ops.adapt_datetimefield_value(moment) for moment in (now, retained_since)]
    condition = "api_key_id || '' = %s" if query.owner is not None else "api_key_id <> %s"
    values.append(HEALTH_CHECK_OWNER if query.owner is None else query.owner)
    if query.session_id is not None:
        condition += " AND session_id = %s"
        values.append(query.session_id)
    records: dict[int, MemoryRecord] = {}
    with connection.cursor() as cursor:
        for start in range(0, len(memory_ids), _IDS_AT_ONCE):
            some = memory_ids[start : start + _IDS_AT_ONCE]
            marks = ",".join(["%s"] * len(some))
            cursor.execute(f"{_SELECT}{condition} AND memory_id IN ({marks})", [*values, *some])
            records.update((row[0], _make_record(row)) for row in cursor.fetchall())
    return records


def read_moment(value: Any) -> datetime:
    """Read a stored moment, text on SQLite: UTC, unless another writer says so itself."""
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def read_metadata(value: Any) -> dict[str, Any]:
    """Read stored metadata. An import or another client can leave anything in the column."""
    if not value or value == "{}":
        return {}
    try:
        metadata = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return {}
    return metadata if isinstance(metadata, dict) else {}


def _make_record(row: Sequence[Any]) -> MemoryRecord:
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
        expires_at=None if expires_at is None else read_moment(expires_at),
    )
