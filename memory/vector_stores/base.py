"""What stores vectors. Every store passes one contract suite and is used through this interface alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory.models import MemoryQuerySet
from memory.records import MemoryRecord

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class VectorPoint:
    """A memory and the unit vector of its text."""

    record: MemoryRecord
    vector: Vector


@dataclass(frozen=True, slots=True)
class VectorHit:
    """A near memory; `distance` is the L2 distance between unit vectors, 0 (same) to 2 (opposite)."""

    memory_id: int
    distance: float

    @property
    def similarity(self) -> float:
        """The contract's vecScore, 1/(1+distance)."""
        return 1.0 / (1.0 + self.distance)

    @property
    def cosine(self) -> float:
        return 1.0 - self.distance**2 / 2.0


class VectorStoreError(Exception):
    """The store can't answer now; `reason` is told to operators and holds no secret."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class VectorStore(Protocol):
    """Keyed by `memory_id`. A store may hold points of memories that are gone: SQL has the last word on every id."""

    name: str

    def upsert(self, points: Sequence[VectorPoint]) -> None: ...

    def delete(self, memory_ids: Iterable[int]) -> None: ...

    def search(self, owner: str | None, vector: Vector, k: int, within: MemoryQuerySet) -> list[VectorHit]:
        """Return up to `k` nearest points of the owner (all owners for None) that belong to `within`, nearest first."""

    def count(self) -> int: ...
