"""What the vector leg of the adaptive search is given: how near each memory is to the query. No store is known here."""

import weakref
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

_MEAN_SAMPLE: Final = 4096


@dataclass(frozen=True, slots=True)
class VectorEvidence:
    """`memory_ids` ascending; `cosines` with the query's vector, exactly 0 where a memory has no vector yet.

    `is_complete`: every memory of the owner that has a vector is here; else only the nearest are. `typical` is each
    memory's mean cosine with the owner's others: some texts are near to everything, which says nothing about a query.
    """

    memory_ids: NDArray[np.int64]
    cosines: Vector
    is_complete: bool = True
    typical: Vector | None = None


class VectorScores(Protocol):
    def score(self, owner: str | None, query_vector: Vector) -> VectorEvidence:
        """Compare the owner's memories (all owners' for None) with a query's vector of length 1.

        Handing out the same `memory_ids` object while it holds the same ids saves the caller from matching them anew.
        """


class TypicalCosines:
    """Each row's mean cosine with all rows, remembered while the matrix stays the same. Safe between threads."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], int, Vector]] = {}

    def measure(self, rows: Vector) -> Vector:
        """`rows` has one unit vector a row; as a view of a larger array it is known again by that array."""
        owner = rows if rows.base is None else rows.base
        known = self._known.get(id(owner))
        if known is not None and known[0]() is owner and known[1] == len(rows):
            return known[2]
        step = max(1, len(rows) // _MEAN_SAMPLE)
        typical = multiply(rows, rows[::step].mean(axis=0)) if len(rows) else np.zeros(0, np.float32)
        self._known = {key: entry for key, entry in self._known.copy().items() if entry[0]() is not None}
        self._known[id(owner)] = (weakref.ref(owner), len(rows), typical)
        return typical


_TYPICAL: Final = TypicalCosines()


def compare_rows(memory_ids: NDArray[np.int64], rows: Vector, query_vector: Vector) -> VectorEvidence:
    """The evidence of a matrix: `rows[i]` is the unit vector of `memory_ids[i]` (ascending), zeros if it has none."""
    return VectorEvidence(memory_ids, multiply(rows, query_vector), True, _TYPICAL.measure(rows))


def multiply(rows: Vector, vector: Vector) -> Vector:
    """Return each row's product with `vector`, by one thread: `@` calls all cores for it, and where those are busy
    waits for the last of them a hundred times as long as the product takes."""
    products: Vector = np.vecdot(rows, vector)
    return products
