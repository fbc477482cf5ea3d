"""What goes over the wire, in our own words, and how that fails."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

# What programs are told where no host is set (contract 12); pages put it into words.
NOT_CONFIGURED: Final = "not_configured"

Fault = Literal["not_configured", "unreachable", "timeout", "auth", "missing", "refused", "mismatch", "failed"]

KIND: Final = "omniroute_memory"
# Payload fields that filters ask for, and how Qdrant indexes each.
INDEXED_FIELDS: Final = {
    "apiKeyId": "tenant",
    "sessionId": "keyword",
    "kind": "keyword",
    "installation": "keyword",
    "createdAtUnix": "integer",
    "updatedAtUnix": "integer",
    "expiresAtUnix": "integer",
}


class QdrantError(Exception):
    """Qdrant did not do what was asked; `reason` is for operators and holds no key and nothing that a server said."""

    def __init__(self, fault: Fault, reason: str) -> None:
        super().__init__(reason)
        self.fault = fault
        self.reason = reason


@dataclass(frozen=True, slots=True)
class PointData:
    """A point to store: `id` is a UUID, `vector` as many numbers as the collection is wide."""

    id: str
    vector: Sequence[float]
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ScoredPoint:
    id: str
    score: float
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CollectionFacts:
    """`vector_name` is "" for the unnamed vector. `dimensions` None: it holds no dense vectors."""

    points: int
    vector_name: str
    dimensions: int | None
    distance: str
    indexed: frozenset[str]
    status: str


@dataclass(frozen=True, slots=True)
class PointFilter:
    """Points of ours that meet all of it; None leaves a condition out. Moments are Unix seconds.

    A point without an expiry does not expire, one without a date of its last change passes `updated_since`, one that
    no installation has marked as its own passes `installation`.
    """

    tenant: str | None = None
    session_id: str | None = None
    not_expired_at: int | None = None
    updated_since: int | None = None
    ids: Sequence[str] | None = None
    installation: str | None = None


@dataclass(frozen=True, slots=True)
class StaleFilter:
    """Points past their expiry, or last changed (made, where that is not told) before `retained_since`.

    Those that another installation has marked as its own are left out.
    """

    installation: str
    now: int
    retained_since: int
