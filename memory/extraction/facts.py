"""What comes out of a text: facts, and the words used to speak about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["user", "assistant"]
Category = Literal["preference", "decision", "pattern"]
Polarity = Literal["positive", "negative"]
MemoryType = Literal["factual", "episodic"]

MAX_CONTENT_CHARS = 500
MIN_CONTENT_CHARS = 3


@dataclass(frozen=True)
class Fact:
    """One thing a speaker said about themselves.

    `content` is the captured clause ("Python"), `statement` the whole clause as it was said ("I don't like
    Python"), `key` names what the fact is about. The key leaves polarity out: a later opposite opinion about
    the same thing replaces the earlier one.
    """

    category: Category
    polarity: Polarity
    content: str
    key: str
    statement: str

    @property
    def memory_type(self) -> MemoryType:
        """A decision is something that happened; likings and habits are standing facts."""
        return "episodic" if self.category == "decision" else "factual"


def flip_polarity(polarity: Polarity) -> Polarity:
    """Turn positive into negative and back."""
    return "negative" if polarity == "positive" else "positive"
