"""What was kept aside, put back. Nothing that is newer is ever overwritten.

Whoever calls `restore` does so in a transaction with what belongs to it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from memory.backends.archive import ARCHIVED_FIELDS, Kind
from memory.backends.mirroring import note_touched
from memory.backends.sqlite import SQLiteBackend, delete_rows, expect_indexing, touch
from memory.models import Compaction, Memory, MemoryArchive
from memory.search.terms import make_search_terms

ObstacleKind = Literal["key_taken", "memory_exists", "replacement_changed", "replacement_deleted"]
_ENTRIES_AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something newer that an undo would overwrite; `memory_id` is the id of the original or of its replacement."""

    kind: ObstacleKind
    memory_id: str
    told: str


@dataclass(frozen=True, slots=True)
class Restoration:
    """How many memories are back as they were, and the ids of those that went: summaries, or what was imported."""

    restored: int
    removed: tuple[str, ...]


def list_entries(undo_id: str, limit: int | None = None) -> list[int]:
    """The archive's ids of what is kept for that change, the first `limit` of them."""
    entries = MemoryArchive.objects.filter(compaction__uuid=undo_id).order_by("archive_id")
    return list(entries.values_list("archive_id", flat=True)[:limit])


def find_obstacles(undo_id: str, archive_ids: Sequence[int]) -> list[Obstacle]:
    """What an undo of these entries would overwrite."""
    obstacles = []
    for entries in _select(undo_id, archive_ids):
        obstacles += _find_changes(entries)
        obstacles += _find_taken(entries)
        twins = Memory.objects.filter(uuid=OuterRef("uuid"))
        for uuid in _gone(entries).filter(Exists(twins)).values_list("uuid", flat=True):
            obstacles.append(Obstacle("memory_exists", uuid, f"the memory {uuid} is there already"))
    # A summary stands for many: it is told once.
    return list(dict.fromkeys(obstacles))


def restore(undo_id: str, archive_ids: Sequence[int], obstacles: Sequence[Obstacle]) -> Restoration:
    """Put those entries back that no obstacle stands in the way of; what is newer stays, and the rest is forgotten."""
    blocked = {obstacle.memory_id for obstacle in obstacles}
    removes_replacements = Compaction.objects.filter(uuid=undo_id, kind=Kind.COMPACTION).exists()
    restored, going = 0, set[str]()
    for entries in _select(undo_id, archive_ids):
        going.update(_list_going(entries, removes_replacements))
        restored += _put_back([entry for entry in _gone(entries) if entry.uuid not in blocked])
    removed = _remove(going - blocked)
    for entries in _select(undo_id, archive_ids):
        restored += _change_back([entry for entry in _changed(entries) if entry.uuid not in blocked])
        entries.delete()
    return Restoration(restored, removed)


def close(undo_id: str) -> None:
    """Note that the change is undone; there is nothing left of it."""
    Compaction.objects.filter(uuid=undo_id).update(undone_at=timezone.now())


def _select(undo_id: str, archive_ids: Sequence[int]) -> Iterable[QuerySet[MemoryArchive]]:
    """SQLite bounds the number of parameters."""
    for start in range(0, len(archive_ids), _ENTRIES_AT_ONCE):
        some = archive_ids[start : start + _ENTRIES_AT_ONCE]
        yield MemoryArchive.objects.filter(compaction__uuid=undo_id, archive_id__in=some)


def _gone(entries: QuerySet[MemoryArchive]) -> QuerySet[MemoryArchive]:
    """Rows that are not there any more: deleted, or replaced by another."""
    return entries.filter(was_created=False).exclude(replaced_by=F("uuid"))


def _changed(entries: QuerySet[MemoryArchive]) -> QuerySet[MemoryArchive]:
    """Rows that were changed in place."""
    return entries.filter(was_created=False, replaced_by=F("uuid"))


def _list_going(entries: QuerySet[MemoryArchive], removes_replacements: bool) -> list[str]:
    """Memories that are there only because of the change."""
    going = Q(was_created=True)
    if removes_replacements:
        going |= ~Q(replaced_by=F("uuid")) & ~Q(replaced_by="")
    return list(entries.filter(going).values_list("replaced_by", flat=True).distinct())


def _remove(uuids: set[str]) -> tuple[str, ...]:
    removed, ordered = list[str](), sorted(uuids)
    for start in range(0, len(ordered), _ENTRIES_AT_ONCE):
        rows = Memory.objects.filter(uuid__in=ordered[start : start + _ENTRIES_AT_ONCE])
        removed += sorted(rows.values_list("uuid", flat=True))
        delete_rows(rows)
    return tuple(removed)


def _put_back(entries: Sequence[MemoryArchive]) -> int:
    rows = [Memory(**{name: getattr(entry, name) for name in ARCHIVED_FIELDS}) for entry in entries]
    note_touched(SQLiteBackend.id, map(touch, rows))
    return len(Memory.objects.owned_by(None).bulk_create(rows, batch_size=50))


def _change_back(entries: Sequence[MemoryArchive]) -> int:
    """Give rows everything back that they had; their index entries are made anew where the words are others."""
    kept = {entry.uuid: entry for entry in entries}
    rows = list(Memory.objects.owned_by(None).filter(uuid__in=kept))
    note_touched(SQLiteBackend.id, map(touch, rows))
    reworded = []
    for row in rows:
        entry = kept[row.uuid]
        if (row.content, row.key) != (entry.content, entry.key):
            reworded.append(row)
        for name in ARCHIVED_FIELDS[2:]:
            setattr(row, name, getattr(entry, name))
        row.search_terms = make_search_terms(row.content, row.key)
    expect_indexing(*reworded)
    for row in rows:
        row.save()
    return len(kept)


def _find_changes(entries: QuerySet[MemoryArchive]) -> list[Obstacle]:
    """Replacements that are not as the change left them. Gone is what nobody misses that was there by it alone."""
    entries = entries.exclude(replaced_by="")
    rows = Memory.objects.owned_by(None).filter(uuid__in=entries.values("replaced_by"))
    current = dict(rows.values_list("uuid", "updated_at"))
    is_summary = dict(entries.exclude(replaced_by=F("uuid")).values_list("replaced_by", "compaction__kind"))
    changes = []
    values = entries.values_list("replaced_by", "replacement_updated_at", "was_created")
    for uuid, updated_at, was_created in sorted(set(values)):
        name = f"the summary {uuid}" if is_summary.get(uuid) == Kind.COMPACTION else f"the memory {uuid}"
        if uuid not in current:
            if not was_created:
                changes.append(Obstacle("replacement_deleted", uuid, f"{name} was deleted since"))
        elif current[uuid] != updated_at:
            changes.append(Obstacle("replacement_changed", uuid, f"{name} was changed since"))
    return changes


def _find_taken(entries: QuerySet[MemoryArchive]) -> list[Obstacle]:
    """Originals whose key their owner has used anew."""
    # The condition on the key says nothing new; it is what lets SQLite use the index of keys, which has no empty ones.
    holders = Memory.objects.owned_by(None).filter(api_key_id=OuterRef("api_key_id"), key=OuterRef("key"))
    holders = holders.exclude(key="")
    taken = entries.filter(was_created=False).exclude(key="").filter(Exists(holders.exclude(uuid=OuterRef("uuid"))))
    return [
        Obstacle("key_taken", uuid, f"the key {key!r} of owner {owner!r} was taken by a newer memory")
        for uuid, owner, key in taken.values_list("uuid", "api_key_id", "key")
    ]
