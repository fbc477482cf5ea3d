"""Vectors in this database, in a vec0 table of sqlite-vec. The only module that speaks vec0's SQL.

The owner is a partition key: the nearest neighbours are looked for among the owner's rows alone, so a small owner
beside a big one gets all of its own. Chunks are small because each owner fills chunks of its own.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np
from django.db import connection, transaction
from numpy.typing import NDArray

from memory.models import Memory, MemoryQuerySet, VectorIndex
from memory.vector_stores.base import Vector, VectorHit, VectorPoint

CHUNK_ROWS: Final = 64
MAX_K: Final = 4096  # vec0 refuses more
MAX_PARAMETERS: Final = 500
# Looking one row up takes about as long as scanning this many.
LOOK_UP_COST: Final = 5
# int8 keeps components up to this many standard deviations of a random unit vector's (1/sqrt(dimensions)); clipping
# the rare larger ones costs less recall than the steps that "unit" (up to 1.0) would leave for all the others.
INT8_RANGE: Final = 4.0


class SqliteVecStore:
    """One vec0 table, as described by a `VectorIndex` row whose dimensions are known."""

    name = "sqlite-vec"

    def __init__(self, index: VectorIndex) -> None:
        if index.dimensions is None:
            raise ValueError("an index gets its table when its dimensions are known")
        self.table = index.table_name
        self.dimensions = index.dimensions
        self.is_int8 = index.quantization == "int8"
        self._int8_scale = 127.0 * np.sqrt(self.dimensions) / INT8_RANGE

    def create_table(self) -> None:
        kind = "int8" if self.is_int8 else "float"
        with connection.cursor() as cursor:
            cursor.execute(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS {self.table} USING vec0("
                f"memory_id INTEGER PRIMARY KEY, owner TEXT PARTITION KEY, "
                f"embedding {kind}[{self.dimensions}], chunk_size={CHUNK_ROWS})"
            )

    def drop_table(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {self.table}")

    def upsert(self, points: Sequence[VectorPoint]) -> None:
        """vec0 knows no INSERT OR REPLACE: the old row goes first, in the same transaction."""
        with transaction.atomic():
            self.delete(point.record.memory_id for point in points)
            with connection.cursor() as cursor:
                cursor.executemany(
                    f"INSERT INTO {self.table}(memory_id, owner, embedding) VALUES (%s, %s, {self._value()})",
                    [(point.record.memory_id, point.record.owner, self._encode(point.vector)) for point in points],
                )

    def delete(self, memory_ids: Iterable[int]) -> None:
        with connection.cursor() as cursor:
            for ids in batched_ids(memory_ids):
                cursor.execute(f"DELETE FROM {self.table} WHERE memory_id IN ({_marks(ids)})", ids)

    def search(self, owner: str | None, vector: Vector, k: int, within: MemoryQuerySet) -> list[VectorHit]:
        """Ask for `k`, then for more while rows outside `within` take up places, then with the filter inside."""
        wanted, asked = min(k, MAX_K), min(k, MAX_K)
        while True:
            hits = self._find_nearest(owner, vector, asked, None)
            usable = _keep_usable(hits, within)
            if len(usable) >= wanted or len(hits) < asked:
                return usable[:wanted]
            if asked == MAX_K:
                return self._find_nearest(owner, vector, wanted, within)
            asked = min(asked * 4, MAX_K)

    def count(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {self.table}_rowids")
            return int(cursor.fetchone()[0])

    def list_strays(self, owner: str) -> list[int]:
        """Return the memory_ids of the owner's vectors whose memories are gone."""
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT rowid FROM {self.table}_rowids JOIN {self.table}_chunks USING (chunk_id) "
                "WHERE partition00 = %s AND rowid NOT IN (SELECT memory_id FROM memories)",
                [owner],
            )
            return [row[0] for row in cursor.fetchall()]

    def count_chunks(self) -> int:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {self.table}_chunks")
            return int(cursor.fetchone()[0])

    def list_sparse_chunks(self) -> list[list[int]]:
        """Return the memory_ids of each chunk less than half full, but for each owner's newest, which still fills."""
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT chunk_id, partition00, count(*) FROM {self.table}_rowids "
                f"JOIN {self.table}_chunks USING (chunk_id) GROUP BY chunk_id ORDER BY chunk_id"
            )
            chunks = cursor.fetchall()
            newest = {owner: chunk_id for chunk_id, owner, _ in chunks}
            sparse = [
                chunk_id for chunk_id, owner, count in chunks if count < CHUNK_ROWS / 2 and newest[owner] != chunk_id
            ]
            held: list[list[int]] = []
            for chunk_id in sparse:
                cursor.execute(f"SELECT rowid FROM {self.table}_rowids WHERE chunk_id = %s", [chunk_id])
                held.append([row[0] for row in cursor.fetchall()])
        return held

    def repack(self, memory_ids: Sequence[int]) -> None:
        """Write these vectors anew, one after the other, which frees the chunks they were scattered over."""
        with transaction.atomic(), connection.cursor() as cursor:
            rows: list[Any] = []
            for ids in batched_ids(memory_ids):
                cursor.execute(
                    f"SELECT memory_id, owner, embedding FROM {self.table} WHERE memory_id IN ({_marks(ids)})", ids
                )
                rows += cursor.fetchall()
            self.delete(row[0] for row in rows)
            cursor.executemany(
                f"INSERT INTO {self.table}(memory_id, owner, embedding) VALUES (%s, %s, {self._value()})", rows
            )

    def read(self, owner: str | None, memory_ids: Iterable[int] | None = None) -> tuple[NDArray[np.int64], Vector]:
        """Return ids, ascending, and their vectors (rows, unit length): all of the owner's, or those of the ids."""
        if memory_ids is None and owner is not None:
            memory_ids = self._list_ids_of_small(owner)
        statement, rows = f"SELECT memory_id, embedding FROM {self.table}", list[Any]()
        with connection.cursor() as cursor:
            if memory_ids is not None:
                for memory_id in memory_ids:
                    cursor.execute(f"{statement} WHERE memory_id = %s", [memory_id])
                    rows += cursor.fetchall()
            else:
                condition, values = (" WHERE owner = %s", [owner]) if owner is not None else ("", [])
                cursor.execute(statement + condition, values)
                rows = cursor.fetchall()
        rows.sort()
        ids_found = np.fromiter((row[0] for row in rows), np.int64, len(rows))
        return ids_found, self._decode(b"".join(row[1] for row in rows))

    def _list_ids_of_small(self, owner: str) -> list[int] | None:
        """The owner's memory_ids where looking each up is quicker than what vec0 does for an owner: scan the table."""
        ids = list(Memory.objects.owned_by(owner).values_list("memory_id", flat=True))
        return ids if len(ids) * LOOK_UP_COST < self.count() else None

    def _find_nearest(
        self, owner: str | None, vector: Vector, k: int, within: MemoryQuerySet | None
    ) -> list[VectorHit]:
        statement = f"SELECT memory_id, distance FROM {self.table} WHERE embedding MATCH {self._value()} AND k = %s"
        parameters: list[Any] = [self._encode(vector), k]
        if owner is not None:
            statement, parameters = f"{statement} AND owner = %s", [*parameters, owner]
        if within is not None:
            subquery, values = within.order_by().values("memory_id").query.sql_with_params()
            statement, parameters = f"{statement} AND memory_id IN ({subquery})", [*parameters, *values]
        with connection.cursor() as cursor:
            cursor.execute(f"{statement} ORDER BY distance", parameters)
            scale = self._int8_scale if self.is_int8 else 1.0
            return [VectorHit(memory_id, distance / scale) for memory_id, distance in cursor.fetchall()]

    def _value(self) -> str:
        return "vec_int8(%s)" if self.is_int8 else "%s"

    def _encode(self, vector: Vector) -> bytes:
        if self.is_int8:
            vector = np.clip(np.rint(vector * self._int8_scale), -127, 127)
        return bytes(vector.astype(np.int8 if self.is_int8 else np.float32).tobytes())

    def _decode(self, blob: bytes) -> Vector:
        if not self.is_int8:
            return np.frombuffer(blob, np.float32).reshape(-1, self.dimensions)
        matrix: Vector = np.frombuffer(blob, np.int8).reshape(-1, self.dimensions).astype(np.float32)
        matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
        return matrix


def batched_ids(memory_ids: Iterable[int]) -> Iterable[list[int]]:
    """Lists of ids that fit into one statement."""
    iterator = iter(memory_ids)
    while batch := list(islice(iterator, MAX_PARAMETERS)):
        yield batch


def _keep_usable(hits: list[VectorHit], within: MemoryQuerySet) -> list[VectorHit]:
    usable: set[int] = set()
    for ids in batched_ids(hit.memory_id for hit in hits):
        usable.update(within.filter(memory_id__in=ids).values_list("memory_id", flat=True))
    return [hit for hit in hits if hit.memory_id in usable]


def _marks(ids: list[int]) -> str:
    return ", ".join(["%s"] * len(ids))
