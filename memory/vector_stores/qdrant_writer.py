"""Bring points of one collection to what the memories' rows say now; the only writer of memories into Qdrant."""

from collections.abc import Collection as Ids
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final

import structlog
from django.db import transaction
from django.utils import timezone

from core.words import gettext as _
from embeddings.base import Embedding, EmbeddingError
from embeddings.resolver import embed_documents
from memory.config import load_settings
from memory.models import Memory
from memory.records import MemoryRecord
from memory.rows import load_records
from memory.vector_stores.base import VectorPoint
from memory.vector_stores.qdrant import (
    build_payload,
    build_text,
    delete_points,
    digest_payload,
    digest_text,
    expect_points,
    send_points,
)
from qdrant_admin import lifecycle
from qdrant_admin.config import QdrantSettings
from qdrant_admin.installation import read_installation
from qdrant_admin.models import Collection, Point
from qdrant_admin.points import PointFilter, QdrantError, open_server

logger = structlog.get_logger(__name__)

EMBEDDING_SECONDS: Final = 30.0


class WritingHaltedError(Exception):
    """The embedding source answers nothing usable now; `reason` is told to operators."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class QdrantWriter:
    """Writes to one collection, which it makes or checks before its first point. Not safe between threads.

    Calls raise `QdrantError`, `CollectionGoneError` or `WritingHaltedError`; what was written until then is noted.
    """

    def __init__(self, settings: QdrantSettings, collection: Collection) -> None:
        self._settings = settings
        self._collection = collection
        self._server = open_server(settings)
        self._mark = read_installation()
        self._is_ensured = False
        self._retained_since = timezone.now() - timedelta(days=load_settings().retention_days)

    def check(self) -> None:
        """See that the collection that was made is still there and as it was."""
        if self._collection.is_created and self._collection.dimensions is not None:
            self._ensure(self._collection.dimensions)

    def write(self, memory_ids: Sequence[int]) -> int:
        """Write, change or delete the points of these memories as their rows are now; return how many points."""
        rows = Memory.objects.owned_by(None).filter(memory_id__in=memory_ids)
        records = {record.memory_id: record for record in load_records(rows)}
        points = Point.objects.filter(collection=self._collection, source_id__in=memory_ids)
        known = {point.source_id: point for point in points}
        gone = [point for memory_id, point in known.items() if memory_id not in records]
        self._delete(gone)
        wanted = [record for record in records.values() if record.memory_id in known or self._is_usable(record)]
        texts, payloads = self._compare(wanted, known)
        texts += self._overwrite(payloads)
        self._upsert(texts)
        return len(gone) + len(payloads) + len(texts)

    def _is_usable(self, record: MemoryRecord) -> bool:
        """What no search may use needs no point, and no embedding either."""
        is_expired = record.expires_at is not None and record.expires_at <= timezone.now()
        return not is_expired and record.updated_at >= self._retained_since

    def _compare(
        self, records: Sequence[MemoryRecord], known: Mapping[int, Point]
    ) -> tuple[list[MemoryRecord], list[MemoryRecord]]:
        """Return whose vector is to be made, and whose payload alone has changed."""
        texts, payloads = [], []
        for record in records:
            point = known.get(record.memory_id)
            if point is None or point.text_digest != digest_text(record):
                texts.append(record)
            elif point.has_vector and point.payload_digest != self._digest(record):
                payloads.append(record)
        return texts, payloads

    def _overwrite(self, records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
        """Change payloads where the points are; return the memories whose points have gone."""
        if not records:
            return []
        self.check()
        ids = [record.id for record in records]
        there, _ = self._server.scroll(self._collection.name, PointFilter(ids=ids), limit=len(ids))
        present = {point.id for point in there}
        changed = [record for record in records if record.id in present]
        if changed:
            payloads = {record.id: build_payload(record, self._mark) for record in changed}
            self._server.overwrite_payloads(self._collection.name, payloads)
            self._note(changed)
        return [record for record in records if record.id not in present]

    def _upsert(self, records: Sequence[MemoryRecord]) -> None:
        if not records:
            return
        if self._collection.dimensions is not None:
            # Before the embedding, which may cost money, is made for a collection that can't take it.
            self._ensure(self._collection.dimensions)
        embedded, unreadable, outage = self._embed(records)
        if embedded:
            self._ensure(embedded[0][1].dimensions)
            self._send(embedded)
        self._note_unreadable(unreadable)
        if outage is not None:
            raise WritingHaltedError(outage)

    def _embed(
        self, records: Sequence[MemoryRecord]
    ) -> tuple[list[tuple[MemoryRecord, Embedding]], list[MemoryRecord], str | None]:
        """Return what got a vector, whose text has none, and why the source stopped before the end, if it did."""
        config = lifecycle.read_config(self._collection)
        try:
            results = embed_documents(config, [build_text(record) for record in records], EMBEDDING_SECONDS)
        except EmbeddingError as error:
            raise WritingHaltedError(error.message) from error
        embedded: list[tuple[MemoryRecord, Embedding]] = []
        unreadable: list[MemoryRecord] = []
        outage: str | None = None
        for record, result in zip(records, results, strict=True):
            if isinstance(result, Embedding):
                embedded.append((record, result))
            elif result.is_outage:
                outage = result.message
            else:
                unreadable.append(record)
        other = next((item.signature for _, item in embedded if not self._is_of_collection(item)), None)
        if other is not None:
            told = _("the model answers as %(model)s, the collection is for %(collection)s")
            raise WritingHaltedError(told % {"model": other, "collection": self._collection.signature})
        return embedded, unreadable, outage

    def _is_of_collection(self, embedding: Embedding) -> bool:
        wanted = self._collection.signature
        model, _, width = wanted.rpartition(":")
        return embedding.signature == wanted or (width == "null" and embedding.signature.rpartition(":")[0] == model)

    def _send(self, embedded: Sequence[tuple[MemoryRecord, Embedding]]) -> None:
        points = [VectorPoint(record, embedding.vector) for record, embedding in embedded]
        refused = self._send_taken(points)
        left_out = {record.memory_id for record in refused}
        self._note([point.record for point in points if point.record.memory_id not in left_out])
        self._note_unreadable(refused)
        self._delete_gone([point.record.memory_id for point in points])

    def _send_taken(self, points: Sequence[VectorPoint]) -> list[MemoryRecord]:
        """Send the points; return the memories of those that Qdrant refuses while it takes others, which must not wait
        for them."""
        try:
            send_points(self._server, self._collection, points)
            return []
        except QdrantError as error:
            if error.fault != "refused" or len(points) == 1:
                raise
        refused: list[MemoryRecord] = []
        failure: QdrantError | None = None
        for point in points:
            try:
                send_points(self._server, self._collection, [point])
            except QdrantError as error:
                if error.fault != "refused":
                    raise
                refused.append(point.record)
                failure = error
        if failure is not None and len(refused) == len(points):
            raise failure
        logger.warning("qdrant.points_refused", count=len(refused), memory_id=refused[0].memory_id)
        return refused

    def _delete_gone(self, memory_ids: Ids[int]) -> None:
        """A memory that went while its point was on its way must not stay behind."""
        left = set(Memory.objects.filter(memory_id__in=memory_ids).values_list("memory_id", flat=True))
        gone = [memory_id for memory_id in memory_ids if memory_id not in left]
        if gone:
            self._delete(list(Point.objects.filter(collection=self._collection, source_id__in=gone)))

    def _delete(self, points: Sequence[Point]) -> None:
        if points and self._collection.is_created:
            self.check()
            delete_points(self._server, self._collection, points)
        elif points:
            Point.objects.filter(pk__in=[point.pk for point in points]).delete()

    def _note_unreadable(self, records: Sequence[MemoryRecord]) -> None:
        """A text that the model has no vector for, or that Qdrant refuses, is not tried again until it changes."""
        if not records:
            return
        logger.info("qdrant.texts_without_vector", count=len(records))
        if self._collection.is_created:
            self._server.delete(self._collection.name, [record.id for record in records])
        expect_points(self._collection, records)
        self._note(records, has_vector=False)

    def _note(self, records: Sequence[MemoryRecord], *, has_vector: bool = True) -> None:
        """Qdrant has these as they were when they were read."""
        points = Point.objects.filter(collection=self._collection)
        with transaction.atomic():
            for record in records:
                points.filter(source_id=record.memory_id).update(
                    text_digest=digest_text(record), payload_digest=self._digest(record), has_vector=has_vector
                )

    def _digest(self, record: MemoryRecord) -> str:
        return digest_payload(build_payload(record, self._mark))

    def _ensure(self, dimensions: int) -> None:
        if not self._is_ensured:
            lifecycle.ensure_collection(self._collection, self._settings, self._server, dimensions)
            self._is_ensured = True
