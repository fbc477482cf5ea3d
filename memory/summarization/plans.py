"""What a summary of some memories would say, and whether it is worth it. Reads records, writes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from core.words import gettext as _
from memory.condensing import CondensedLine, condense
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

    @property
    def tokens(self) -> int:
        return count_tokens(self.records)

    @property
    def tokens_saved(self) -> int:
        return self.tokens - estimate_tokens(self.content)


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The summary of one owner's memories of one session; more than one part only where one content can't hold it."""

    owner: str
    session_id: str
    parts: tuple[SummaryPart, ...]


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
        return LeftAlone(owner, session_id, len(records), _("there is nothing to summarize it with"))
    # A prompt is told the same: of an extracted fact the bare content could be read as its opposite.
    texts = [describe_memory(record) for record in records]
    tokens = count_tokens(records)
    lines: list[CondensedLine] | None = None
    for form in LINE_FORMS:
        lines = _condense(texts, form, lines)
        plan = GroupPlan(owner, session_id, _write_parts(records, lines))
        characters = sum(len(part.content) for part in plan.parts)
        saved = tokens - sum(estimate_tokens(part.content) for part in plan.parts)
        if characters <= GOOD_CONTENT_CHARACTERS and saved >= GOOD_SAVING * tokens:
            return plan
    # The last and shortest will do if it is any shorter than what it stands for.
    if saved > 0 and characters < sum(len(record.content) for record in records):
        return plan
    told = _("they are so short that a summary would not be shorter")
    return LeftAlone(owner, session_id, len(records), told)


def _condense(texts: Sequence[str], form: LineForm, before: Sequence[CondensedLine] | None) -> list[CondensedLine]:
    """The lines in this form; `before` are those in a roomier one, most of which are short enough already."""
    bounds = {"max_sentences": form.max_sentences, "max_characters": form.max_characters}
    if before is None:
        return [condense(text, **bounds) for text in texts]
    return [line if line.fits(**bounds) else condense(text, **bounds) for text, line in zip(texts, before, strict=True)]


def _write_parts(records: Sequence[MemoryRecord], lines: Sequence[CondensedLine]) -> tuple[SummaryPart, ...]:
    chunks: list[list[tuple[MemoryRecord, str]]] = [[]]
    # Longer than any heading is.
    heading_characters = length = len(_write_heading(len(records), len(records), len(records)))
    for record, condensed in zip(records, lines, strict=True):
        line = f"[{record.type}] {condensed.text}"
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
