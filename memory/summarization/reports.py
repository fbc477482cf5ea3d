"""What compaction has done or would do, in figures or to the last word."""

from collections.abc import Iterable
from dataclasses import dataclass

from memory.records import MemoryRecord
from memory.summarization.plans import LeftAlone, SummaryPart, count_tokens


@dataclass(frozen=True, slots=True)
class DonePart:
    """One summary of an owner's and session's memories; `summary_id` is None on a dry run."""

    owner: str
    session_id: str
    part: SummaryPart
    summary_id: str | None


@dataclass(frozen=True, slots=True)
class CompactionFigures:
    """`memories` of so many `tokens` became, or would become, `summaries`; `left_alone` memories stay as they are."""

    memories: int = 0
    summaries: int = 0
    tokens: int = 0
    tokens_saved: int = 0
    left_alone: int = 0


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary that was made, or on a dry run (`id` None) would be made, of `count` memories."""

    id: str | None
    owner: str
    session_id: str
    content: str
    count: int
    tokens_saved: int


@dataclass(frozen=True, slots=True)
class CompactionReport:
    """What a run did or, on a dry run, would do. `undo_id` is None when nothing was changed."""

    candidates: list[MemoryRecord]
    summaries: list[Summary]
    left_alone: list[LeftAlone]
    undo_id: str | None
    is_dry_run: bool

    @property
    def total_tokens(self) -> int:
        return count_tokens(self.candidates)

    @property
    def tokens_saved(self) -> int:
        return sum(summary.tokens_saved for summary in self.summaries)

    @property
    def deleted_count(self) -> int:
        return 0 if self.is_dry_run else len(self.candidates)


def build_report(outcomes: Iterable[DonePart | LeftAlone], undo_id: str | None) -> CompactionReport:
    """Everything, every memory with it; `undo_id` is None on a dry run."""
    candidates, summaries, left_alone = list[MemoryRecord](), list[Summary](), list[LeftAlone]()
    for outcome in outcomes:
        if isinstance(outcome, LeftAlone):
            left_alone.append(outcome)
            continue
        part = outcome.part
        candidates += part.records
        names = (outcome.summary_id, outcome.owner, outcome.session_id)
        summaries.append(Summary(*names, part.content, len(part.records), part.tokens_saved))
    return CompactionReport(candidates, summaries, left_alone, undo_id if summaries else None, undo_id is None)


def add_up(outcomes: Iterable[DonePart | LeftAlone]) -> CompactionFigures:
    """The figures alone; what was planned is let go of at once, however much it is."""
    memories = summaries = tokens = tokens_saved = left_alone = 0
    for outcome in outcomes:
        if isinstance(outcome, LeftAlone):
            left_alone += outcome.count
            continue
        memories += len(outcome.part.records)
        summaries += 1
        tokens += outcome.part.tokens
        tokens_saved += outcome.part.tokens_saved
    return CompactionFigures(memories, summaries, tokens, tokens_saved, left_alone)
