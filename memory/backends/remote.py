"""What all backends over a network have in common: the rules of a store, on a handful of calls that each provides."""

import time
from abc import ABC, abstractmethod
from datetime import datetime

from django.utils import timezone

from core.errors import ConflictError
from core.outbound import Deadline
from core.words import gettext as _
from memory.backends import narrowing
from memory.backends.base import BackendError, BackendHealth, MemoryChanges
from memory.backends.drafts import apply_changes, apply_draft
from memory.backends.local_ranking import rank_records
from memory.backends.mirroring import Touched, has_listeners, note_touched
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
from memory.search.ranking import estimate_tokens

Records = list[MemoryRecord]


class RemoteBackend(ABC):
    """Implements `MemoryBackend` for a service that can list, read, write and delete.

    Two writers that create the same key of the same owner at the same moment may leave two memories of it where the
    service has no rule against that.
    """

    id: str
    display_name: str
    is_local = False
    # All the time that one operation may take.
    timeout_seconds: float = 30.0
    _is_ready = False

    @abstractmethod
    def load(self, filter: MemoryFilter, deadline: Deadline) -> list[MemoryRecord]:
        """Every memory that may match, whole; it is narrowed again here, so too many are no harm."""

    @abstractmethod
    def find(self, id: str, deadline: Deadline) -> MemoryRecord | None: ...

    @abstractmethod
    def find_key(self, owner: str, key: str, deadline: Deadline) -> MemoryRecord | None: ...

    @abstractmethod
    def write(self, record: MemoryRecord, stored: MemoryRecord | None, deadline: Deadline) -> MemoryRecord | None:
        """Store the record in place of `stored`, or as a new one; return it as it is stored.

        None when `stored` is there no more; then nothing was stored.
        """

    @abstractmethod
    def remove(self, id: str, deadline: Deadline) -> bool: ...

    @abstractmethod
    def check(self, deadline: Deadline) -> None:
        """Raise `BackendError` unless the service answers and would take a memory."""

    def create(self, draft: MemoryDraft) -> MemoryRecord:
        deadline = self.start()
        stored = self.find_key(draft.owner, draft.key, deadline) if draft.key else None
        written = self.write(apply_draft(draft, stored, timezone.now()), stored, deadline)
        if written is None:
            stored, written = None, self.write(apply_draft(draft, None, timezone.now()), None, deadline)
        if written is None:
            told = _("%(backend)s did not keep the new memory") % {"backend": self.display_name}
            raise BackendError(told, code="backend_bad_answer")
        if stored is not None:
            self._note(stored)
        return written

    def get(self, id: str) -> MemoryRecord | None:
        return self.find(id, self.start())

    def find_by_key(self, owner: str, key: str) -> MemoryRecord | None:
        return self.find_key(owner, key, self.start())

    def update(self, id: str, changes: MemoryChanges) -> MemoryRecord | None:
        deadline = self.start()
        stored = self.find(id, deadline)
        if stored is None:
            return None
        if changes.key and changes.key != stored.key:
            taken = self.find_key(stored.owner, changes.key, deadline)
            if taken is not None and taken.id != id:
                told = _("another memory of this owner has the key %(key)r") % {"key": changes.key}
                raise ConflictError(told, param="key")
        written = self.write(apply_changes(stored, changes, timezone.now()), stored, deadline)
        self._note(stored)
        return written

    def delete(self, id: str) -> bool:
        deadline = self.start()
        stored = self.find(id, deadline) if has_listeners(self.id) else None
        is_gone = self.remove(id, deadline)
        if stored is not None:
            self._note(stored)
        return is_gone

    def put(self, record: MemoryRecord) -> None:
        deadline = self.start()
        stored = self.find(record.id, deadline)
        if stored is None and record.key:
            stored = self.find_key(record.owner, record.key, deadline)
        self.copy(record, stored, deadline)

    def delete_matching(self, filter: MemoryFilter, *, older_than: datetime | None = None) -> int:
        records = narrowing.narrow(self.load(filter, self.start()), filter)
        doomed = [record for record in records if older_than is None or record.created_at < older_than]
        count = 0
        for record in doomed:
            count += self.remove(record.id, self.start())
            self._note(record)
        return count

    def list(self, filter: MemoryFilter, *, limit: int, offset: int, order: MemoryOrder = DEFAULT_ORDER) -> MemoryPage:
        return narrowing.make_page(self._load_sorted(filter, order), order, limit=limit, offset=offset)

    def scan(
        self, filter: MemoryFilter, *, limit: int, after: str | None, order: MemoryOrder = DEFAULT_ORDER
    ) -> MemorySlice:
        return narrowing.make_slice(self._load_sorted(filter, order), order, limit=limit, after=after)

    def count(self, filter: MemoryFilter) -> dict[str, int]:
        return narrowing.count_types(narrowing.narrow(self.load(filter, self.start()), filter))

    def count_tokens(self, owner: str | None) -> int:
        filter = MemoryFilter(owner)
        records = narrowing.narrow(self.load(filter, self.start()), filter)
        return sum(estimate_tokens(record.content) for record in records)

    def search(self, query: SearchQuery) -> SearchOutcome:
        records = self.load(MemoryFilter(query.owner, query.type, query.session_id), self.start(query.timeout_seconds))
        return rank_records(records, query, timezone.now(), peer=self.display_name)

    def health(self) -> BackendHealth:
        started = time.perf_counter()
        error: str | None = None
        try:
            self.check(Deadline(self.timeout_seconds))
        except BackendError as failure:
            error = failure.message
        return BackendHealth(error is None, round((time.perf_counter() - started) * 1000), error)

    def copy(self, record: MemoryRecord, stored: MemoryRecord | None, deadline: Deadline) -> None:
        """Write a copy of another backend's memory over `stored`, or as a new one."""
        if self.write(record, stored, deadline) is None:
            self.write(record, None, deadline)

    def initialize(self) -> None:
        """See that the service is there; `BackendError` when it isn't."""
        self.start()

    def start(self, limit_seconds: float | None = None) -> Deadline:
        """Begin an operation: the time that it has, which never exceeds the configured one.

        Before the first one the service is checked; after a failure the next operation checks it again.
        """
        deadline = Deadline(min(self.timeout_seconds, limit_seconds or self.timeout_seconds))
        if not self._is_ready:
            self.check(deadline)
            self._is_ready = True
        return deadline

    def _note(self, before: MemoryRecord) -> None:
        """Have fallbacks told of a change to a memory, given as it was before."""
        note_touched(self.id, [Touched(before.id, before.owner, before.key)])

    def _load_sorted(self, filter: MemoryFilter, order: MemoryOrder) -> Records:
        return narrowing.sort_records(narrowing.narrow(self.load(filter, self.start()), filter), order)
