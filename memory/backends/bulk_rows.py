"""Many rows of this database read or changed at once, the latter in what is no text: expiry, the index's flags.

Whoever changes rows does so in a transaction with what belongs to it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Q

from memory.backends.archive import keep_aside
from memory.backends.mirroring import note_touched
from memory.backends.sqlite import SQLiteBackend, touch
from memory.models import HEALTH_CHECK_OWNER, Memory, MemoryQuerySet
from memory.records import MemoryRecord, MemoryType
from memory.rows import load_records

_LIST_OWNERS = """
WITH RECURSIVE found(owner) AS (
  SELECT MIN(api_key_id) FROM memories
  UNION ALL SELECT (SELECT MIN(api_key_id) FROM memories WHERE api_key_id > found.owner) FROM found
  WHERE found.owner IS NOT NULL
) SELECT owner FROM found WHERE owner <> %s LIMIT %s
"""


def expire_kept(undo_id: str, memory_ids: Sequence[int], now: datetime) -> int:
    """Keep the rows aside and have them expired by now; those that are already stay as they are. Returns how many."""
    unexpired = _select(memory_ids).filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now))
    return _change_kept(undo_id, unexpired, now, {"expires_at": now})


def retype_kept(undo_id: str, memory_ids: Sequence[int], type: MemoryType, now: datetime) -> int:
    """Keep the rows aside and give them this type; those that have it stay as they are. Returns how many."""
    return _change_kept(undo_id, _select(memory_ids).exclude(type=type), now, {"type": type})


def flag_rows(memory_ids: Sequence[int]) -> int:
    """Have these rows' vectors made anew; the old ones answer until then. Returns how many rows."""
    return _select(memory_ids).update(needs_reindex=True, index_attempts=0, index_retry_at=None)


def list_ids(memory_ids: Sequence[int]) -> list[str]:
    """The ids that everybody else knows these rows by, of those that are there."""
    return list(_select(memory_ids).order_by("memory_id").values_list("uuid", flat=True))


def load_by_id(memory_ids: Sequence[int]) -> list[MemoryRecord]:
    """The memories of these rows, the oldest first."""
    return load_records(_select(memory_ids).order_by("created_at", "memory_id"))


def list_owners(limit: int) -> list[str]:
    """Owners that have memories, in the order of their ids: read one after the other out of the index."""
    with connection.cursor() as cursor:
        cursor.execute(_LIST_OWNERS, [HEALTH_CHECK_OWNER, limit])
        return [owner for (owner,) in cursor.fetchall()]


def _select(memory_ids: Sequence[int]) -> MemoryQuerySet:
    return Memory.objects.owned_by(None).filter(memory_id__in=memory_ids)


def _change_kept(undo_id: str, rows: MemoryQuerySet, now: datetime, values: Mapping[str, Any]) -> int:
    """One statement for all of them, since nothing of it is text: words and vectors stay true."""
    changing = list(rows.only("memory_id", "uuid", "api_key_id", "key"))
    chosen = _select([row.memory_id for row in changing])
    keep_aside(undo_id, chosen, replaced_at=now)
    note_touched(SQLiteBackend.id, map(touch, changing))
    return chosen.update(**values, updated_at=now)
