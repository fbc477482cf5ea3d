"""Vectors in Qdrant. Points are keyed by the memory's UUID; the owner, the session and the dates are filtered there.

What comes back is looked up in SQL, which has the last word: a point that nobody may use costs a place for a moment
and no more, since the store then asks for more.
"""

import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from django.utils import timezone

from memory.models import MemoryQuerySet
from memory.records import MemoryRecord
from memory.vector_stores.base import Vector, VectorHit, VectorPoint, VectorStoreError
from memory.vector_stores.sqlite_vec import batched_ids
from qdrant_admin.breaker import BREAKER
from qdrant_admin.config import QdrantSettings
from qdrant_admin.installation import read_installation
from qdrant_admin.models import Collection, Point
from qdrant_admin.points import KIND, READ_SECONDS, Fault, PointData, PointFilter, QdrantError, Server, open_server

# More points are not asked for, nor more ids named in one request.
MAX_ASKED: Final = 4096
MAX_NAMED_IDS: Final = 5000
MIN_SECONDS: Final = 0.05
# Qdrant refuses requests above 32 MB.
MAX_REQUEST_BYTES: Final = 8 * 1024 * 1024
NUMBER_BYTES: Final = 22
# Faults of the server as a whole; another request would meet the same.
BREAKING_FAULTS: Final[frozenset[Fault]] = frozenset({"unreachable", "timeout", "auth", "failed"})


@dataclass(frozen=True, slots=True)
class SearchScope:
    """What of a search can be filtered in Qdrant beside the owner."""

    session_id: str | None = None
    retained_since: int | None = None


class QdrantStore:
    """One collection that exists; every call may raise `VectorStoreError`."""

    name = "qdrant"

    def __init__(self, settings: QdrantSettings, collection: Collection, scope: SearchScope | None = None) -> None:
        self._settings = settings
        self._collection = collection
        self._scope = scope or SearchScope()

    def upsert(self, points: Sequence[VectorPoint]) -> None:
        if not points:
            return
        try:
            send_points(open_server(self._settings), self._collection, points)
        except QdrantError as error:
            raise VectorStoreError(error.reason) from error

    def delete(self, memory_ids: Iterable[int]) -> None:
        for ids in batched_ids(memory_ids):
            points = Point.objects.filter(collection=self._collection, source_id__in=ids)
            try:
                delete_points(open_server(self._settings), self._collection, list(points))
            except QdrantError as error:
                raise VectorStoreError(error.reason) from error

    def search(self, owner: str | None, vector: Vector, k: int, within: MemoryQuerySet) -> list[VectorHit]:
        """Ask for `k`; where points that may not be used took up places, ask again with the usable ids named, or, if
        those are too many to name, for more and more.

        All of it within the time of one search.
        """
        ends_at = time.monotonic() + READ_SECONDS
        wanted, asked = min(k, MAX_ASKED), min(k, MAX_ASKED)
        while True:
            found = self._find_nearest(owner, vector, asked, None, ends_at)
            hits = _keep_usable(found, within)
            if len(hits) >= wanted or len(found) < asked:
                return hits[:wanted]
            named = list(within.order_by("-memory_id").values_list("uuid", flat=True)[: MAX_NAMED_IDS + 1])
            if len(named) <= MAX_NAMED_IDS or asked == MAX_ASKED:
                named = named[:MAX_NAMED_IDS]
                return _keep_usable(self._find_nearest(owner, vector, wanted, named, ends_at), within)[:wanted]
            asked = min(asked * 4, MAX_ASKED)

    def count(self) -> int:
        try:
            return open_server(self._settings).count(self._collection.name, PointFilter(), READ_SECONDS)
        except QdrantError as error:
            raise VectorStoreError(error.reason) from error

    def _find_nearest(
        self, owner: str | None, vector: Vector, limit: int, named: list[str] | None, ends_at: float
    ) -> list[tuple[str, float]]:
        """Return ids and cosines. The breaker learns from it how the server is."""
        condition = PointFilter(
            tenant=owner,
            session_id=self._scope.session_id,
            not_expired_at=math.floor(timezone.now().timestamp()),
            updated_since=self._scope.retained_since,
            ids=named,
        )
        circuit = (self._settings.base_url, self._settings.api_key)
        try:
            points = open_server(self._settings).search(
                self._collection.name,
                self._collection.vector_name,
                vector.tolist(),
                condition=condition,
                limit=limit,
                rescores=self._collection.quantization != "none",
                seconds=max(ends_at - time.monotonic(), MIN_SECONDS),
            )
        except QdrantError as error:
            if error.fault in BREAKING_FAULTS:
                BREAKER.note_failure(circuit, error.reason)
            raise VectorStoreError(error.reason) from error
        BREAKER.note_success(circuit)
        return [(point.id, point.score) for point in points]


def send_points(server: Server, collection: Collection, points: Sequence[VectorPoint]) -> None:
    """Store the points in requests of a size that Qdrant takes; raises `QdrantError`."""
    expect_points(collection, [point.record for point in points])
    mark = read_installation()
    for some in _split_by_size(points):
        data = [PointData(point.record.id, point.vector.tolist(), build_payload(point.record, mark)) for point in some]
        server.upsert(collection.name, collection.vector_name, data)


def delete_points(server: Server, collection: Collection, points: Sequence[Point]) -> None:
    """Delete the points and then what is noted of them; raises `QdrantError`."""
    if not points:
        return
    server.delete(collection.name, [point.point_id for point in points])
    Point.objects.filter(pk__in=[point.pk for point in points]).delete()


def expect_points(collection: Collection, records: Sequence[MemoryRecord]) -> None:
    """Note which points are about to be written, before they are: what is there must be found to be deleted."""
    rows = [Point(collection=collection, source_id=record.memory_id, point_id=record.id) for record in records]
    Point.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["collection", "source_id"],
        update_fields=["point_id", "text_digest", "payload_digest", "has_vector"],
    )


def build_text(record: MemoryRecord) -> str:
    """What is embedded for a point (contract 12)."""
    return f"{record.key}\n\n{record.content}"


def build_payload(record: MemoryRecord, installation: str) -> dict[str, Any]:
    """The payload of the contract; `updatedAtUnix`, which retention counts from, and `installation` are ours."""
    return {
        "kind": KIND,
        "installation": installation,
        "memoryId": record.id,
        "apiKeyId": record.owner,
        "sessionId": record.session_id,
        "type": "semantic",
        "key": record.key,
        "content": record.content,
        "metadata": dict(record.metadata),
        "createdAtUnix": math.floor(record.created_at.timestamp()),
        "updatedAtUnix": math.floor(record.updated_at.timestamp()),
        # Up, so that a memory is never left out before its time.
        "expiresAtUnix": None if record.expires_at is None else math.ceil(record.expires_at.timestamp()),
    }


def digest_text(record: MemoryRecord) -> str:
    return sha256(build_text(record).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def digest_payload(payload: Mapping[str, Any]) -> str:
    return sha256(repr(sorted(payload.items())).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _split_by_size(points: Sequence[VectorPoint]) -> Iterator[list[VectorPoint]]:
    some: list[VectorPoint] = []
    size = 0
    for point in points:
        record = point.record
        written = len(json.dumps([record.key, record.content, record.metadata])) + NUMBER_BYTES * point.vector.size
        if some and size + written > MAX_REQUEST_BYTES:
            yield some
            some, size = [], 0
        some.append(point)
        size += written
    yield some


def _keep_usable(found: Sequence[tuple[str, float]], within: MemoryQuerySet) -> list[VectorHit]:
    memory_ids: dict[str, int] = {}
    uuids = [uuid for uuid, _ in found]
    for start in range(0, len(uuids), 500):
        some = within.filter(uuid__in=uuids[start : start + 500])
        memory_ids.update(some.values_list("uuid", "memory_id"))
    nearest: dict[int, VectorHit] = {}
    for uuid, cosine in found:
        if uuid in memory_ids:
            nearest.setdefault(memory_ids[uuid], VectorHit(memory_ids[uuid], _measure_distance(cosine)))
    return list(nearest.values())


def _measure_distance(cosine: float) -> float:
    """The L2 distance between unit vectors of that cosine."""
    return math.sqrt(max(2.0 - 2.0 * cosine, 0.0))
