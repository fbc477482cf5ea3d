"""How long a text is for a model, guessed without its tokenizer, and how to shorten or bundle texts. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

# Guesses on the careful side: English has four characters a token and more, code and digits about three, scripts
# without spaces one or more tokens a character, rare symbols and emoji several.
ASCII_COST: Final = 0.3
WIDE_COST: Final = 1.0
ASTRAL_COST: Final = 3.0

MAX_QUERY_CHARACTERS: Final = 8_000


def estimate_tokens(text: str) -> float:
    """Return about how many tokens `text` is, rather too many than too few."""
    if text.isascii():
        return len(text) * ASCII_COST
    return sum(map(_cost, text))


def cut_to_tokens(text: str, max_tokens: float) -> str:
    """Return the beginning of `text` that is estimated to have at most `max_tokens`, one character at least."""
    left = max_tokens
    for position, character in enumerate(text):
        left -= _cost(character)
        if left < 0:
            return text[: max(position, 1)]
    return text


def bound_query(text: str) -> str:
    """Return `text`, or of a longer one its beginning and its end with at most 8,000 characters in all.

    People put the question before or after what they paste.
    """
    if len(text) <= MAX_QUERY_CHARACTERS:
        return text
    half = (MAX_QUERY_CHARACTERS - 1) // 2
    return f"{text[:half]}\n{text[-half:]}"


def make_sendable(text: str) -> str:
    """Return `text` as valid UTF-8 can hold it, outer blanks dropped."""
    return text.encode("utf-8", "replace").decode().strip()


def split_batches(texts: Sequence[str], max_batch: int, max_tokens: float) -> Iterator[range]:
    """Yield ranges of positions that cover `texts` in order; a text above `max_tokens` gets a range of its own."""
    start, tokens = 0, 0.0
    for position, text in enumerate(texts):
        cost = estimate_tokens(text)
        if position > start and (position - start >= max_batch or tokens + cost > max_tokens):
            yield range(start, position)
            start, tokens = position, 0.0
        tokens += cost
    if start < len(texts):
        yield range(start, len(texts))


def _cost(character: str) -> float:
    if character < "\x80":
        return ASCII_COST
    return WIDE_COST if character <= "\uffff" else ASTRAL_COST
