"""Copy memories from one backend to another: what is there already under the same id and content is left as it is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from django.db import transaction

from memory import queue
from memory.backends.base import BackendError, MemoryBackend
from memory.records import MemoryFilter, MemoryRecord

SLICE = 200


@dataclass(frozen=True, slots=True)
class CopyReport:
    """`refused` are memories that the target did not take, with the reason of the first few."""

    copied: int
    unchanged: int
    refused: int
    reasons: tuple[str, ...] = ()


def copy_memories(
    source: MemoryBackend,
    target: MemoryBackend,
    *,
    owner: str | None = None,
    is_dry_run: bool = False,
    note_progress: Callable[[int], None] = lambda done: None,
) -> CopyReport:
    """Copy every memory of the owner, or of all of them. Safe to break off and run again.

    Raises `BackendError` when either side can't be reached; what was copied by then stays copied.
    """
    copied = unchanged = refused = 0
    reasons: list[str] = []
    for record in _walk(source, MemoryFilter(owner)):
        if _is_there(target, record):
            unchanged += 1
        else:
            try:
                if not is_dry_run:
                    _put(target, record)
                copied += 1
            except BackendError as error:
                if not error.is_lasting:
                    raise
                refused += 1
                reasons.append(f"{record.id}: {error.message}")
        note_progress(copied + unchanged + refused)
    return CopyReport(copied, unchanged, refused, tuple(reasons[:10]))


def _walk(source: MemoryBackend, filter: MemoryFilter) -> Iterator[MemoryRecord]:
    after: str | None = None
    while True:
        part = source.scan(filter, limit=SLICE, after=after, order="created")
        yield from part.records
        after = part.next_cursor
        if after is None:
            return


def _is_there(target: MemoryBackend, record: MemoryRecord) -> bool:
    """Told by what it says; a backend may give it another id and other dates."""
    held = target.get(record.id)
    if held is None and record.key:
        held = target.find_by_key(record.owner, record.key)
    return held is not None and _strip(held) == _strip(record)


def _strip(record: MemoryRecord) -> MemoryRecord:
    at = record.created_at
    return replace(record, memory_id=0, id="", created_at=at.min, updated_at=at.min, metadata=dict(record.metadata))


def _put(target: MemoryBackend, record: MemoryRecord) -> None:
    if not target.is_local:
        target.put(record)
        return
    with transaction.atomic():
        target.put(record)
        queue.enqueue_indexing()
