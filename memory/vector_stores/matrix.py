"""An owner's vectors as one matrix in this process, so that a query meets all of them in one multiplication.

A vec0 scan decodes every row anew for each query; the matrix is read once and then kept current by what
`memory_changes` names, whoever wrote it. Least recently used owners make room when the cache is full.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from memory.models import MemoryChange, VectorIndex
from memory.vector_stores.base import Vector
from memory.vector_stores.sqlite_vec import SqliteVecStore


@dataclass
class OwnerMatrix:
    """Rows of length 1 by ascending memory_id; a row of zeros is a memory whose vector is gone or yet to come.

    `rows` may be longer than `ids`: the slack lets new memories be appended without copying the whole.
    """

    ids: NDArray[np.int64]
    rows: Vector
    seq: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def size_bytes(self) -> int:
        return self.rows.nbytes + self.ids.nbytes


class MatrixCache:
    """Matrices by vector table and owner (None = all owners). Safe between threads; each process has its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._matrices: OrderedDict[tuple[int, str | None], OwnerMatrix] = OrderedDict()

    def get(self, index: VectorIndex, store: SqliteVecStore, owner: str | None) -> tuple[NDArray[np.int64], Vector]:
        """Return the owner's memory_ids, ascending, and their rows as of now. Treat both as read-only."""
        key = (index.pk, owner)
        with self._lock:
            empty = np.zeros((0, store.dimensions), np.float32)
            matrix = self._matrices.setdefault(key, OwnerMatrix(np.zeros(0, np.int64), empty))
            self._matrices.move_to_end(key)
        with matrix.lock:
            _bring_up_to_date(matrix, store, owner)
            snapshot = matrix.ids, matrix.rows[: len(matrix.ids)]
        self._make_room(key)
        return snapshot

    def clear(self) -> None:
        with self._lock:
            self._matrices.clear()

    def _make_room(self, newest: tuple[int, str | None]) -> None:
        limit_bytes = settings.MEMORY_INDEX_CACHE_MB * 1024 * 1024
        with self._lock:
            total = sum(matrix.size_bytes for matrix in self._matrices.values())
            for key in list(self._matrices):
                # The one in use stays, however large: without it every query would read it anew.
                if total <= limit_bytes or key == newest:
                    return
                total -= self._matrices.pop(key).size_bytes


MATRICES = MatrixCache()


def _bring_up_to_date(matrix: OwnerMatrix, store: SqliteVecStore, owner: str | None) -> None:
    changes = MemoryChange.objects.filter(seq__gt=matrix.seq)
    if owner is not None:
        changes = changes.filter(api_key_id=owner)
    # The seq is read before the vectors: what is written in between is read again next time, never missed.
    changed = list(changes.order_by("seq").values_list("seq", "memory_id"))
    if not changed:
        return
    is_new = matrix.seq == 0
    ids, rows = store.read(owner, None if is_new else [memory_id for _, memory_id in changed])
    if is_new:
        matrix.ids, matrix.rows = ids, np.ascontiguousarray(rows)
    else:
        gone = np.setdiff1d(np.array([memory_id for _, memory_id in changed]), ids)
        matrix.rows = _overwrite(matrix, gone, np.zeros((len(gone), store.dimensions), np.float32))
        _merge(matrix, ids, rows)
    matrix.seq = changed[-1][0]


def _overwrite(matrix: OwnerMatrix, ids: NDArray[np.int64], rows: Vector) -> Vector:
    """Set the rows of those ids that are there. Readers may hold the old array, so a changed one is a copy."""
    if not len(matrix.ids):
        return matrix.rows
    places = np.searchsorted(matrix.ids, ids)
    known = (places < len(matrix.ids)) & (matrix.ids[np.minimum(places, len(matrix.ids) - 1)] == ids)
    if not known.any():
        return matrix.rows
    copy = matrix.rows.copy()
    copy[places[known]] = rows[known]
    return copy


def _merge(matrix: OwnerMatrix, ids: NDArray[np.int64], rows: Vector) -> None:
    if not len(ids):
        return
    known = np.isin(ids, matrix.ids)
    matrix.rows = _overwrite(matrix, ids[known], rows[known])
    ids, rows = ids[~known], rows[~known]
    if not len(ids):
        return
    if not len(matrix.ids) or ids[0] > matrix.ids[-1]:
        _append(matrix, ids, rows)
        return
    places = np.searchsorted(matrix.ids, ids)
    matrix.rows = np.insert(matrix.rows[: len(matrix.ids)], places, rows, axis=0)
    matrix.ids = np.insert(matrix.ids, places, ids)


def _append(matrix: OwnerMatrix, ids: NDArray[np.int64], rows: Vector) -> None:
    """New memories have the highest ids: they go behind the last row, into the slack where there is some."""
    count, added = len(matrix.ids), len(ids)
    if count + added > len(matrix.rows):
        grown = np.zeros((count + added + (count + added) // 4 + 16, matrix.rows.shape[1]), np.float32)
        grown[:count] = matrix.rows[: len(matrix.ids)]
        matrix.rows = grown
    # No reader looks behind its own ids, so filling the slack disturbs nobody.
    matrix.rows[count : count + added] = rows
    matrix.ids = np.concatenate([matrix.ids, ids])
