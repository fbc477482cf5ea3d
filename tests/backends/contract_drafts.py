"""What the backend contract stores, what a record of it says, and how a backend under test is read."""

from typing import Any

from memory.backends.base import MemoryBackend
from memory.records import MemoryDraft, MemoryFilter, MemoryRecord

OWNER, OTHER = "152868af-9ae2-44d5-b601-a4d4e731ea9f", "other owner/of: a *strange* name"


def draft(key: str = "tea", content: str = "I prefer green tea", owner: str = OWNER, **fields: Any) -> MemoryDraft:
    return MemoryDraft(owner, key, content, **fields)


def told(record: MemoryRecord | None) -> tuple[Any, ...]:
    """What a record says, without what a backend may choose itself."""
    assert record is not None
    return (
        record.owner, record.key, record.content, record.type, record.session_id, dict(record.metadata),
        record.expires_at,
    )  # fmt: skip


class BackendUnderTest:
    backend: MemoryBackend

    def get(self, id: str) -> MemoryRecord:
        record = self.backend.get(id)
        assert record is not None
        return record

    def list(self, filter: MemoryFilter | None = None) -> Any:
        return self.backend.list(filter or MemoryFilter(OWNER), limit=100, offset=0).records
