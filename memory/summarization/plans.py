"""What a summary of some memories would say, and whether it is worth it. Reads records, writes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memory.condensing import condense_line
from memory.records import MemoryRecord
from memory.retrieval import describe_memory
from memory.search.ranking import estimate_tokens

# A memory's content may be this long; a summary that would be longer becomes several.
MAX_CONTENT_CHARACTERS: Final = 100_000
# What fits into a prompt by default. Lines get shorter before a summary gets longer than this.
GOOD_CONTENT_CHARACTERS: Final = 8_000
# A summary that saves this share of the tokens is short enough.
GOOD_SAVING: Final = 1 / 3
MIN_CANDIDATES: Final = 2
SUMMARY_FLAG: Final = "summary"


@dataclass(frozen=True, slots=True)
class LineForm:
    """How much of a memory its line may keep."""

    max_sentences: int
    max_characters: int


# From the most to the least that is kept.
LINE_FORMS: Final = (LineForm(3, 240), LineForm(2, 160), LineForm(1, 120), LineForm(1, 60))


@dataclass(frozen=True, slots=True)
class SummaryPart:
    """One summary: its content, and the memories it stands for in the order of its lines."""

    records: tuple[MemoryRecord, ...]
    content: str


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The summary of one owner's memories of one session; more than one part only where one content can't hold it."""

    owner: str
    session_id: str
    parts: tuple[SummaryPart, ...]

    @property
    def records(self) -> list[MemoryRecord]:
        return [record for part in self.parts for record in part.records]

    @property
    def tokens_saved(self) -> int:
        return count_tokens(self.records) - sum(estimate_tokens(part.content) for part in self.parts)


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """A group that stays as it is; `reason` says why, in words."""

    owner: str
    session_id: str
    count: int
    reason: str


def is_summary(record: MemoryRecord) -> bool:
    """Whether compaction made it."""
    return record.metadata.get(SUMMARY_FLAG) is True


def count_tokens(records: Sequence[MemoryRecord]) -> int:
    return sum(estimate_tokens(record.content) for record in records)


def plan_group(owner: str, session_id: str, records: Sequence[MemoryRecord]) -> GroupPlan | LeftAlone:
    """Plan the summary of these memories, with as much of each as still saves a good share of their tokens."""
    if len(records) < MIN_CANDIDATES:
        return LeftAlone(owner, session_id, len(records), "there is nothing to summarize it with")
    for form in LINE_FORMS:
        plan = GroupPlan(owner, session_id, _write_parts(records, form))
        if _is_good(plan):
            return plan
    # The last and shortest will do if it is any shorter than what it stands for.
    if plan.tokens_saved > 0 and _count_characters(plan) < sum(len(record.content) for record in records):
        return plan
    return LeftAlone(owner, session_id, len(records), "they are so short that a summary would not be shorter")


def _is_good(plan: GroupPlan) -> bool:
    is_short = _count_characters(plan) <= GOOD_CONTENT_CHARACTERS
    return is_short and plan.tokens_saved >= GOOD_SAVING * count_tokens(plan.records)


def _count_characters(plan: GroupPlan) -> int:
    return sum(len(part.content) for part in plan.parts)


def _write_parts(records: Sequence[MemoryRecord], form: LineForm) -> tuple[SummaryPart, ...]:
    chunks: list[list[tuple[MemoryRecord, str]]] = [[]]
    # Longer than any heading is.
    heading_characters = length = len(_write_heading(len(records), len(records), len(records)))
    for record in records:
        line = _write_line(record, form)
        if length + 1 + len(line) > MAX_CONTENT_CHARACTERS:
            chunks.append([])
            length = heading_characters
        chunks[-1].append((record, line))
        length += 1 + len(line)
    parts = []
    for number, chunk in enumerate(chunks, start=1):
        heading = _write_heading(len(chunk), number, len(chunks))
        content = "\n".join([heading, *(line for _, line in chunk)])
        parts.append(SummaryPart(tuple(record for record, _ in chunk), content))
    return tuple(parts)


def _write_heading(count: int, number: int, parts: int) -> str:
    part = f" (part {number} of {parts})" if parts > 1 else ""
    return f"Summary of {count} memories{part}:"


def _write_line(record: MemoryRecord, form: LineForm) -> str:
    """The memory as a prompt is told it: of an extracted fact the bare content could be read as its opposite."""
    told = describe_memory(record)
    line = condense_line(told, max_sentences=form.max_sentences, max_characters=form.max_characters)
    return f"[{record.type}] {line}"
