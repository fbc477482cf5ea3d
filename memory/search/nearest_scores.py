"""The vector leg of the adaptive search where vectors live elsewhere: only the nearest are known."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from core.words import gettext as _
from memory.models import MemoryQuerySet
from memory.search.vector_evidence import Vector, VectorEvidence
from memory.vector_stores.base import VectorStore, VectorStoreError

DEPTH: Final = 200
NOTHING_FOUND: Final = _("Qdrant returned 0 results")


@dataclass(frozen=True, slots=True)
class NearestScores:
    """Implements `VectorScores` on a store that searches; `within` are the rows that the search may use."""

    store: VectorStore
    within: MemoryQuerySet

    def score(self, owner: str | None, query_vector: Vector) -> VectorEvidence:
        """Raises `VectorStoreError`, also when the store knows nothing of the owner: another one may."""
        hits = self.store.search(owner, query_vector, DEPTH, self.within)
        if not hits:
            raise VectorStoreError(NOTHING_FOUND)
        hits.sort(key=lambda hit: hit.memory_id)
        ids = np.array([hit.memory_id for hit in hits], np.int64)
        cosines = np.array([hit.cosine for hit in hits], np.float32)
        # Exactly 0 would say that there is no vector.
        cosines[cosines == 0] = np.finfo(np.float32).tiny
        return VectorEvidence(ids, cosines, is_complete=len(hits) < DEPTH)
