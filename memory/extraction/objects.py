"""What exactly is liked, chosen or done: lists that carry their own negation, contrasts, relative clauses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from . import lexicon
from .claims import Claim
from .contents import find_extent
from .facts import Polarity, flip_polarity
from .phrases import find_phrase, index_phrases, match_words, word_at
from .tokens import Token
from .verb_groups import skip_aside


@dataclass(frozen=True)
class Object:
    """One content of a claim: the tokens `start` to `end`, and its own polarity."""

    polarity: Polarity
    start: int
    end: int


_MOST = frozenset("most best more better the so much really least about all".split())
_ANNOUNCERS = frozenset("the following this these two three four several some things thing one only simple".split())
_NAMING = frozenset(["what", "thing", "things"])
_COMPARISONS = index_phrases(
    ("more than", "better than", "so much as", "as much as", "quite like", "but", "except", "like")
)
_BEYOND = index_phrases(("more than", "better than", "as much as"))


def resolve_objects(tokens: Sequence[Token], subject: int, claim: Claim, quoted: Sequence[bool]) -> list[Object]:
    """Return the contents of a claim in order; none if it turns out to claim nothing of its own."""
    start, polarity = claim.content_index, claim.polarity
    if claim.category == "preference":
        relative = find_named_thing(tokens, subject, claim)
        if relative is not None:
            start = relative
            polarity = flip_polarity(polarity) if _says_least(tokens, claim.content_index, start) else polarity
    start = _skip_opening(tokens, start)
    first = word_at(tokens, start)
    if claim.verb == "switch" and polarity == "negative":
        return list(_split_switch(tokens, start, quoted))
    if first == "neither":
        return list(_split_neither(tokens, start, polarity, quoted))
    if first == "not" and word_at(tokens, start + 1) in {"only", "just"}:
        return list(_split_not_only(tokens, start, polarity, quoted))
    if first in {"nothing", "no", "none", "few"} and claim.category == "preference":
        return list(_read_nothing(tokens, start, polarity, quoted))
    if first in {"anything", "everything"} and word_at(tokens, start + 1) in {"but", "except"}:
        return []
    return list(_with_contrast(tokens, start, polarity, quoted))


def _skip_opening(tokens: Sequence[Token], start: int) -> int:
    """Step over what only announces the object: "prefer: ", "love two things: ", "prefer, honestly, "."""
    here = start
    while word_at(tokens, here) in _ANNOUNCERS:
        here += 1
    if word_at(tokens, here) == ":" and here + 1 < len(tokens):
        return here + 1
    return start + (skip_aside(tokens, start) if start < len(tokens) else 0)


def _split_switch(tokens: Sequence[Token], start: int, quoted: Sequence[bool]) -> Iterator[Object]:
    """ "from Chrome to Firefox": away from the one, to the other."""
    end = find_extent(tokens, start, quoted).end
    middle = next((here for here in range(start, end) if tokens[here].word == "to"), end)
    yield Object("negative", start, middle)
    yield Object("positive", middle + 1, end)


def _with_contrast(tokens: Sequence[Token], start: int, polarity: Polarity, quoted: Sequence[bool]) -> Iterator[Object]:
    extent = find_extent(tokens, start, quoted)
    if match_words(tokens, extent.end - 3, "not at all"):  # "I like cilantro not at all"
        yield Object(flip_polarity(polarity), extent.start, extent.end - 3)
        return
    yield Object(polarity, extent.start, extent.end)
    if extent.contrast is not None:
        other = find_extent(tokens, extent.contrast, quoted)
        yield Object(flip_polarity(polarity), other.start, other.end)


def _split_neither(tokens: Sequence[Token], start: int, polarity: Polarity, quoted: Sequence[bool]) -> Iterator[Object]:
    """ "neither beer nor wine": both turned down."""
    if polarity == "negative":
        return
    begin = start + 1 + int(word_at(tokens, start + 1) == "of")
    end = find_extent(tokens, begin, quoted).end
    for here in range(begin, end):
        if tokens[here].word == "nor":
            yield Object("negative", begin, here)
            begin = here + 1
    yield Object("negative", begin, end)


def _split_not_only(
    tokens: Sequence[Token], start: int, polarity: Polarity, quoted: Sequence[bool]
) -> Iterator[Object]:
    """ "not only chess but also poker": both meant."""
    extent = find_extent(tokens, start + 2, quoted)
    yield Object(polarity, extent.start, extent.end)
    here = extent.end + int(word_at(tokens, extent.end) == ",")
    if word_at(tokens, here) == "but":
        here += 1 + int(word_at(tokens, here + 1) in {"also", "even"})
        yield Object(polarity, here, find_extent(tokens, here, quoted).end)


def _read_nothing(tokens: Sequence[Token], start: int, polarity: Polarity, quoted: Sequence[bool]) -> Iterator[Object]:
    """ "nothing better than a nap" keeps the polarity; "none of these", "no cheese" turn it."""
    for offset in (1, 2):
        compared = find_phrase(_COMPARISONS, tokens, start + offset)
        if compared and word_at(tokens, start) != "none":
            begin = start + offset + len(compared)
            yield Object(polarity, begin, find_extent(tokens, begin, quoted).end)
            return
    if polarity == "negative":
        return
    if word_at(tokens, start) == "no" or match_words(tokens, start, "none of"):
        begin = start + (1 if word_at(tokens, start) == "no" else 2)
        yield Object("negative", begin, find_extent(tokens, begin, quoted).end)


def find_named_thing(tokens: Sequence[Token], subject: int, claim: Claim) -> int | None:
    """Where the thing is named: "what I like about Oslo is the light", "nothing I like more than bread"."""
    if claim.category != "preference":
        return None
    before, start = word_at(tokens, subject - 1), claim.content_index
    if before == "nothing":
        beyond = find_phrase(_BEYOND, tokens, start)
        return start + len(beyond) if beyond else None
    ranked = word_at(tokens, start) in {"most", "best", "least", "more"}
    if not ranked and not (before in _NAMING or (claim.verb == "prefer" and _is_noun(tokens, subject - 1))):
        return None
    if not before or before in lexicon.COORDINATORS:
        return None
    for here in range(start, min(len(tokens), start + 8)):
        if not tokens[here].is_word or (
            here > start + 1 + int(ranked) and word_at(tokens, start + int(ranked)) in {"is", "are"}
        ):
            return None
        if tokens[here].word in {"is", "are"}:
            is_state = not ranked and word_at(tokens, here + 1) in (lexicon.STATE_ADJECTIVES | lexicon.STATE_WORDS) - {
                "that",
                "how",
            }
            return None if is_state else here + 1
        if here == start and tokens[here].word not in _MOST | {"about", "in"}:
            return None
    return None


def _is_noun(tokens: Sequence[Token], index: int) -> bool:
    """A word that the relative clause can belong to: "the editor (I prefer)"."""
    return (
        index >= 1 and tokens[index].is_word and word_at(tokens, index) not in lexicon.INTERROGATIVES | {"that", "if"}
    )


def _says_least(tokens: Sequence[Token], start: int, end: int) -> bool:
    return any(token.word == "least" for token in tokens[start:end])
