"""Small questions about a row of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .lexicon import is_adverb
from .tokens import Token

PhraseIndex = dict[str, tuple[tuple[str, ...], ...]]


def index_phrases(phrases: Iterable[str]) -> PhraseIndex:
    """Phrases by their first word, the longest first; looking one up then costs next to nothing."""
    index: dict[str, list[tuple[str, ...]]] = {}
    for phrase in phrases:
        words = tuple(phrase.split())
        index.setdefault(words[0], []).append(words)
    return {first: tuple(sorted(found, key=len, reverse=True)) for first, found in index.items()}


def find_phrase(index: PhraseIndex, tokens: Sequence[Token], start: int) -> tuple[str, ...]:
    """The words of the indexed phrase that stands at `start`; empty if none does."""
    if 0 <= start < len(tokens):
        for words in index.get(tokens[start].word, ()):
            if all(word_at(tokens, start + offset) == word for offset, word in enumerate(words)):
                return words
    return ()


def word_at(tokens: Sequence[Token], index: int) -> str:
    """The word at `index`, or "" outside the row."""
    return tokens[index].word if 0 <= index < len(tokens) else ""


def match_words(tokens: Sequence[Token], start: int, phrase: str) -> bool:
    """True when the words of `phrase` stand at `start`."""
    first, _, rest = phrase.partition(" ")
    if word_at(tokens, start) != first:
        return False
    return not rest or match_words(tokens, start + 1, rest)


def skip_adverbs(tokens: Sequence[Token], start: int) -> int:
    """The first place at or after `start` that holds no adverb."""
    while start < len(tokens) and is_adverb(tokens[start].word):
        start += 1
    return start


def join_words(tokens: Sequence[Token], start: int, end: int) -> str:
    """The words from `start` up to `end`, separated by spaces."""
    return " ".join(token.word for token in tokens[max(0, start) : end])


_BORDER_MARKS = frozenset(", : - – — ( … [ -- ;".split())
_BORDER_WORDS = frozenset("and but or so yet plus then because cause although though while whereas nor".split())


def is_border(token: Token) -> bool:
    """True for a word or a mark that separates clauses."""
    return token.word in _BORDER_WORDS if token.is_word else token.word[0] in _BORDER_MARKS
