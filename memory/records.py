"""Value objects of memory: what crosses from room to room. Frozen; rows never leave `memory.backends`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from memory.config import MemorySettings

MemoryType = Literal["factual", "episodic", "procedural", "semantic"]
MEMORY_TYPES: tuple[MemoryType, ...] = ("factual", "episodic", "procedural", "semantic")
Strategy = Literal["exact", "semantic", "hybrid", "adaptive"]
Polarity = Literal["positive", "negative"]
POLARITIES: tuple[Polarity, ...] = ("positive", "negative")
# `active`: has no expiry or one to come; `soon`: expires within the next seven days.
ExpiryState = Literal["never", "active", "soon", "expired"]
EXPIRY_STATES: tuple[ExpiryState, ...] = ("never", "active", "soon", "expired")
# A minus sign means the latest, or last in the alphabet, first. Ties are broken by `memory_id` the same way.
# `used` goes by how many chats have carried a memory, and among equals by when the last one did.
MemoryOrder = Literal["-created", "created", "-updated", "updated", "-key", "key", "-used", "used"]
MEMORY_ORDERS: tuple[MemoryOrder, ...] = (
    "-created",
    "created",
    "-updated",
    "updated",
    "-key",
    "key",
    "-used",
    "used",
)
DEFAULT_ORDER: MemoryOrder = "-created"
# `backend`: ranked by, or for, a backend that is not this database.
Tier = Literal["fts5", "vector", "hybrid-rrf", "qdrant", "adaptive", "backend"]


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """A memory that is not stored yet. `owner` is an API key's id; "" is the ownerless pool of management calls."""

    owner: str
    key: str
    content: str
    type: MemoryType = "factual"
    session_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """A stored memory. `id` is the UUID everyone uses; `memory_id` the integer its index entries are keyed by."""

    memory_id: int
    id: str
    owner: str
    session_id: str
    type: MemoryType
    key: str
    content: str
    metadata: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which memories a list shows. `owner=None` means every owner and is for management calls only.

    `source` is `metadata.source`, "" for memories that have none: those a client stored. `is_used` is whether a chat
    has ever carried it, `is_indexed` whether its vector is up to date.
    """

    owner: str | None
    type: MemoryType | None = None
    session_id: str | None = None
    category: str | None = None
    text: str = ""
    source: str | None = None
    polarity: Polarity | None = None
    expiry: ExpiryState | None = None
    is_indexed: bool | None = None
    is_used: bool | None = None


@dataclass(frozen=True, slots=True)
class EraseScope:
    """What is erased everywhere: all that an owner has, or one session of it."""

    owner: str
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """One page of a list; `total` and `by_type` count every match, not only the page.

    A scan from `next_cursor` on shows what comes after the page; None when nothing does, or the backend has no cursors.
    """

    records: list[MemoryRecord]
    total: int
    by_type: dict[str, int]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class MemorySlice:
    """Memories in order from a cursor on; `next_cursor` is None when nothing comes after them."""

    records: list[MemoryRecord]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """What a search looks for. `owner=None` searches all owners (management only); `limit` bounds the ranking.

    `session_id` and `type` narrow what may be found, on every tier and before the limit.
    `settings` are the saved ones where the caller has read them already; without, the search reads them.
    `max_tokens` is what the caller will keep of it, for backends that choose by that; `timeout_seconds` is all the
    time that backends over a network may take, None leaves it to their configuration.
    """

    owner: str | None
    text: str
    strategy: Strategy
    retention_days: int
    session_id: str | None = None
    limit: int = 100
    settings: MemorySettings | None = None
    type: MemoryType | None = None
    max_tokens: int | None = None
    timeout_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A ranked memory. `keyword_score` is FTS5's raw rank (negative, lower is better); None = not in that leg.

    `vector_rank` and `keyword_rank` are its places in the legs' own orders, from 1.
    """

    record: MemoryRecord
    score: float
    tier: Tier
    vector_score: float | None = None
    keyword_score: float | None = None
    vector_rank: int | None = None
    keyword_rank: int | None = None


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """Hits in rank order, and which way they were found: `fallback_reason` is None when nothing degraded.

    `rerank_reason` says why a reranker that is switched on did not reorder them.
    """

    hits: list[SearchHit]
    strategy: Strategy
    embedding_source: str | None = None
    embedding_model: str | None = None
    vector_store: str = "none"
    rerank_applied: bool = False
    fallback_reason: str | None = None
    rerank_reason: str | None = None


@dataclass(frozen=True, slots=True)
class ChosenMemory:
    """A hit that the token budget kept; `line` is the text that goes into the prompt."""

    hit: SearchHit
    tokens: int
    line: str


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What goes into a prompt: the chosen memories in rank order, and how they were found."""

    chosen: list[ChosenMemory]
    outcome: SearchOutcome
    budget_tokens: int

    @property
    def total_tokens(self) -> int:
        return sum(item.tokens for item in self.chosen)
