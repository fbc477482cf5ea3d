"""What an import would do, and what it did: counts that add up to the rows of the file, and the reasons for each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

# What becomes of a row. The first four are judged against what is stored, the others follow from the file alone:
# `older`: what is stored was changed later and stays; `repeated`: a later row of the file has the same key;
# `invalid`: broken; `left_out`: sound, but not asked for, such as another user's.
Outcome = Literal["new", "update", "unchanged", "older", "repeated", "invalid", "left_out"]
OUTCOMES: Final[tuple[Outcome, ...]] = ("new", "update", "unchanged", "older", "repeated", "invalid", "left_out")
MAX_PROBLEMS: Final = 100
MAX_SAMPLES: Final = 10


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a file is read, and for whom. The file itself never says who owns its memories.

    `owner` is the API key's id that gets them ("" = the ownerless pool). `keeps_owners` gives each row to the owner it
    names instead (an operator's choice, for putting a whole database back). `source_owner` takes only the rows that
    name this owner or user. `overwrites` lets the file win over what was changed later. `refreshes` says whether
    retention counts from the import (True) or from the file's own times (False); None is the format's own rule: our
    and OmniRoute's files keep their times, other programs' memories begin anew. `reads_conversations` takes facts out
    of what people said in conversations; without it conversations are left out.
    """

    owner: str
    format: str = "auto"
    keeps_owners: bool = False
    source_owner: str | None = None
    overwrites: bool = False
    refreshes: bool | None = None
    reads_conversations: bool = False


@dataclass(frozen=True, slots=True)
class RowProblem:
    """A row that is not imported: its number in the file (from 1), what it is called, and why."""

    row: int
    key: str
    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True)
class ImportSample:
    """One of the first rows, as it would be stored."""

    row: int
    outcome: Outcome
    owner: str
    type: str
    key: str
    content: str


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """What an import would do; nothing is written. `counts` has every outcome and adds up to `total`.

    `problems` are the first MAX_PROBLEMS rows that are not imported, `notes` sentences for the operator (a file that
    was cut off, several users in it, rows beyond retention). `owners` are the owners or users that the file names.
    `is_intact` is whether the file's checksum is right, None for a format without one.
    """

    format: str
    format_name: str
    total: int
    counts: Mapping[Outcome, int]
    problems: tuple[RowProblem, ...] = ()
    samples: tuple[ImportSample, ...] = ()
    notes: tuple[str, ...] = ()
    owners: Mapping[str, int] = field(default_factory=dict)
    is_intact: bool | None = None

    @property
    def new(self) -> int:
        return self.counts["new"]

    @property
    def updates(self) -> int:
        return self.counts["update"]

    @property
    def unchanged(self) -> int:
        return self.counts["unchanged"]

    @property
    def not_imported(self) -> int:
        """Rows that stay out: older, repeated, invalid, left out."""
        return sum(self.counts[name] for name in ("older", "repeated", "invalid", "left_out"))


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did. `undo_id` undoes it (memory.corrections.undo), None when nothing was written or can't be."""

    plan: ImportPlan
    undo_id: str | None = None


@dataclass(frozen=True, slots=True)
class ImportTicket:
    """An uploaded file that waits for its confirmation. `filename` is only shown, never used as a path."""

    id: str
    filename: str
    size_bytes: int
    staged_at: datetime


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """How far an import in the background is. `state`: waiting, running, done or failed (`error` says why)."""

    state: Literal["waiting", "running", "done", "failed"]
    rows_done: int = 0
    rows_total: int | None = None
    report: ImportReport | None = None
    error: str = ""
