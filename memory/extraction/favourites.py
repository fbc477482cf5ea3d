""" "My favourite X is Y" and "Y is my favourite X"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from . import lexicon
from .facts import Polarity, flip_polarity
from .phrases import skip_adverbs, word_at
from .tokens import Token

_FAVOURITE = frozenset("favorite favourite favorites favourites fave faves favs fav".split())
_COPULAS = frozenset(["is", "are", "remains"])
_QUALIFIERS = frozenset(
    "absolute all-time personal current new least second own big biggest other only top very single old one".split()
)
_MAX_HEAD_TOKENS = 10
_MAX_FRONT_TOKENS = 7

# People of whom one says news rather than names: "my favourite aunt is moving".
_PEOPLE = frozenset(
    "aunt uncle cousin niece nephew grandma grandpa grandmother grandfather brother sister son daughter "
    "child kid customer client colleague coworker co-worker neighbour neighbor boss friend student "
    "pupil patient guest nurse waiter barista teacher professor tutor trainer coach doctor dentist "
    "barber hairdresser person human relative sibling".split()
)
_ACTIVITIES = frozenset(
    "hobby hobbies pastime pastimes activity activities sport sports exercise exercises thing things "
    "part parts way ways chore chores task job game workout subject time pleasure bit sound memory "
    "feeling step".split()
)
# What follows an adjective that stands alone.
_AFTER_STATE = lexicon.STATE_WORDS | frozenset(
    "and but again today tonight tomorrow to since until after before when nowadays lately enough".split()
)
_ING_NOUNS = frozenset(
    "pudding ring spring king wedding evening morning string building painting ceiling beijing sting "
    "wing thing clothing icing dressing stuffing dumpling duckling herring nursing boeing viking "
    "sterling darling".split()
)


@dataclass(frozen=True)
class Favourite:
    """The clause begins at `subject`, its content at `start`; it ends at `end` (None: find the border)."""

    subject: int
    polarity: Polarity
    start: int
    end: int | None
    head: tuple[str, ...]


def find_favourites(tokens: Sequence[Token]) -> Iterator[Favourite]:
    """Yield every favourite a sentence names, its content not yet judged."""
    for here, token in enumerate(tokens):
        if token.word not in _FAVOURITE or not tokens[here].is_word:
            continue
        first = here - 1
        while first >= 0 and tokens[first].word in _QUALIFIERS:
            first -= 1
        if word_at(tokens, first) not in {"my", "mine"}:
            continue
        polarity: Polarity = "negative" if "least" in {t.word for t in tokens[first:here]} else "positive"
        if word_at(tokens, first - 1) in _COPULAS:
            found = _read_front(tokens, first, here, polarity)
        else:
            found = _read_back(tokens, first, here, polarity)
        if found is not None:
            yield found


def names_thing(favourite: Favourite, words: Sequence[str], is_capitalised: bool) -> bool:
    """True when the content names what is preferred; "angry with me", "moving to Spain" name nothing."""
    if not words:
        return False
    head = set(favourite.head)
    if head & _PEOPLE:
        return is_capitalised and words[0] not in lexicon.DETERMINERS
    if words[0] in lexicon.STATE_ADJECTIVES and (len(words) == 1 or words[1] in _AFTER_STATE):
        return False
    if words[0] in lexicon.STATE_WORDS:
        return (words[0] in {"that", "this"} and len(words) > 1) or (
            bool(head & _ACTIVITIES) and words[0] in {"being", "having"}
        )
    if not head or head & _ACTIVITIES or is_capitalised:
        return True
    is_gerund = words[0].endswith("ing") and words[0] not in _ING_NOUNS and len(words[0]) > 4
    is_participle = words[0].endswith("ed") and len(words[0]) > 4 and len(words) != 2
    return not is_gerund and not is_participle


def _read_back(tokens: Sequence[Token], first: int, here: int, polarity: Polarity) -> Favourite | None:
    """my favourite (X) is (not) Y"""
    copula = here + 1
    while (
        copula < len(tokens)
        and not _is_short_copula(tokens, copula)
        and tokens[copula].word not in _COPULAS
        and word_at(tokens, copula) not in {"has", "have"}
    ):
        if (
            not tokens[copula].is_word
            or copula - here > _MAX_HEAD_TOKENS
            or tokens[copula].word in {"was", "were", "and", "but"}
        ):
            return None
        copula += 1
    if copula >= len(tokens):
        return None
    start = copula + 1
    if tokens[copula].word in {"has", "have"}:
        start = skip_adverbs(tokens, start)
        while word_at(tokens, start) in {"always", "long"}:
            start += 1
        if word_at(tokens, start) != "been":
            return None
        start += 1
    start = skip_adverbs(tokens, start) if word_at(tokens, start) not in {"very", "so", "too", "quite"} else start
    while word_at(tokens, start) in {"definitely", "always", "probably", "usually", "not", ":"}:
        polarity = flip_polarity(polarity) if tokens[start].word == "not" else polarity
        start += 1
    head = tuple(token.word for token in tokens[here + 1 : copula])
    return Favourite(first, polarity, start, None, _cut_head(head))


def _is_short_copula(tokens: Sequence[Token], here: int) -> bool:
    """ "my favourite cake's the plum one"; "my favourite cake's icing" is no copula."""
    return tokens[here].word.endswith("'s") and word_at(tokens, here + 1) in lexicon.DETERMINERS


def _cut_head(head: tuple[str, ...]) -> tuple[str, ...]:
    """Only the noun phrase: "place to work", "thing about Oslo" are a place and a thing."""
    for index, word in enumerate(head):
        if word in {
            "of",
            "for",
            "about",
            "to",
            "in",
            "on",
            "from",
            "so",
            "at",
            "these",
            "right",
            "when",
            "with",
        }:
            return head[:index]
    return head


def _read_front(tokens: Sequence[Token], first: int, here: int, polarity: Polarity) -> Favourite | None:
    """Y is my favourite (X)"""
    copula = first - 1
    begin = copula
    while begin > 0 and tokens[begin - 1].is_word and copula - begin < _MAX_FRONT_TOKENS:
        if tokens[begin - 1].word in lexicon.COORDINATORS - {"and", "&"}:
            break
        begin -= 1
    words = [token.word for token in tokens[begin:copula]]
    if not words or words[0] in lexicon.BARE_OBJECTS | lexicon.SUBJECT_PRONOUNS | lexicon.INTERROGATIVES:
        return None
    if set(words) & (lexicon.SPEECH_AND_THOUGHT | lexicon.INTERROGATIVES | {"if", "that", "whether", "not"}):
        return None
    return Favourite(begin, polarity, begin, copula, ())
