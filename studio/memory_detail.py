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
from memory.usage import Provenance, read_provenance
from studio.memory_list import PAGE_ROWS, ListQuery
from studio.memory_rows import MemoryRow, build_rows
from studio.memory_selection import load_memory

VERSIONS: Final = 10
# What the section on its origin shows by name; the rest stands in the metadata.
STATEMENT: Final = "statement"


@dataclass(frozen=True, slots=True)
class MemoryDetail:
    """`index`, `near` and `versions` are of this database: empty where another backend stores the memory."""

    row: MemoryRow
    tokens: int
    statement: str
    category: str
    polarity: str
    retained_until: datetime
    provenance: Provenance
    index: IndexState | None
    near: Sequence[NearDuplicate]
    versions: Sequence[KeptVersion]
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
    return MemoryDetail(
        row=build_rows([record])[0],
        tokens=estimate_tokens(record.content),
        statement=_read(record, STATEMENT),
        category=_read(record, "category"),
        polarity=_read(record, "polarity"),
        retained_until=record.updated_at + timedelta(days=load_settings().retention_days),
        provenance=read_provenance(record.id),
        index=read_index_state(record) if is_ours else None,
        near=find_near_duplicates(record) if is_ours else [],
        versions=list_versions(record.owner, record.id, VERSIONS),
        previous_id=previous_id,
        next_id=next_id,
    )


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
