"""What stores memories. Every backend, the built-in one too, is used through this interface alone."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from memory.records import (
    MemoryDraft,
    MemoryFilter,
    MemoryPage,
    MemoryRecord,
    MemoryType,
    SearchOutcome,
    SearchQuery,
)


@dataclass(frozen=True, slots=True)
class MemoryChanges:
    """Fields to set; None leaves a field alone. `metadata` replaces the old object, it is not merged."""

    type: MemoryType | None = None
    key: str | None = None
    content: str | None = None
    metadata: dict[str, Any] | None = None

    @property
    def is_empty(self) -> bool:
        return all(value is None for value in (self.type, self.key, self.content, self.metadata))


@dataclass(frozen=True, slots=True)
class BackendHealth:
    """`latency_ms` is how long the check took; `error` says what is wrong, in words for an operator."""

    is_ok: bool
    latency_ms: int
    error: str | None = field(default=None)


class MemoryBackend(Protocol):
    """Ids are the UUID strings of `MemoryRecord.id`. `owner=None` is every owner, for management calls only."""

    id: str
    display_name: str

    def create(self, draft: MemoryDraft) -> MemoryRecord:
        """Store the draft; a draft whose non-empty key its owner already has updates that memory instead.

        The id and `created_at` stay, metadata is merged (new wins), everything else is overwritten.
        """

    def get(self, id: str) -> MemoryRecord | None: ...

    def find_by_key(self, owner: str, key: str) -> MemoryRecord | None: ...

    def update(self, id: str, changes: MemoryChanges) -> MemoryRecord | None:
        """Return the changed memory, None when there is none; `ConflictError` when the key is taken."""

    def delete(self, id: str) -> bool: ...

    def delete_matching(self, filter: MemoryFilter, *, older_than: datetime | None = None) -> int:
        """Delete all that match and return how many there were."""

    def list(self, filter: MemoryFilter, *, limit: int, offset: int) -> MemoryPage: ...

    def count_tokens(self, owner: str | None) -> int:
        """Estimated tokens of all contents."""

    def search(self, query: SearchQuery) -> SearchOutcome: ...

    def health(self) -> BackendHealth: ...
