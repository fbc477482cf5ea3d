"""What was kept aside, put back. Nothing that is newer is ever overwritten.

Whoever calls `restore` does so in a transaction with what belongs to it. Rows go from the archive to their place within
the database, a batch in one statement: read into Python and written again, a hundred thousand take a minute.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final, Literal

from django.db import connection
from django.db.models import Count, Max
from django.utils import timezone

from core.words import gettext as _
from memory.backends.archive import ARCHIVED_FIELDS, Kind
from memory.backends.mirroring import Touched, has_listeners, note_touched
from memory.backends.sqlite import SQLiteBackend, delete_rows, expect_indexing
from memory.models import Compaction, Memory, MemoryArchive
from memory.rows import read_moment

ObstacleKind = Literal["key_taken", "memory_exists", "replacement_changed", "replacement_deleted"]
_IDS_AT_ONCE: Final = 200
_TOLD_MEMORY: Final = {
    "replacement_deleted": _("the memory %(id)s was deleted since"),
    "replacement_changed": _("the memory %(id)s was changed since"),
}
_TOLD_SUMMARY: Final = {
    "replacement_deleted": _("the summary %(id)s was deleted since"),
    "replacement_changed": _("the summary %(id)s was changed since"),
}
_TOLD_TAKEN: Final = _("the key %(key)s of owner %(owner)s was taken by a newer memory")

# Entries of one change up to one of them; `a` is the archive.
_SCOPE: Final = "a.compaction_id = %s AND a.archive_id <= %s"
# Rows that are not there any more (deleted, or replaced by another), and rows that were changed in place.
_IS_GONE: Final = "NOT a.was_created AND a.replaced_by <> a.uuid"
_IS_CHANGED: Final = "NOT a.was_created AND a.replaced_by = a.uuid"
_IS_FREE: Final = "a.uuid NOT IN (SELECT value FROM json_each(%s))"
_FIND_CHANGES: Final = f"""
SELECT DISTINCT a.replaced_by, a.replaced_by <> a.uuid, a.replacement_updated_at || '', m.updated_at || ''
FROM memory_archive a LEFT JOIN memories m ON m.id = a.replaced_by
WHERE {_SCOPE} AND a.replaced_by <> ''
  AND ((m.id IS NULL AND NOT a.was_created) OR m.updated_at <> a.replacement_updated_at)
ORDER BY a.replaced_by
"""  # noqa: S608  # of constants
# The second condition on the key says nothing new: in the very words of the index of keys, which has no empty ones, it
# is what lets SQLite use it.
_FIND_TAKEN: Final = f"""
SELECT a.uuid, a.api_key_id, a.key FROM memory_archive a
WHERE {_SCOPE} AND NOT a.was_created AND a.key <> '' AND EXISTS (
  SELECT 1 FROM memories m WHERE m.api_key_id = a.api_key_id AND m.key = a.key AND NOT (m.key = '') AND m.id <> a.uuid)
ORDER BY a.archive_id
"""  # noqa: S608  # of constants
_FIND_TWINS: Final = f"""
SELECT a.uuid FROM memory_archive a
WHERE {_SCOPE} AND {_IS_GONE} AND EXISTS (SELECT 1 FROM memories m WHERE m.id = a.uuid)
ORDER BY a.archive_id
"""  # noqa: S608  # of constants
_PUT_BACK: Final = f"""
INSERT INTO memories (memory_id, id, api_key_id, session_id, type, key, content, metadata, created_at, updated_at,
  expires_at, search_terms, needs_reindex, index_attempts, index_retry_at)
SELECT a.memory_id, a.uuid, a.api_key_id, a.session_id, a.type, a.key, a.content, a.metadata, a.created_at,
  a.updated_at, a.expires_at, a.search_terms, 1, 0, NULL
FROM memory_archive a WHERE {_SCOPE} AND {_IS_GONE} AND {_IS_FREE} ORDER BY a.archive_id
"""  # noqa: S608  # of constants
# Their texts are the same, so words and vectors stay true.
_CHANGE_BACK: Final = f"""
UPDATE memories SET api_key_id = a.api_key_id, session_id = a.session_id, type = a.type, metadata = a.metadata,
  created_at = a.created_at, updated_at = a.updated_at, expires_at = a.expires_at
FROM memory_archive a WHERE a.uuid = memories.id AND {_SCOPE} AND {_IS_CHANGED} AND {_IS_FREE}
  AND a.content = memories.content AND a.key = memories.key
"""  # noqa: S608  # of constants
_LIST_REWORDED: Final = f"""
SELECT a.archive_id FROM memory_archive a JOIN memories m ON m.id = a.uuid
WHERE {_SCOPE} AND {_IS_CHANGED} AND {_IS_FREE} AND (a.content <> m.content OR a.key <> m.key) ORDER BY a.archive_id
"""  # noqa: S608  # of constants
# What fallbacks know of a memory is its key before the change.
_LIST_TOUCHED: Final = f"""
SELECT a.uuid, a.api_key_id, CASE WHEN {_IS_GONE} THEN a.key ELSE m.key END
FROM memory_archive a LEFT JOIN memories m ON m.id = a.uuid
WHERE {_SCOPE} AND {_IS_FREE} AND (({_IS_GONE}) OR m.id IS NOT NULL) AND NOT a.was_created ORDER BY a.archive_id
"""  # noqa: S608  # of constants
_LIST_GOING: Final = f"""
SELECT DISTINCT a.replaced_by FROM memory_archive a
WHERE {_SCOPE} AND (a.was_created OR (%s AND a.replaced_by <> a.uuid AND a.replaced_by <> ''))
"""  # noqa: S608  # of constants


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something newer that an undo would overwrite; `memory_id` is the id of the original or of its replacement."""

    kind: ObstacleKind
    memory_id: str
    told: str

    @property
    def told_without_key(self) -> str:
        """The same for what is kept: a key is what somebody said, and must be gone when it is erased."""
        if self.kind != "key_taken":
            return self.told
        return _("the key of the memory %(id)s was taken by a newer memory") % {"id": self.memory_id}


@dataclass(frozen=True, slots=True)
class Restoration:
    """How many memories are back as they were, and the ids of those that went: summaries, or what was imported."""

    restored: int
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entries:
    """The `count` first entries of what is kept for a change: all up to `last_id`."""

    change_id: int
    is_compaction: bool
    last_id: int
    count: int

    @property
    def scope(self) -> tuple[int, int]:
        return self.change_id, self.last_id


def list_entries(undo_id: str) -> Entries | None:
    """All that is kept for that change; None when nothing is."""
    change = Compaction.objects.filter(uuid=undo_id).first()
    if change is None:
        return None
    told = MemoryArchive.objects.filter(compaction=change).aggregate(last=Max("archive_id"), count=Count("archive_id"))
    return _make_entries(change, told["last"], told["count"])


def list_batch(undo_id: str, limit: int) -> Entries | None:
    """The first `limit` of them, and the others for which the same memory stands as for the last of these.

    So a summary and all it was made of change places at once. They were kept aside one after the other.
    """
    change = Compaction.objects.filter(uuid=undo_id).first()
    if change is None:
        return None
    entries = MemoryArchive.objects.filter(compaction=change).order_by("archive_id")
    first = list(entries.values_list("archive_id", "replaced_by")[:limit])
    ids = [entry[0] for entry in first]
    if len(first) == limit and first[-1][1]:
        after = entries.filter(archive_id__gt=ids[-1]).values_list("archive_id", "replaced_by")
        same = takewhile(lambda entry: entry[1] == first[-1][1], after.iterator(chunk_size=limit))
        ids += [entry[0] for entry in same]
    return _make_entries(change, ids[-1] if ids else None, len(ids))


def find_obstacles(entries: Entries) -> list[Obstacle]:
    """What an undo of these entries would overwrite."""
    obstacles = _find_changes(entries)
    for uuid, owner, key in _ask(_FIND_TAKEN, *entries.scope):
        obstacles.append(Obstacle("key_taken", uuid, _TOLD_TAKEN % {"key": repr(key), "owner": repr(owner)}))
    for (uuid,) in _ask(_FIND_TWINS, *entries.scope):
        obstacles.append(Obstacle("memory_exists", uuid, _("the memory %(id)s is there already") % {"id": uuid}))
    # A summary stands for many: it is told once.
    return list(dict.fromkeys(obstacles))


def restore(entries: Entries, obstacles: Sequence[Obstacle]) -> Restoration:
    """Put those entries back that no obstacle stands in the way of; what is newer stays, and the rest is forgotten."""
    blocked = sorted({obstacle.memory_id for obstacle in obstacles})
    free = (*entries.scope, json.dumps(blocked))
    if has_listeners(SQLiteBackend.id):
        note_touched(SQLiteBackend.id, [Touched(*identity) for identity in _ask(_LIST_TOUCHED, *free)])
    going = {uuid for (uuid,) in _ask(_LIST_GOING, *entries.scope, entries.is_compaction)}
    restored = _execute(_PUT_BACK, *free)
    removed = _remove(going.difference(blocked))
    reworded = [archive_id for (archive_id,) in _ask(_LIST_REWORDED, *free)]
    restored += _execute(_CHANGE_BACK, *free) + _reword(reworded)
    MemoryArchive.objects.filter(compaction=entries.change_id, archive_id__lte=entries.last_id).delete()
    return Restoration(restored, removed)


def close(undo_id: str) -> None:
    """Note that the change is undone; there is nothing left of it."""
    Compaction.objects.filter(uuid=undo_id).update(undone_at=timezone.now())


def _make_entries(change: Compaction, last_id: int | None, count: int) -> Entries | None:
    return None if last_id is None else Entries(change.pk, change.kind == Kind.COMPACTION, last_id, count)


def _find_changes(entries: Entries) -> list[Obstacle]:
    """Replacements that are not as the change left them. Gone is what nobody misses that was there by it alone."""
    found: dict[str, tuple[ObstacleKind, bool]] = {}
    for uuid, is_other, expected, current in _ask(_FIND_CHANGES, *entries.scope):
        # The same moment may be written in another way.
        if current is not None and read_moment(current) == read_moment(expected):
            continue
        kind: ObstacleKind = "replacement_deleted" if current is None else "replacement_changed"
        is_summary = entries.is_compaction and bool(is_other)
        found[uuid] = (kind, is_summary or found.get(uuid, (kind, False))[1])
    return [
        Obstacle(kind, uuid, (_TOLD_SUMMARY if is_summary else _TOLD_MEMORY)[kind] % {"id": uuid})
        for uuid, (kind, is_summary) in found.items()
    ]


def _remove(uuids: Iterable[str]) -> tuple[str, ...]:
    removed, ordered = list[str](), sorted(uuids)
    for some in _split(ordered):
        rows = Memory.objects.filter(uuid__in=some)
        removed += sorted(rows.values_list("uuid", flat=True))
        delete_rows(rows)
    return tuple(removed)


def _reword(archive_ids: Sequence[int]) -> int:
    """Give rows back all that they had, whose words are others: their index entries are made anew."""
    for some in _split(archive_ids):
        kept = {entry.uuid: entry for entry in MemoryArchive.objects.filter(archive_id__in=some)}
        rows = list(Memory.objects.owned_by(None).filter(uuid__in=kept))
        for row in rows:
            for name in ARCHIVED_FIELDS[2:]:
                setattr(row, name, getattr(kept[row.uuid], name))
        expect_indexing(*rows)
        for row in rows:
            row.save()
    return len(archive_ids)


def _split(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    """SQLite bounds the number of parameters."""
    return (values[start : start + _IDS_AT_ONCE] for start in range(0, len(values), _IDS_AT_ONCE))


def _ask(statement: str, *values: int | str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def _execute(statement: str, *values: int | str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)
