"""The indexes of this process, one an owner, kept current by `memory_changes`. The only SQL of the adaptive index."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from django.conf import settings
from django.db import connection, models
from django.db.models.functions import Cast

from memory.models import HEALTH_CHECK_OWNER, Memory, MemoryChange
from memory.rows import read_metadata, read_moment
from memory.search.dates import read_own_time
from memory.search.owner_index import IndexedMemory, OwnerIndex

# Ids in one statement: SQLite bounds the number of parameters.
_IDS_AT_ONCE: Final = 500
# Beyond this share of an index it is quicker to read all of it anew.
_RELOAD_SHARE: Final = 0.5
_COLUMNS: Final = ("memory_id", "api_key_id", "session_id", "key", "content", "type")
# Read as the text they are stored as: converting every column of 100,000 rows would take longer than indexing them.
_AS_TEXT: Final = {
    f"{name}_text": Cast(name, models.TextField()) for name in ("metadata", "created_at", "updated_at", "expires_at")
}


@dataclass
class _Entry:
    """`seq` is the last change that `index` has seen, `anchor_id` the memory that it was of."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    index: OwnerIndex = field(default_factory=OwnerIndex)
    seq: int = 0
    anchor_id: int = 0
    is_loaded: bool = False


class IndexCache:
    """Least recently used owners make room. Safe between threads; each process has its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: OrderedDict[str | None, _Entry] = OrderedDict()

    @contextmanager
    def open(self, owner: str | None) -> Iterator[OwnerIndex]:
        """Give the owner's index (all owners' for None) as of now, to this thread alone until the block ends."""
        if connection.in_atomic_block or connection.vendor != "sqlite":
            # What a transaction sees may never come true, and without the triggers nobody tells of changes.
            entry = _Entry()
            _bring_up_to_date(entry, owner)
            yield entry.index
            return
        with self._lock:
            entry = self._entries.setdefault(owner, _Entry())
            self._entries.move_to_end(owner)
        with entry.lock:
            if _bring_up_to_date(entry, owner):
                self._make_room(owner)
            yield entry.index

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()

    def measure_bytes(self) -> int:
        with self._lock:
            return sum(entry.index.size_bytes for entry in self._entries.values())

    def _make_room(self, newest: str | None) -> None:
        limit_bytes = settings.MEMORY_INDEX_CACHE_MB * 1024 * 1024
        with self._lock:
            total = sum(entry.index.size_bytes for entry in self._entries.values())
            for owner in list(self._entries):
                # The one in use stays, however large: without it every search would read it anew.
                if total <= limit_bytes or owner == newest:
                    return
                total -= self._entries.pop(owner).index.size_bytes


INDEXES: Final = IndexCache()


def _bring_up_to_date(entry: _Entry, owner: str | None) -> bool:
    """Read what changed since the last time; True when anything had."""
    if not entry.is_loaded:
        _load(entry, owner)
        return True
    # From the last change seen on, itself included: a database that was put back to an earlier state lacks it.
    changes = _read_changes(owner, entry.seq)
    if changes and changes[0] == (entry.seq, entry.anchor_id):
        del changes[0]
    elif entry.seq and entry.anchor_id not in {memory_id for _, memory_id in changes}:
        _load(entry, owner)
        return True
    if not changes:
        return False
    if len(changes) > max(_IDS_AT_ONCE, _RELOAD_SHARE * len(entry.index)):
        _load(entry, owner)
        return True
    memory_ids = [memory_id for _, memory_id in changes]
    entry.index.replace(memory_ids, _read_memories(owner, memory_ids))
    entry.seq, entry.anchor_id = changes[-1]
    return True


def _read_changes(owner: str | None, since: int) -> list[tuple[int, int]]:
    """Return (seq, memory_id) of every change from `since` on. By hand: it is asked before every search."""
    condition, value = ("api_key_id <> %s", HEALTH_CHECK_OWNER) if owner is None else ("api_key_id = %s", owner)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT seq, memory_id FROM memory_changes WHERE {condition} AND seq >= %s ORDER BY seq",  # noqa: S608
            [value, since],
        )
        changes: list[tuple[int, int]] = cursor.fetchall()
    return changes


def _load(entry: _Entry, owner: str | None) -> None:
    # The last change is read before the rows: what is written in between is read again next time, never missed.
    entry.seq, entry.anchor_id = _read_last_change(owner)
    index = OwnerIndex()
    index.replace([], _read_memories(owner, None))
    entry.index, entry.is_loaded = index, True


def _read_last_change(owner: str | None) -> tuple[int, int]:
    changes = MemoryChange.objects.exclude(api_key_id=HEALTH_CHECK_OWNER)
    if owner is not None:
        changes = MemoryChange.objects.filter(api_key_id=owner)
    return changes.order_by("-seq").values_list("seq", "memory_id").first() or (0, 0)


def _read_memories(owner: str | None, memory_ids: Sequence[int] | None) -> Iterator[IndexedMemory]:
    rows = Memory.objects.owned_by(owner).annotate(**_AS_TEXT)
    columns = (*_COLUMNS, *_AS_TEXT)
    if memory_ids is None:
        for values in rows.values_list(*columns).iterator(chunk_size=2000):
            yield _make_memory(*values)
        return
    for start in range(0, len(memory_ids), _IDS_AT_ONCE):
        some = rows.filter(memory_id__in=memory_ids[start : start + _IDS_AT_ONCE])
        for values in some.values_list(*columns):
            yield _make_memory(*values)


def _make_memory(
    memory_id: int,
    owner: str,
    session_id: str,
    key: str,
    content: str,
    type: str,
    metadata_text: str | None,
    created_at: str,
    updated_at: str,
    expires_at: str | None,
) -> IndexedMemory:
    metadata = read_metadata(metadata_text)
    return IndexedMemory(
        memory_id=memory_id,
        owner=owner,
        session_id=session_id,
        key=key,
        content=content,
        speaker=_read_name(metadata, "speaker"),
        subject=_read_name(metadata, "subject"),
        own_time=read_own_time(metadata.get("timestamp"), read_moment(created_at)),
        updated_at=read_moment(updated_at),
        expires_at=read_moment(expires_at) if expires_at else None,
        type=type,
    )


def _read_name(metadata: dict[str, Any], field_name: str) -> str:
    name = metadata.get(field_name)
    return name.strip()[:256] if isinstance(name, str) else ""
