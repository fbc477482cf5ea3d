"""Rows of this database that something replaces, kept aside as they were; `memory.backends.reversal` puts them back.

Whoever calls `keep_aside`, `replace_with` or `shorten` does so in a transaction with what belongs to it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from django.db import connection
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from memory.backends.mirroring import note_touched
from memory.backends.sqlite import SQLiteBackend, delete_rows, expect_indexing, touch
from memory.models import Compaction, Memory, MemoryArchive, MemoryQuerySet
from memory.records import MemoryRecord
from memory.rows import load_records
from memory.vector_stores.sqlite_vec import batched_ids

Kind = Compaction.Kind
# Every column of a memory but the flags of its index entry, which is made anew for a restored row.
ARCHIVED_FIELDS: Final = (
    "memory_id", "uuid", "api_key_id", "session_id", "type", "key", "content", "metadata",
    "created_at", "updated_at", "expires_at", "search_terms",
)  # fmt: skip
# One statement for many: entries that Python made would take as long as all the rest of a compaction.
_KEEP: Final = """
INSERT INTO memory_archive (compaction_id, replaced_by, was_created, replacement_updated_at, memory_id, uuid,
  api_key_id, session_id, type, key, content, metadata, created_at, updated_at, expires_at, search_terms)
SELECT %s, COALESCE(%s, id), 0, COALESCE(%s, updated_at), memory_id, id, api_key_id, session_id, type, key, content,
  metadata, created_at, updated_at, expires_at, search_terms FROM memories WHERE memory_id IN ({marks})
ORDER BY memory_id
"""
# What an import made is in its row; nothing of it has to be kept to take it away again.
_NOTE_CREATED: Final = """
INSERT INTO memory_archive (compaction_id, replaced_by, was_created, replacement_updated_at, memory_id, uuid,
  api_key_id, session_id, type, key, content, metadata, created_at, updated_at, expires_at, search_terms)
SELECT %s, id, 1, updated_at, memory_id, id, api_key_id, session_id, type, '', '', '{{}}', created_at, updated_at,
  expires_at, '' FROM memories WHERE id IN ({marks}) ORDER BY memory_id
"""
_IDS_AT_ONCE: Final = 200
_Value = TypeVar("_Value")
_TEXT_FIELDS: Final = ("content", "search_terms", "needs_reindex", "index_attempts", "index_retry_at")


@dataclass(frozen=True, slots=True)
class KeptCompaction:
    """A change that can be undone until `expires_at`, or was; the counts are of what is still kept aside."""

    undo_id: str
    created_at: datetime
    expires_at: datetime
    undone_at: datetime | None
    memories: int
    owners: int
    kind: str = Kind.COMPACTION
    label: str = ""


@dataclass(frozen=True, slots=True)
class KeptVersion:
    """What a memory said before a change of that kind replaced it at `replaced_at`."""

    archive_id: int
    kind: str
    type: str
    key: str
    content: str
    replaced_at: datetime


def load_unexpired(owner: str, session_id: str | None) -> list[MemoryRecord]:
    """The memories of one owner, of one session if it is given, that are not past their expiry, the newest first."""
    rows = Memory.objects.owned_by(owner).filter(Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now()))
    rows = rows if session_id is None else rows.filter(session_id=session_id)
    return load_records(rows.order_by("-created_at", "-memory_id"))


def open_compaction(undo_id: str, expires_at: datetime, kind: Kind = Kind.COMPACTION, label: str = "") -> None:
    """Make the entry that kept rows belong to, if it isn't there yet."""
    Compaction.objects.get_or_create(uuid=undo_id, defaults={"expires_at": expires_at, "kind": kind, "label": label})


def drop_if_empty(undo_id: str) -> None:
    """Take the entry away again when nothing was kept: there is nothing to undo."""
    Compaction.objects.filter(uuid=undo_id, originals__isnull=True).delete()


def replace_with(undo_id: str, memory_ids: Sequence[int], summary: MemoryRecord) -> None:
    """Keep the rows aside and delete them; `summary` stands for them from now on."""
    for ids in batched_ids(memory_ids):
        rows = Memory.objects.filter(memory_id__in=ids)
        keep_aside(undo_id, rows, replaced_by=summary.id, replaced_at=summary.updated_at)
        delete_rows(rows)


def delete_kept(undo_id: str, memory_ids: Sequence[int]) -> int:
    """Keep the rows aside and delete them; nothing stands for them. Returns how many there were."""
    count = 0
    for ids in batched_ids(memory_ids):
        rows = Memory.objects.filter(memory_id__in=ids)
        keep_aside(undo_id, rows, replaced_by="", replaced_at=timezone.now())
        count += delete_rows(rows)
    return count


def erase(memory_ids: Sequence[int]) -> int:
    """Delete the rows, and all that is kept of what they said before. Returns how many there were."""
    rows = Memory.objects.filter(memory_id__in=memory_ids)
    MemoryArchive.objects.filter(uuid__in=list(rows.values_list("uuid", flat=True))).delete()
    return delete_rows(rows)


def drop_empty() -> None:
    """Take the entries away of which nothing is kept any more, but for those that were undone."""
    Compaction.objects.filter(originals__isnull=True, undone_at__isnull=True).delete()


def shorten(undo_id: str, contents: Mapping[int, str]) -> None:
    """Keep the rows of these memory_ids aside and give them these contents. `updated_at` stays: nobody said it anew."""
    for ids in batched_ids(contents):
        keep_aside(undo_id, Memory.objects.filter(memory_id__in=ids))
    _write_contents(contents)


def keep_aside(
    undo_id: str, rows: MemoryQuerySet, *, replaced_by: str | None = None, replaced_at: datetime | None = None
) -> None:
    """Copy the rows into the archive. Without `replaced_by` they are about to be changed in place; see `settle`."""
    compaction = Compaction.objects.get(uuid=undo_id)
    moment = None if replaced_at is None else connection.ops.adapt_datetimefield_value(replaced_at)
    with connection.cursor() as cursor:
        for ids in batched_ids(rows.values_list("memory_id", flat=True)):
            marks = ", ".join(["%s"] * len(ids))
            cursor.execute(_KEEP.format(marks=marks), [compaction.pk, replaced_by, moment, *ids])


def keep_records(undo_id: str, before: Sequence[MemoryRecord], created: Sequence[MemoryRecord]) -> None:
    """Keep what rows said before they were written over, and which are there for the first time."""
    compaction = Compaction.objects.get(uuid=undo_id)
    for replaced in _split(before):
        written_at = _read_times([record.id for record in replaced])
        entries = [_archive_record(compaction, record, written_at) for record in replaced]
        MemoryArchive.objects.bulk_create(entries, batch_size=50)
    for made in _split(created):
        _note_created(compaction, [record.id for record in made])


def settle(undo_id: str, uuids: Sequence[str]) -> None:
    """Note when memories that were kept aside and changed in place were changed: this is what undo expects."""
    now = Memory.objects.filter(uuid=OuterRef("uuid")).values("updated_at")
    for some in _split(uuids):
        entries = MemoryArchive.objects.filter(uuid__in=some, compaction__uuid=undo_id, replaced_by=F("uuid"))
        entries.update(replacement_updated_at=Coalesce(Subquery(now), F("replacement_updated_at")))


def list_kept(limit: int, kinds: Sequence[str] = ()) -> list[KeptCompaction]:
    """The newest changes of these kinds, of every kind without."""
    entries = Compaction.objects.filter(kind__in=kinds) if kinds else Compaction.objects.all()
    return _load_kept(entries.order_by("-pk")[:limit])


def read_kept(undo_id: str) -> KeptCompaction | None:
    """The change, unless its time is over."""
    return next(iter(_load_kept(Compaction.objects.filter(uuid=undo_id, expires_at__gt=timezone.now()))), None)


def count_replacements(undo_id: str) -> int:
    """How many memories stand for those that were kept aside by that change."""
    entries = MemoryArchive.objects.filter(compaction__uuid=undo_id).exclude(replaced_by="")
    return entries.values("replaced_by").distinct().count()


def list_versions(owner: str, memory_uuid: str, limit: int) -> list[KeptVersion]:
    """What is still kept of what the owner's memory said before, the newest first."""
    entries = MemoryArchive.objects.filter(
        api_key_id=owner, uuid=memory_uuid, replaced_by=memory_uuid, was_created=False, compaction__undone_at=None
    )
    names = ("archive_id", "compaction__kind", "type", "key", "content", "replacement_updated_at")
    return [KeptVersion(*values) for values in entries.order_by("-archive_id").values_list(*names)[:limit]]


def forget_expired() -> int:
    """Delete what can't be undone any more; return how many memories that were."""
    expired = Compaction.objects.filter(expires_at__lte=timezone.now())
    count = MemoryArchive.objects.filter(compaction__in=expired).count()
    expired.delete()
    return count


def _split(values: Sequence[_Value]) -> Iterator[Sequence[_Value]]:
    """SQLite bounds the number of parameters."""
    return (values[start : start + _IDS_AT_ONCE] for start in range(0, len(values), _IDS_AT_ONCE))


def _read_times(uuids: Sequence[str]) -> dict[str, datetime]:
    return dict(Memory.objects.filter(uuid__in=uuids).values_list("uuid", "updated_at"))


def _note_created(compaction: Compaction, uuids: Sequence[str]) -> None:
    """One statement: in a large import, entries that Python made would take longer than the memories themselves."""
    with connection.cursor() as cursor:
        cursor.execute(_NOTE_CREATED.format(marks=", ".join(["%s"] * len(uuids))), [compaction.pk, *uuids])


def _archive_record(compaction: Compaction, record: MemoryRecord, written_at: Mapping[str, datetime]) -> MemoryArchive:
    return MemoryArchive(
        compaction=compaction,
        replaced_by=record.id,
        replacement_updated_at=written_at.get(record.id, record.updated_at),
        memory_id=record.memory_id,
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


def _write_contents(contents: Mapping[int, str]) -> None:
    for ids in batched_ids(contents):
        rows = list(Memory.objects.filter(memory_id__in=ids))
        for row in rows:
            row.content = contents[row.memory_id]
        expect_indexing(*rows)
        for row in rows:
            row.save(update_fields=_TEXT_FIELDS)
        note_touched(SQLiteBackend.id, map(touch, rows))


def _load_kept(compactions: QuerySet[Compaction]) -> list[KeptCompaction]:
    counted = compactions.annotate(memories=Count("originals"), owners=Count("originals__api_key_id", distinct=True))
    names = ("uuid", "created_at", "expires_at", "undone_at", "memories", "owners", "kind", "label")
    return [KeptCompaction(*values) for values in counted.values_list(*names)]
