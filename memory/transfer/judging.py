"""What becomes of a row, given what is stored. Reads and compares; writes nothing.

A memory of the chosen owner is found by its key, one without a key by its id. Another owner's memory is never looked
at: of an id it is only known that it is taken.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from core.words import gettext as _
from memory.backends import restoring
from memory.backends.base import MemoryBackend
from memory.records import MemoryRecord
from memory.services import USER_SOURCE, outweighs
from memory.transfer.plans import ImportOptions, Outcome
from memory.transfer.rows import ImportRow, exchange_id

# Files of the REST API's shape tell times to the millisecond.
PRECISION: Final = timedelta(milliseconds=1)
WRITTEN: Final[tuple[Outcome, ...]] = ("new", "update")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sound row and who gets it."""

    row: ImportRow
    owner: str

    @property
    def identity(self) -> tuple[str, str, str]:
        """What makes two rows of a file the same memory."""
        return (self.owner, "key", self.row.key) if self.row.key else (self.owner, "id", self.row.id or "")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a row: `record` is what is stored in the end, `stored` what was there before."""

    candidate: Candidate
    outcome: Outcome
    record: MemoryRecord
    stored: MemoryRecord | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """How rows are judged: `refreshes` as in ImportOptions, settled for the format; `now` is the import's time."""

    now: datetime
    refreshes: bool
    overwrites: bool


class Shelf:
    """The stored memories that a batch of rows may meet, kept current while the batch is judged."""

    def __init__(self, backend: MemoryBackend, batch: Sequence[Candidate]) -> None:
        self._by_key: dict[tuple[str, str], MemoryRecord] = {}
        self._by_id: dict[tuple[str, str], MemoryRecord] = {}
        self._taken: set[str] = set()
        if backend.is_local:
            self._load_rows(batch)
        else:
            self._load_from(backend, batch)

    def find(self, candidate: Candidate) -> MemoryRecord | None:
        """The owner's memory that the row is about."""
        if candidate.row.key:
            return self._by_key.get((candidate.owner, candidate.row.key))
        found = (self._by_id.get((candidate.owner, it)) for it in (candidate.row.id or "", _exchange(candidate)))
        return next((record for record in found if record is not None and not record.key), None)

    def choose_id(self, candidate: Candidate) -> str:
        """An id for a new memory: its own if nobody has it, else one that is the same at every import."""
        wanted = candidate.row.id
        for memory_id in (wanted, _exchange(candidate) if wanted else None):
            if memory_id is not None and memory_id not in self._taken:
                return memory_id
        return str(uuid.uuid4())

    def put(self, record: MemoryRecord) -> None:
        if record.key:
            self._by_key[record.owner, record.key] = record
        self._by_id[record.owner, record.id] = record
        self._taken.add(record.id)

    def _load_rows(self, batch: Sequence[Candidate]) -> None:
        for owner in {candidate.owner for candidate in batch}:
            own = [candidate for candidate in batch if candidate.owner == owner]
            keys = [candidate.row.key for candidate in own if candidate.row.key]
            keyless = [candidate for candidate in own if not candidate.row.key]
            ids = [it for candidate in keyless for it in (candidate.row.id, _exchange(candidate)) if it]
            for record in (*restoring.load_by_keys(owner, keys).values(), *restoring.load_by_ids(owner, ids).values()):
                self.put(record)
        wanted = [it for candidate in batch if candidate.row.id for it in (candidate.row.id, _exchange(candidate))]
        self._taken |= restoring.find_taken_ids(wanted)

    def _load_from(self, backend: MemoryBackend, batch: Sequence[Candidate]) -> None:
        """Another backend is asked for one memory at a time; it gives out ids of its own where it must."""
        for candidate in batch:
            if candidate.row.key:
                found = backend.find_by_key(candidate.owner, candidate.row.key)
            else:
                found = backend.get(candidate.row.id or "")
            if found is not None and found.owner == candidate.owner:
                self.put(found)
            elif found is not None:
                self._taken.add(found.id)


def judge(candidate: Candidate, shelf: Shelf, rule: Rule) -> Verdict:
    """Judge one row and put what is stored in the end on the shelf, for the rows after it."""
    stored = shelf.find(candidate)
    if stored is None:
        verdict = Verdict(candidate, "new", _make_new(candidate, shelf, rule), None)
    elif candidate.row.fact is not None:
        verdict = _judge_fact(candidate, stored, rule)
    else:
        verdict = _judge_stored(candidate, stored, rule)
    shelf.put(verdict.record)
    return verdict


def decide_times(options: ImportOptions, *, keeps_times: bool) -> bool:
    """Whether retention counts from the import."""
    return not keeps_times if options.refreshes is None else options.refreshes


def _judge_stored(candidate: Candidate, stored: MemoryRecord, rule: Rule) -> Verdict:
    row = candidate.row
    told_at = row.updated_at or row.created_at
    record = _make_changed(row, stored, rule)
    is_same = _ignore_times(record) == _ignore_times(stored)
    if is_same and (rule.refreshes or told_at is None or told_at <= stored.updated_at):
        return Verdict(candidate, "unchanged", stored, stored)
    if told_at is not None and stored.updated_at - told_at >= PRECISION and not rule.overwrites:
        return Verdict(candidate, "older", stored, stored, _("what is stored was changed later"))
    return Verdict(candidate, "update", record, stored)


def _judge_fact(candidate: Candidate, stored: MemoryRecord, rule: Rule) -> Verdict:
    fact, said = candidate.row.fact, (candidate.row.updated_at or rule.now).isoformat()
    if fact is None or outweighs(stored.metadata, USER_SOURCE, said):
        return Verdict(candidate, "older", stored, stored, _("what is stored was said later"))
    told = (stored.content, stored.metadata.get("polarity"), stored.metadata.get("extractedAt"))
    if told == (fact.content, fact.polarity, said):
        return Verdict(candidate, "unchanged", stored, stored)
    return Verdict(candidate, "update", replace(stored, content=fact.content), stored)


def _make_new(candidate: Candidate, shelf: Shelf, rule: Rule) -> MemoryRecord:
    row = candidate.row
    told_at = row.updated_at or row.created_at or rule.now
    return MemoryRecord(
        memory_id=0,
        id=shelf.choose_id(candidate),
        owner=candidate.owner,
        session_id=row.session_id or "",
        type=row.type or "factual",
        key=row.key,
        content=row.content,
        metadata=row.metadata or {},
        created_at=row.created_at or told_at,
        updated_at=rule.now if rule.refreshes else told_at,
        expires_at=row.expires_at,
    )


def _make_changed(row: ImportRow, stored: MemoryRecord, rule: Rule) -> MemoryRecord:
    """What the file says replaces what is stored; what it doesn't say stays, and so do the id and `created_at`."""
    told_at = row.updated_at or row.created_at or rule.now
    return replace(
        stored,
        session_id=stored.session_id if row.session_id is None else row.session_id,
        type=row.type or stored.type,
        content=row.content,
        metadata=stored.metadata if row.metadata is None else row.metadata,
        updated_at=rule.now if rule.refreshes else told_at,
        expires_at=row.expires_at if row.tells_expiry else stored.expires_at,
    )


def _ignore_times(record: MemoryRecord) -> tuple[object, ...]:
    return (record.session_id, record.type, record.content, dict(record.metadata), record.expires_at)


def _exchange(candidate: Candidate) -> str:
    return exchange_id(candidate.owner, f"{candidate.row.id}\x1f{candidate.row.key}") if candidate.row.id else ""
