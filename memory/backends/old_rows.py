"""Rows of this database that are old enough to be compacted.

First the ids of all of them are listed, in one statement; what they say is then read a handful of rows at a time. Asked
for by owner and session instead, SQLite walks through all that the owner has, for every one of its sessions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter

from django.db.models import Max

from memory.models import Memory, MemoryChange, MemoryQuerySet
from memory.records import MemoryRecord
from memory.rows import load_records
from memory.vector_stores.sqlite_vec import batched_ids


@dataclass(frozen=True, slots=True)
class OldGroup:
    """The memories of one owner and session from before some moment, the oldest first."""

    owner: str
    session_id: str
    memory_ids: tuple[int, ...]


def list_groups(owner: str | None, session_id: str | None, before: datetime) -> list[OldGroup]:
    """What was created before that moment, without what expires, by owner and session, in a fixed order."""
    rows = _select(owner, session_id, before).order_by("api_key_id", "session_id", "created_at", "memory_id")
    found = groupby(rows.values_list("api_key_id", "session_id", "memory_id"), key=itemgetter(0, 1))
    return [OldGroup(owner, session, tuple(row[2] for row in members)) for (owner, session), members in found]


def count_rows(owner: str | None, before: datetime, limit: int | None = None) -> int:
    """How many memories `list_groups` would list, `limit` at the most."""
    return _select(owner, None, before)[:limit].count()


def read_last_change() -> int:
    """A number that is another one after every write to any memory."""
    return MemoryChange.objects.aggregate(last=Max("seq"))["last"] or 0


def load_in_order(memory_ids: Sequence[int]) -> list[MemoryRecord]:
    """The memories of these rows that are still there, in the order of the ids."""
    found = dict[int, MemoryRecord]()
    for ids in batched_ids(memory_ids):
        found |= {record.memory_id: record for record in load_records(Memory.objects.filter(memory_id__in=ids))}
    return [found[memory_id] for memory_id in memory_ids if memory_id in found]


def _select(owner: str | None, session_id: str | None, before: datetime) -> MemoryQuerySet:
    """Memories with an expiry are left to it: what was meant to go must not live on in a summary."""
    rows = Memory.objects.owned_by(owner).filter(created_at__lt=before, expires_at__isnull=True)
    return rows if session_id is None else rows.filter(session_id=session_id)
