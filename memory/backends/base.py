"""What stores memories. Every backend, the built-in one too, is used through this interface alone."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from core.errors import UpstreamError
from memory.records import (
    DEFAULT_ORDER,
    MemoryDraft,
    MemoryFilter,
    MemoryOrder,
    MemoryPage,
    MemoryRecord,
    MemorySlice,
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


class BackendError(UpstreamError):
    """A backend could not do what it was asked.

    `is_lasting` says that the request itself was refused: neither time nor a mended configuration would change that.
    """

    code = "backend_failed"

    def __init__(self, message: str, *, code: str | None = None, is_lasting: bool = False) -> None:
        super().__init__(message, code=code)
        self.is_lasting = is_lasting


class MemoryBackend(Protocol):
    """Ids are the UUID strings of `MemoryRecord.id`. `owner=None` is every owner, for management calls only.

    `is_local` says that its memories are rows of this database: only then may its calls stand in a transaction. All
    others go over a network, raise `BackendError`, and must never be called while a transaction is open.
    A backend may also have `initialize()`, called before its first use, and `shutdown()`, called when it is let go.
    """

    id: str
    display_name: str
    is_local: bool

    def create(self, draft: MemoryDraft) -> MemoryRecord:
        """Store the draft; a draft whose non-empty key its owner already has updates that memory instead.

        The id and `created_at` stay, metadata is merged (new wins), everything else is overwritten.
        """

    def get(self, id: str) -> MemoryRecord | None: ...

    def find_by_key(self, owner: str, key: str) -> MemoryRecord | None: ...

    def update(self, id: str, changes: MemoryChanges) -> MemoryRecord | None:
        """Return the changed memory, None when there is none; `ConflictError` when the key is taken."""

    def delete(self, id: str) -> bool: ...

    def put(self, record: MemoryRecord) -> None:
        """Store a copy of a memory of another backend: under its id, with its dates, in place of what has that id or
        its owner's key. A backend that gives out ids of its own may keep another id. Safe to run twice."""

    def delete_matching(self, filter: MemoryFilter, *, older_than: datetime | None = None) -> int:
        """Delete all that match and return how many there were."""

    def list(
        self, filter: MemoryFilter, *, limit: int, offset: int, order: MemoryOrder = DEFAULT_ORDER
    ) -> MemoryPage: ...

    def scan(
        self, filter: MemoryFilter, *, limit: int, after: str | None, order: MemoryOrder = DEFAULT_ORDER
    ) -> MemorySlice:
        """Up to `limit` memories after the cursor `after`, from the first without one; nothing is counted.

        `InvalidFieldsError` when the cursor is none of this order's.
        """

    def count(self, filter: MemoryFilter) -> dict[str, int]:
        """How many match, by type; a type that none has is left out."""

    def count_tokens(self, owner: str | None) -> int:
        """Estimated tokens of all contents."""

    def search(self, query: SearchQuery) -> SearchOutcome: ...

    def health(self) -> BackendHealth: ...
