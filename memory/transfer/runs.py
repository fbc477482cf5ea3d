"""Plan an import, and do it. Both read the file twice: once to find repeated rows, once to judge every row.

An import is done in batches, each in a short transaction in which it is judged anew. Killed in the middle and started
again, it ends as if it had not been: rows that are there already are unchanged.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Final

import structlog
from django.db import transaction
from django.utils import timezone

from core.errors import InvalidRequestError
from core.words import gettext as _
from memory import corrections, services
from memory.backends.manager import get_primary
from memory.config import load_settings
from memory.records import MemoryRecord
from memory.transfer.judging import WRITTEN, Candidate, Rule, Shelf, Verdict, decide_times, judge
from memory.transfer.notes import write_notes
from memory.transfer.plans import (
    MAX_PROBLEMS,
    MAX_SAMPLES,
    OUTCOMES,
    ImportOptions,
    ImportPlan,
    ImportReport,
    ImportSample,
    Outcome,
    RowProblem,
)
from memory.transfer.reader import Format, read_source
from memory.transfer.rows import BadRow, BadRowError, Reading, check_row, name_row, shorten

logger = structlog.get_logger(__name__)

BATCH_ROWS: Final = 200
MAX_OWNERS: Final = 50

_Numbered = tuple[int, Candidate | BadRow]


class RefusedImportError(InvalidRequestError):
    """A strict import of a file with rows that are broken, or whose checksum is wrong. Nothing was written."""

    code = "import_refused"


@dataclass
class _Tally:
    """What has become of the rows so far."""

    counts: Counter[Outcome] = field(default_factory=Counter)
    problems: list[RowProblem] = field(default_factory=list)
    samples: list[ImportSample] = field(default_factory=list)
    beyond_retention: int = 0
    expired: int = 0

    def add_problem(self, number: int, key: str, outcome: Outcome, reason: str) -> None:
        self.counts[outcome] += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(RowProblem(number, key, outcome, reason))

    def add(self, verdict: Verdict, rule: Rule, retained_since: datetime) -> None:
        record, row = verdict.record, verdict.candidate.row
        if verdict.outcome == "older":
            self.add_problem(row.number, shorten(row.key or row.content), "older", verdict.reason)
            return
        self.counts[verdict.outcome] += 1
        if verdict.outcome in WRITTEN:
            self.beyond_retention += row.fact is None and record.updated_at < retained_since
            self.expired += record.expires_at is not None and record.expires_at <= rule.now
        if len(self.samples) < MAX_SAMPLES:
            sample = ImportSample(row.number, verdict.outcome, record.owner, record.type, record.key, record.content)
            self.samples.append(sample)


class _Run:
    """One way through a file under fixed options."""

    def __init__(self, path: Path, options: ImportOptions) -> None:
        self.path, self.options = path, options
        self.now = timezone.now()
        self.reading = Reading()
        self.format: Format | None = None
        self.total = 0

    def find_repeated(self) -> set[int]:
        """Read the file once: numbers of rows after which the file tells the same memory anew."""
        last: dict[bytes, tuple[int, str]] = {}
        repeated: set[int] = set()
        for number, item in self._read():
            self.total = number
            if isinstance(item, BadRow):
                continue
            digest = hashlib.blake2b("\x1f".join(item.identity).encode(), digest_size=16).digest()
            # Of facts the one that was said last counts, wherever it stands; of rows the one that stands last.
            said = "" if item.row.fact is None else (item.row.updated_at or self.now).isoformat()
            earlier = last.get(digest)
            if earlier is not None and earlier[1] > said:
                repeated.add(number)
                continue
            if earlier is not None:
                repeated.add(earlier[0])
            last[digest] = (number, said)
        return repeated

    def judge(self, repeated: set[int], tally: _Tally, undo: "_Undo | None", tell: Callable[[int, int], None]) -> None:
        """Read the file again and judge every row; with an `undo`, also write what is to be written."""
        rule = Rule(self.now, self._refreshes(), self.options.overwrites)
        retained_since = self.now - timedelta(days=load_settings().retention_days)
        backend = get_primary()
        for batch in _split(self._read(), BATCH_ROWS):
            candidates = [it for number, it in batch if isinstance(it, Candidate) and number not in repeated]
            with transaction.atomic() if undo is not None and backend.is_local else nullcontext():
                shelf = Shelf(backend, candidates)
                verdicts = {it.row.number: judge(it, shelf, rule) for it in candidates}
                if undo is not None:
                    undo.keep(_write([it for it in verdicts.values() if it.outcome in WRITTEN], self.now))
            for number, item in batch:
                if isinstance(item, BadRow):
                    tally.add_problem(number, item.key, item.outcome, item.reason)
                elif number in repeated:
                    tally.add_problem(number, shorten(item.row.key), "repeated", _("a later row has the same key"))
                else:
                    tally.add(verdicts[number], rule, retained_since)
            tell(batch[-1][0], self.total)

    def conclude(self, tally: _Tally) -> ImportPlan:
        if self.format is None:
            raise ValueError("the file was not read yet")
        notes = write_notes(
            self.reading, tally.beyond_retention, tally.expired, self.options, load_settings().retention_days
        )
        return ImportPlan(
            format=self.format.name,
            format_name=self.format.title,
            total=sum(tally.counts.values()),
            counts={name: tally.counts[name] for name in OUTCOMES},
            problems=tuple(tally.problems),
            samples=tuple(tally.samples),
            notes=notes,
            owners=dict(self.reading.owners.most_common(MAX_OWNERS)),
            is_intact=self.reading.is_intact,
        )

    def _read(self) -> Iterator[_Numbered]:
        self.reading = reading = Reading(reads_conversations=self.options.reads_conversations)
        self.format, rows = read_source(self.path, self.options.format, reading)
        for number, foreign in enumerate(rows, start=1):
            if isinstance(foreign, BadRow):
                yield number, foreign
                continue
            try:
                row = check_row(foreign, number, self.now, reading)
            except BadRowError as error:
                yield number, BadRow(error.message, key=name_row(foreign))
                continue
            if row.named_owner:
                reading.owners[row.named_owner] += 1
            wanted = self.options.source_owner
            if wanted is not None and row.named_owner != wanted:
                yield number, BadRow(_("it is another owner's"), key=shorten(row.key), outcome="left_out")
                continue
            yield number, Candidate(row, row.named_owner if self.options.keeps_owners else self.options.owner)

    def _refreshes(self) -> bool:
        return decide_times(self.options, keeps_times=self.format is not None and self.format.keeps_times)


class _Undo:
    """What an import keeps so that it can be undone; opened when there is something to keep."""

    def __init__(self, label: str, undo_id: str | None, note: Callable[[str], None]) -> None:
        self.label = label
        self.undo_id = undo_id
        self._note = note

    def keep(self, written: Sequence[tuple[Verdict, MemoryRecord]]) -> None:
        """Keep what was there before, and what there is now."""
        if not written or not corrections.can_undo():
            return
        if self.undo_id is None:
            self.undo_id = corrections.open_import(self.label)
            self._note(self.undo_id)
        before = [verdict.stored for verdict, _ in written if verdict.stored is not None]
        created = [record for verdict, record in written if verdict.stored is None]
        corrections.keep_import(self.undo_id, before, created)


def plan(path: Path, options: ImportOptions) -> ImportPlan:
    """Say what `run` would do. Raises BrokenFileError, TooLargeError, InvalidFieldsError."""
    attempt, tally = _Run(path, options), _Tally()
    attempt.judge(attempt.find_repeated(), tally, None, lambda done, total: None)
    return attempt.conclude(tally)


def run(
    path: Path,
    options: ImportOptions,
    *,
    label: str,
    is_strict: bool = False,
    tell: Callable[[int, int], None] = lambda done, total: None,
    undo_id: str | None = None,
    note_undo: Callable[[str], None] = lambda undo_id: None,
) -> ImportReport:
    """Import the file; `label` is what it is called where it can be undone. Raises as `plan`, with nothing written.

    `is_strict` refuses a file (RefusedImportError) with any row that is broken or a wrong checksum. `tell` hears after
    each batch how many rows are done, and of how many; `note_undo` the id by which the import can be undone, before
    anything is written; who starts the same import anew gives it back as `undo_id`.
    """
    attempt, tally, undo = _Run(path, options), _Tally(), _Undo(label, undo_id, note_undo)
    repeated = attempt.find_repeated()
    if is_strict:
        _refuse_flaws(plan(path, options))
    attempt.judge(repeated, tally, undo, tell)
    done = attempt.conclude(tally)
    logger.info("memory.imported", format=done.format, **{name: done.counts[name] for name in OUTCOMES})
    return ImportReport(done, undo.undo_id)


def _refuse_flaws(planned: ImportPlan) -> None:
    if planned.counts["invalid"]:
        broken = [problem for problem in planned.problems if problem.outcome == "invalid"]
        values = {"count": planned.counts["invalid"]}
        if not broken:
            raise RefusedImportError(_("%(count)d rows can't be imported") % values)
        told = _("%(count)d rows can't be imported, such as row %(row)d: %(reason)s")
        raise RefusedImportError(told % {**values, "row": broken[0].row, "reason": broken[0].reason})
    if planned.is_intact is False:
        raise RefusedImportError(planned.notes[0])


def _write(verdicts: Sequence[Verdict], now: datetime) -> list[tuple[Verdict, MemoryRecord]]:
    facts = [verdict for verdict in verdicts if verdict.candidate.row.fact is not None]
    others = [verdict for verdict in verdicts if verdict.candidate.row.fact is None]
    records = services.restore([verdict.record for verdict in others])
    written = list(zip(others, records, strict=True))
    for verdict in facts:
        record = _remember(verdict, now)
        if record is not None:
            written.append((verdict, record))
    return written


def _remember(verdict: Verdict, now: datetime) -> MemoryRecord | None:
    row = verdict.candidate.row
    if row.fact is None:
        return None
    return services.remember_fact(
        row.fact,
        owner=verdict.candidate.owner,
        session_id=row.session_id or "",
        source=services.USER_SOURCE,
        said_at=row.updated_at or now,
    )


def _split(items: Iterator[_Numbered], size: int) -> Iterator[list[_Numbered]]:
    while batch := list(islice(items, size)):
        yield batch
