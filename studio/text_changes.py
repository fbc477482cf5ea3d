"""What became of a text, word by word."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

# Comparing takes the square of the length in the worst case, and nobody reads the difference of two novels.
MAX_CHARACTERS: Final = 2000
WORDS: Final = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one of two texts; `is_changed` where the other one does not have it."""

    text: str
    is_changed: bool


@dataclass(frozen=True, slots=True)
class TextChange:
    """Two texts in pieces; the pieces of each, put together, are the text, cut to MAX_CHARACTERS."""

    before: Sequence[Piece]
    after: Sequence[Piece]


def compare_texts(before: str, after: str) -> TextChange:
    """Find what was taken out of the first text and what was put into the second."""
    old, new = _split(before), _split(after)
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return TextChange(
        before=list(_join((old[start:end], kind) for kind, start, end, _, _ in steps)),
        after=list(_join((new[start:end], kind) for kind, _, _, start, end in steps)),
    )


def _split(text: str) -> list[str]:
    shown = text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"
    return WORDS.findall(shown)


def _join(steps: Iterator[tuple[list[str], str]]) -> Iterator[Piece]:
    return (Piece("".join(words), kind != "equal") for words, kind in steps if words)
