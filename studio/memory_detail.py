"""One memory, wholly: what it says, where it is from, where it went, how it stands in the indexes, what is like it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from memory.backends.archive import KeptVersion
from memory.config import load_settings
from memory.corrections import list_versions
from memory.inspection import IndexState, NearDuplicate, find_near_duplicates, list_page, read_index_state
from memory.records import MemoryRecord
from memory.search.ranking import estimate_tokens
from memory.usage import CarryingRequest, MemoryUse, Provenance, list_carrying_requests, read_provenance
from studio.memory_list import PAGE_ROWS, ListQuery
from studio.memory_rows import MemoryRow, build_rows
from studio.memory_selection import load_memory
from studio.text_changes import TextChange, compare_texts

VERSIONS: Final = 10
REQUESTS: Final = 3
# What the section on its origin shows by name; the rest stands in the metadata.
STATEMENT: Final = "statement"


@dataclass(frozen=True, slots=True)
class PastVersion:
    """What a memory said before, and what became of it at the next change; None where only type or key changed."""

    version: KeptVersion
    change: TextChange | None


@dataclass(frozen=True, slots=True)
class MemoryDetail:
    """`carried_by` are the last requests that carried it. `index`, `near` and `versions` are of this database: empty
    where another backend stores the memory."""

    row: MemoryRow
    tokens: int
    statement: str
    category: str
    polarity: str
    retained_until: datetime
    provenance: Provenance
    carried_by: Sequence[CarryingRequest]
    index: IndexState | None
    near: Sequence[NearDuplicate]
    versions: Sequence[PastVersion]
    previous_id: str
    next_id: str

    @property
    def record(self) -> MemoryRecord:
        return self.row.record


def build_detail(memory_id: str, listed: ListQuery) -> MemoryDetail:
    """Read everything; `NotFoundError` when the memory is gone. `listed` is the list it is shown beside."""
    record = load_memory(memory_id)
    is_ours = record.memory_id > 0
    previous_id, next_id = _find_neighbours(memory_id, listed)
    row = build_rows([record])[0]
    return MemoryDetail(
        row=row,
        tokens=estimate_tokens(record.content),
        statement=_read(record, STATEMENT),
        category=_read(record, "category"),
        polarity=_read(record, "polarity"),
        retained_until=record.updated_at + timedelta(days=load_settings().retention_days),
        provenance=read_provenance(record.id),
        carried_by=list_carrying_requests(record.id, REQUESTS) or _name_last(row.use),
        index=read_index_state(record) if is_ours else None,
        near=find_near_duplicates(record) if is_ours else [],
        versions=_compare(list_versions(record.owner, record.id, VERSIONS), record),
        previous_id=previous_id,
        next_id=next_id,
    )


def _compare(versions: Sequence[KeptVersion], record: MemoryRecord) -> list[PastVersion]:
    """Each version, newest first, beside the one that took its place."""
    later = [record.content, *(version.content for version in versions)]
    return [
        PastVersion(version, None if version.content == text else compare_texts(version.content, text))
        for version, text in zip(versions, later, strict=False)
    ]


def _name_last(use: MemoryUse | None) -> list[CarryingRequest]:
    """What the counter knows when the log does not reach back so far."""
    return [] if use is None else [CarryingRequest(use.last_request_id, use.last_injected_at)]


def _find_neighbours(memory_id: str, listed: ListQuery) -> tuple[str, str]:
    """The memories before and after it on this page of the list, "" where there is none."""
    page = list_page(listed.filter, limit=PAGE_ROWS, offset=listed.offset, order=listed.order)
    ids = [record.id for record in page.records]
    if memory_id not in ids:
        return "", ""
    place = ids.index(memory_id)
    return (ids[place - 1] if place else ""), (ids[place + 1] if place + 1 < len(ids) else "")


def _read(record: MemoryRecord, name: str) -> str:
    value = record.metadata.get(name)
    return value if isinstance(value, str) else ""
