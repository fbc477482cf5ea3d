"""How a fact is told to a model: one line that can't be misread."""

from __future__ import annotations

from .facts import Category, Polarity

# The colon keeps any content readable: a noun, a gerund, a clause or a bare verb phrase may follow it.
_OPENINGS: dict[tuple[Category, Polarity], str] = {
    ("preference", "positive"): "The user likes or prefers",
    ("preference", "negative"): "The user does not like",
    ("decision", "positive"): "The user decided on",
    ("decision", "negative"): "The user decided against",
    ("pattern", "positive"): "The user has this habit",
    ("pattern", "negative"): "The user does not do this, or hardly ever",
}
_ASSISTANT_SOURCE = "llm_response"
_ASSISTANT_SUFFIX = " (noted from an assistant reply)"


def describe_fact(category: Category, polarity: Polarity, content: str, source: str) -> str:
    """Return one line of plain English that holds `content` verbatim and states the polarity.

    Line breaks in the content are folded to spaces, so that one fact never looks like two.
    """
    suffix = _ASSISTANT_SUFFIX if source == _ASSISTANT_SOURCE else ""
    return f"{_OPENINGS[(category, polarity)]}: {' '.join(content.split())}{suffix}"
