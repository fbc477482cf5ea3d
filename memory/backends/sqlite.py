"""The built-in backend: rows of this database, searched by `memory.search`."""

import time
import uuid
from datetime import datetime

from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import Count, F, Sum
from django.db.models.functions import Length
from django.utils import timezone

from core.errors import ConflictError
from core.words import gettext as _
from memory.backends.base import BackendHealth, MemoryChanges
from memory.backends.drafts import merge_metadata
from memory.backends.listing import load_after, load_page, write_cursor
from memory.backends.mirroring import Touched, note_touched
from memory.backends.selection import select_matching
from memory.models import Memory, MemoryQuerySet
from memory.records import (
    DEFAULT_ORDER,
    MemoryDraft,
    MemoryFilter,
    MemoryOrder,
    MemoryPage,
    MemoryRecord,
    MemorySlice,
    SearchOutcome,
    SearchQuery,
)
from memory.rows import load_records, make_record
from memory.search import engine
from memory.search.ranking import CHARS_PER_TOKEN
from memory.search.terms import make_search_terms
from memory.vector_stores import lifecycle


class SQLiteBackend:
    """Implements `MemoryBackend` on `memory.models.Memory`."""

    id = "sqlite"
    display_name = "SQLite"
    is_local = True

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
                    told = _("another memory of this owner has the key %(key)r") % {"key": changes.key}
                    raise ConflictError(told, param="key")
            before = touch(row)
            text_changed = _apply(row, changes)
            if text_changed:
                expect_indexing(row)
            row.updated_at = timezone.now()
            row.save()
            note_touched(self.id, [before])
        return make_record(row)

    def put(self, record: MemoryRecord) -> None:
        with transaction.atomic():
            owned = Memory.objects.owned_by(record.owner)
            row = Memory.objects.filter(uuid=record.id).first()
            twin = owned.filter(key=record.key).exclude(uuid=record.id).first() if record.key else None
            if row is None and twin is not None:
                row, twin = twin, None
            if twin is not None:
                delete_rows(Memory.objects.filter(memory_id__in=[twin.memory_id]))
            row = row or Memory()
            _copy_into(row, record)
            expect_indexing(row)
            row.save()

    def delete(self, id: str) -> bool:
        return delete_rows(Memory.objects.filter(uuid=id)) > 0

    def delete_matching(self, filter: MemoryFilter, *, older_than: datetime | None = None) -> int:
        rows = select_matching(filter)
        if older_than is not None:
            rows = rows.filter(created_at__lt=older_than)
        return delete_rows(rows)

    def list(self, filter: MemoryFilter, *, limit: int, offset: int, order: MemoryOrder = DEFAULT_ORDER) -> MemoryPage:
        by_type = self.count(filter)
        total = sum(by_type.values())
        records = load_page(filter, order, limit=limit, offset=offset)
        has_more = bool(records) and offset + limit < total
        return MemoryPage(records, total, by_type, write_cursor(records[-1], order) if has_more else None)

    def scan(
        self, filter: MemoryFilter, *, limit: int, after: str | None, order: MemoryOrder = DEFAULT_ORDER
    ) -> MemorySlice:
        # One more than is wanted tells whether anything comes after them.
        records = load_after(filter, order, limit=limit + 1, after=after)
        has_more = len(records) > limit
        records = records[:limit]
        return MemorySlice(records, write_cursor(records[-1], order) if has_more and records else None)

    def count(self, filter: MemoryFilter) -> dict[str, int]:
        counts = select_matching(filter).values_list("type").annotate(number=Count("memory_id"))
        return dict(counts.order_by("type"))

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
        before = [] if row is None else [touch(row)]
        if row is None:
            row = Memory(uuid=str(uuid.uuid4()), api_key_id=draft.owner, key=draft.key, created_at=now)
        metadata = row.metadata if isinstance(row.metadata, dict) else {}
        text_changed = row.content != draft.content
        row.content = draft.content
        row.type = draft.type
        row.session_id = draft.session_id
        row.metadata = merge_metadata(metadata, draft.metadata)
        row.expires_at = draft.expires_at
        row.updated_at = now
        if text_changed:
            expect_indexing(row)
        row.save()
        if before:
            note_touched(SQLiteBackend.id, before)
    return make_record(row)


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
        doomed = list(rows.values_list("memory_id", "uuid", "api_key_id", "key"))
        lifecycle.drop_vectors([memory_id for memory_id, *_ in doomed])
        if doomed:
            note_touched(SQLiteBackend.id, [Touched(*identity) for _, *identity in doomed])
        return rows.delete()[0]


def touch(row: Memory) -> Touched:
    """What fallbacks know the row by, as it is now; to be taken before it is changed."""
    return Touched(row.uuid, row.api_key_id, row.key)


def _copy_into(row: Memory, record: MemoryRecord) -> None:
    row.uuid, row.api_key_id, row.session_id = record.id, record.owner, record.session_id
    row.type, row.key, row.content = record.type, record.key, record.content
    row.metadata, row.expires_at = dict(record.metadata), record.expires_at
    row.created_at, row.updated_at = record.created_at, record.updated_at


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


def _elapsed_ms(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)
