"""The vector leg of the adaptive search where vectors live in this database: an owner's matrix times the query."""

from dataclasses import dataclass

from memory.models import VectorIndex
from memory.records import SearchQuery
from memory.rows import select_usable
from memory.search.nearest_scores import NearestScores
from memory.search.stems import measure_latin_share
from memory.search.vector_evidence import Vector, VectorEvidence, VectorScores, compare_rows
from memory.vector_stores.matrix import MATRICES
from memory.vector_stores.resolver import VectorLeg
from memory.vector_stores.sqlite_vec import SqliteVecStore


@dataclass(frozen=True, slots=True)
class MatrixScores:
    """Implements `VectorScores` on one vector index."""

    index: VectorIndex
    store: SqliteVecStore

    def score(self, owner: str | None, query_vector: Vector) -> VectorEvidence:
        memory_ids, rows = MATRICES.get(self.index, self.store, owner)
        return compare_rows(memory_ids, rows, query_vector)


def open_scores(leg: VectorLeg, query: SearchQuery) -> VectorScores:
    """The leg's way to tell how near each memory is to the query."""
    if leg.index is not None and isinstance(leg.store, SqliteVecStore):
        return MatrixScores(leg.index, leg.store)
    return NearestScores(leg.store, select_usable(query))


def measure_readable_share(leg: VectorLeg, text: str) -> float:
    """How much of `text` (0 to 1) the leg's embedder can read: the local models we know are English only.

    A remote model and a local one that calls itself multilingual are trusted with every script.
    """
    model = leg.embedding_model.lower()
    if leg.embedding_source == "remote" or "multilingual" in model or "m3" in model.split("-"):
        return 1.0
    return measure_latin_share(text)
