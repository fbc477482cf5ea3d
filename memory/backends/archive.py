"""Rows of this database that compaction replaces, kept aside as they were, and put back.

Whoever calls `keep_aside`, `shorten` or `restore` does so in a transaction with what belongs to it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from memory.backends.sqlite import delete_rows, expect_indexing
from memory.models import Compaction, Memory, MemoryArchive, MemoryQuerySet
from memory.records import MemoryRecord
from memory.rows import load_records
from memory.vector_stores.sqlite_vec import batched_ids

# Every column of a memory but the flags of its index entry, which is made anew for a restored row.
ARCHIVED_FIELDS: Final = (
    "memory_id", "uuid", "api_key_id", "session_id", "type", "key", "content", "metadata",
    "created_at", "updated_at", "expires_at", "search_terms",
)  # fmt: skip
_TEXT_FIELDS: Final = ("content", "search_terms", "needs_reindex", "index_attempts", "index_retry_at")

ObstacleKind = Literal["key_taken", "memory_exists", "replacement_changed", "replacement_deleted"]


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something newer that an undo would overwrite; `memory_id` is the id of the original or of its replacement."""

    kind: ObstacleKind
    memory_id: str
    told: str


@dataclass(frozen=True, slots=True)
class KeptCompaction:
    """A compaction that can be undone until `expires_at`, or was; the counts are of what is still kept aside."""

    undo_id: str
    created_at: datetime
    expires_at: datetime
    undone_at: datetime | None
    memories: int
    owners: int


@dataclass(frozen=True, slots=True)
class Restoration:
    """How many memories are back as they were, and the ids of the summaries that went."""

    restored: int
    removed_summaries: tuple[str, ...]


def list_groups(owner: str | None, session_id: str | None, before: datetime) -> list[tuple[str, str]]:
    """Owners and sessions that have memories from before that moment, in a fixed order."""
    rows = _select_old(owner, session_id, before).order_by("api_key_id", "session_id")
    return list(rows.values_list("api_key_id", "session_id").distinct())


def load_old(owner: str, session_id: str, before: datetime) -> list[MemoryRecord]:
    """The memories of one owner and session from before that moment, the oldest first, without those that expire."""
    return load_records(_select_old(owner, session_id, before).order_by("created_at", "memory_id"))


def load_unexpired(owner: str, session_id: str | None) -> list[MemoryRecord]:
    """The memories of one owner, of one session if it is given, that are not past their expiry, the newest first."""
    rows = Memory.objects.owned_by(owner).filter(Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now()))
    rows = rows if session_id is None else rows.filter(session_id=session_id)
    return load_records(rows.order_by("-created_at", "-memory_id"))


def open_compaction(undo_id: str, expires_at: datetime) -> None:
    """Make the entry that kept rows belong to, if it isn't there yet."""
    Compaction.objects.get_or_create(uuid=undo_id, defaults={"expires_at": expires_at})


def replace_with(undo_id: str, memory_ids: Sequence[int], summary: MemoryRecord) -> None:
    """Keep the rows aside and delete them; `summary` stands for them from now on."""
    for ids in batched_ids(memory_ids):
        rows = Memory.objects.filter(memory_id__in=ids)
        _keep_aside(undo_id, rows, summary)
        delete_rows(rows)


def shorten(undo_id: str, contents: Mapping[int, str]) -> None:
    """Keep the rows of these memory_ids aside and give them these contents. `updated_at` stays: nobody said it anew."""
    for ids in batched_ids(contents):
        _keep_aside(undo_id, Memory.objects.filter(memory_id__in=ids), None)
    _write_contents(contents)


def list_kept(limit: int) -> list[KeptCompaction]:
    """The newest compactions."""
    return _load_kept(Compaction.objects.order_by("-pk")[:limit])


def read_kept(undo_id: str) -> KeptCompaction | None:
    """The compaction, unless its time is over."""
    return next(iter(_load_kept(Compaction.objects.filter(uuid=undo_id, expires_at__gt=timezone.now()))), None)


def find_obstacles(undo_id: str) -> list[Obstacle]:
    """What an undo would overwrite."""
    obstacles = _find_changes(undo_id)
    for uuid, owner, key in _select_taken(undo_id).values_list("uuid", "api_key_id", "key"):
        obstacles.append(Obstacle("key_taken", uuid, f"the key {key!r} of owner {owner!r} was taken by a newer memory"))
    twins = Memory.objects.filter(uuid=OuterRef("uuid"))
    for uuid in _select_replaced(undo_id).filter(Exists(twins)).values_list("uuid", flat=True):
        obstacles.append(Obstacle("memory_exists", uuid, f"the memory {uuid} is there already"))
    return obstacles


def restore(undo_id: str, obstacles: Sequence[Obstacle]) -> Restoration:
    """Put everything back that no obstacle stands in the way of; what is newer stays, and the rest is forgotten."""
    blocked = {obstacle.memory_id for obstacle in obstacles}
    replaced = [original for original in _select_replaced(undo_id) if original.uuid not in blocked]
    shortened = [original for original in _select_shortened(undo_id) if original.uuid not in blocked]
    summaries = set(_select_replaced(undo_id).values_list("replaced_by", flat=True)) - blocked
    removed = tuple(uuid for uuid in sorted(summaries) if delete_rows(Memory.objects.filter(uuid=uuid)))
    Memory.objects.owned_by(None).bulk_create(
        [Memory(**{name: getattr(original, name) for name in ARCHIVED_FIELDS}) for original in replaced]
    )
    _write_contents({original.memory_id: original.content for original in shortened})
    _select_originals(undo_id).delete()
    Compaction.objects.filter(uuid=undo_id).update(undone_at=timezone.now())
    return Restoration(len(replaced) + len(shortened), removed)


def forget_expired() -> int:
    """Delete what can't be undone any more; return how many memories that were."""
    expired = Compaction.objects.filter(expires_at__lte=timezone.now())
    count = MemoryArchive.objects.filter(compaction__in=expired).count()
    expired.delete()
    return count


def _select_old(owner: str | None, session_id: str | None, before: datetime) -> MemoryQuerySet:
    """Memories with an expiry are left to it: what was meant to go must not live on in a summary."""
    rows = Memory.objects.owned_by(owner).filter(created_at__lt=before, expires_at__isnull=True)
    return rows if session_id is None else rows.filter(session_id=session_id)


def _keep_aside(undo_id: str, rows: MemoryQuerySet, summary: MemoryRecord | None) -> None:
    compaction = Compaction.objects.get(uuid=undo_id)
    MemoryArchive.objects.bulk_create(
        MemoryArchive(
            compaction=compaction,
            replaced_by=row["uuid"] if summary is None else summary.id,
            replacement_updated_at=row["updated_at"] if summary is None else summary.updated_at,
            **row,
        )
        for row in rows.values(*ARCHIVED_FIELDS)
    )


def _write_contents(contents: Mapping[int, str]) -> None:
    for ids in batched_ids(contents):
        rows = list(Memory.objects.filter(memory_id__in=ids))
        for row in rows:
            row.content = contents[row.memory_id]
        expect_indexing(*rows)
        for row in rows:
            row.save(update_fields=_TEXT_FIELDS)


def _load_kept(compactions: QuerySet[Compaction]) -> list[KeptCompaction]:
    counted = compactions.annotate(memories=Count("originals"), owners=Count("originals__api_key_id", distinct=True))
    names = ("uuid", "created_at", "expires_at", "undone_at", "memories", "owners")
    return [KeptCompaction(*values) for values in counted.values_list(*names)]


def _select_originals(undo_id: str) -> QuerySet[MemoryArchive]:
    return MemoryArchive.objects.filter(compaction__uuid=undo_id)


def _select_replaced(undo_id: str) -> QuerySet[MemoryArchive]:
    return _select_originals(undo_id).exclude(replaced_by=F("uuid"))


def _select_shortened(undo_id: str) -> QuerySet[MemoryArchive]:
    return _select_originals(undo_id).filter(replaced_by=F("uuid"))


def _find_changes(undo_id: str) -> list[Obstacle]:
    """Replacements that are not as the compaction left them."""
    originals = _select_originals(undo_id)
    rows = Memory.objects.owned_by(None).filter(uuid__in=originals.values("replaced_by"))
    current = dict(rows.values_list("uuid", "updated_at"))
    summaries = set(_select_replaced(undo_id).values_list("replaced_by", flat=True))
    changes = []
    for uuid, updated_at in sorted(set(originals.values_list("replaced_by", "replacement_updated_at"))):
        name = f"the summary {uuid}" if uuid in summaries else f"the memory {uuid}"
        if uuid not in current:
            changes.append(Obstacle("replacement_deleted", uuid, f"{name} was deleted since"))
        elif current[uuid] != updated_at:
            changes.append(Obstacle("replacement_changed", uuid, f"{name} was changed since"))
    return changes


def _select_taken(undo_id: str) -> QuerySet[MemoryArchive]:
    """Originals whose key their owner has used anew."""
    holders = Memory.objects.owned_by(None).filter(api_key_id=OuterRef("api_key_id"), key=OuterRef("key"))
    return _select_replaced(undo_id).exclude(key="").filter(Exists(holders.exclude(uuid=OuterRef("uuid"))))
