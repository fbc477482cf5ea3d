"""The built-in backend: rows of this database, searched by `memory.search`."""

import json
import time
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import Count, F, Q, Sum
from django.db.models.functions import Length
from django.utils import timezone

from core.errors import ConflictError, FieldError, InvalidFieldsError
from memory.backends.base import BackendHealth, MemoryChanges
from memory.models import Memory, MemoryQuerySet
from memory.records import MemoryDraft, MemoryFilter, MemoryPage, MemoryRecord, SearchOutcome, SearchQuery
from memory.rows import load_records, make_record
from memory.search import engine
from memory.search.ranking import CHARS_PER_TOKEN
from memory.search.terms import make_search_terms
from memory.vector_stores import lifecycle

# Twice what one request may send.
MAX_METADATA_BYTES: Final = 128 * 1024


class SQLiteBackend:
    """Implements `MemoryBackend` on `memory.models.Memory`."""

    id = "sqlite"
    display_name = "SQLite"

    def create(self, draft: MemoryDraft) -> MemoryRecord:
        try:
            return _upsert(draft)
        except IntegrityError:
            # Where transactions may overlap, another writer can insert the same key between our look and our insert.
            return _upsert(draft)

    def get(self, id: str) -> MemoryRecord | None:
        return next(iter(load_records(Memory.objects.filter(uuid=id))), None)

    def find_by_key(self, owner: str, key: str) -> MemoryRecord | None:
        return next(iter(load_records(Memory.objects.owned_by(owner).filter(key=key))), None)

    def update(self, id: str, changes: MemoryChanges) -> MemoryRecord | None:
        with transaction.atomic():
            row = Memory.objects.filter(uuid=id).first()
            if row is None:
                return None
            if changes.key:
                taken = Memory.objects.owned_by(row.api_key_id).filter(key=changes.key).exclude(pk=row.pk)
                if taken.exists():
                    raise ConflictError(f"another memory of this owner has the key {changes.key!r}", param="key")
            text_changed = _apply(row, changes)
            if text_changed:
                expect_indexing(row)
            row.updated_at = timezone.now()
            row.save()
        return make_record(row)

    def delete(self, id: str) -> bool:
        return delete_rows(Memory.objects.filter(uuid=id)) > 0

    def delete_matching(self, filter: MemoryFilter, *, older_than: datetime | None = None) -> int:
        rows = _select(filter)
        if older_than is not None:
            rows = rows.filter(created_at__lt=older_than)
        return delete_rows(rows)

    def list(self, filter: MemoryFilter, *, limit: int, offset: int) -> MemoryPage:
        rows = _select(filter)
        counts = rows.order_by().values_list("type").annotate(number=Count("memory_id"))
        by_type = dict(counts.order_by("type"))
        page = rows.order_by("-created_at", "-memory_id")[offset : offset + limit]
        return MemoryPage(load_records(page), sum(by_type.values()), by_type)

    def count_tokens(self, owner: str | None) -> int:
        tokens = (Length(F("content")) + CHARS_PER_TOKEN - 1) / CHARS_PER_TOKEN
        return int(Memory.objects.owned_by(owner).aggregate(tokens=Sum(tokens))["tokens"] or 0)

    def search(self, query: SearchQuery) -> SearchOutcome:
        return engine.search(query)

    def health(self) -> BackendHealth:
        started = time.perf_counter()
        try:
            Memory.objects.owned_by(None).exists()
        except DatabaseError as error:
            return BackendHealth(False, _elapsed_ms(started), str(error))
        return BackendHealth(True, _elapsed_ms(started))


def _upsert(draft: MemoryDraft) -> MemoryRecord:
    now = timezone.now()
    with transaction.atomic():
        row = Memory.objects.owned_by(draft.owner).filter(key=draft.key).first() if draft.key else None
        if row is None:
            row = Memory(uuid=str(uuid.uuid4()), api_key_id=draft.owner, key=draft.key, created_at=now)
        metadata = row.metadata if isinstance(row.metadata, dict) else {}
        text_changed = row.content != draft.content
        row.content = draft.content
        row.type = draft.type
        row.session_id = draft.session_id
        row.metadata = _merge_metadata(metadata, draft.metadata)
        row.expires_at = draft.expires_at
        row.updated_at = now
        if text_changed:
            expect_indexing(row)
        row.save()
    return make_record(row)


def _merge_metadata(stored: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """New wins. The result is bounded, or it would grow with every upsert."""
    merged = {**stored, **given}
    if stored and given and len(json.dumps(merged, ensure_ascii=False).encode()) > MAX_METADATA_BYTES:
        message = f"Would make the stored metadata larger than {MAX_METADATA_BYTES} bytes"
        raise InvalidFieldsError([FieldError("metadata", message)])
    return merged


def expect_indexing(*rows: Memory) -> None:
    """The texts are others: words anew, the old vectors gone at once, the new ones to come."""
    for row in rows:
        row.search_terms = make_search_terms(row.content, row.key)
        row.needs_reindex, row.index_attempts, row.index_retry_at = True, 0, None
    stored = [row.memory_id for row in rows if row.memory_id is not None]
    if stored:
        lifecycle.drop_vectors(stored)


def delete_rows(rows: MemoryQuerySet) -> int:
    """Delete the rows and what the indexes hold of them; returns how many there were."""
    with transaction.atomic():
        lifecycle.drop_vectors(list(rows.values_list("memory_id", flat=True)))
        return rows.delete()[0]


def _apply(row: Memory, changes: MemoryChanges) -> bool:
    """Set the changed fields; True when the indexed text is another now."""
    before = (row.content, row.key)
    if changes.type is not None:
        row.type = changes.type
    if changes.key is not None:
        row.key = changes.key
    if changes.content is not None:
        row.content = changes.content
    if changes.metadata is not None:
        row.metadata = changes.metadata
    return before != (row.content, row.key)


def _select(filter: MemoryFilter) -> MemoryQuerySet:
    rows = Memory.objects.owned_by(filter.owner)
    exact: Mapping[str, Any] = {
        "type": filter.type,
        "session_id": filter.session_id,
        "metadata__category": filter.category,
    }
    rows = rows.filter(**{name: value for name, value in exact.items() if value is not None})
    text = filter.text.strip()
    return rows.filter(Q(content__icontains=text) | Q(key__icontains=text)) if text else rows


def _elapsed_ms(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)
