"""Decisions: what "I" chose, or announces to use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import lexicon
from .facts import Polarity
from .phrases import find_phrase, index_phrases, match_words, skip_adverbs, word_at
from .tokens import Token
from .verb_groups import VerbGroup


@dataclass(frozen=True)
class Choice:
    """A decision for or against what begins at `content_index`."""

    polarity: Polarity
    content_index: int
    verb: str


# "I went with my sister": company, not choice.
_COMPANY = frozenset(
    "sister brother mother father mum mom dad wife husband partner girlfriend boyfriend friend friends "
    "son daughter kids children family parents cousin aunt uncle grandmother grandfather grandma "
    "grandpa colleague colleagues coworkers team class boss neighbour neighbor roommate him her them "
    "you someone somebody everyone people flow classmates dog group".split()
)
_COMPANY_DETERMINERS = lexicon.DETERMINERS | frozenset("some two three few old best good".split())
# "I'll use this opportunity to ...": a manner of speaking.
_MOMENTS = frozenset("opportunity chance occasion moment time break bathroom toilet restroom loo phrase word".split())
_DECIDED_THAT = frozenset("that i we to will would should shall am are not going be won't it's".split())
_AGAINST_PHRASES = index_phrases(("not to", "to not", "to never", "never to", "against", "on not"))
_FOR_PHRASES = index_phrases(("to", "on", "upon", "in favour of", "in favor of", "for"))
_TIME_WORDS = frozenset(
    "yesterday today tonight now recently finally instead last week month year night then just".split()
)


def read_choice(group: VerbGroup, tokens: Sequence[Token]) -> Choice | None:
    """Return the decision a verb group tells of, or None."""
    if group.is_near_miss or group.is_past_habit or group.is_over:
        return None
    if group.is_future:
        return _read_intention(group, tokens)
    verb = lexicon.CHOICE_FORMS.get(group.verb, group.verb)
    if verb == "make" or group.verb == "made":
        return _read_made_up_mind(group, tokens)
    if verb not in lexicon.CHOICE_BASES or not _is_done(group, verb):
        return None
    if verb == "decide":
        return _read_decided(group, tokens)
    if group.is_negated and group.helpers not in (["did"], ["be"]):
        return None  # "I have not chosen yet"
    return _read_object(tokens, group.index, verb, "negative" if group.is_negated else "positive")


def _is_done(group: VerbGroup, verb: str) -> bool:
    """A choice made: chose, have chosen, did not choose, am going with, and "I choose" itself."""
    if group.frequency is not None:
        return False
    if group.helpers == ["be"]:
        return group.verb.endswith("ing") and verb != "decide"
    if group.helpers in ([], ["do"]):
        is_base = group.verb == verb
        return not group.verb.endswith("ing") and (not is_base or verb in {"choose", "pick", "select", "opt"})
    return group.helpers in (["have"], ["did"], ["had"]) and not group.verb.endswith("ing")


def _read_intention(group: VerbGroup, tokens: Sequence[Token]) -> Choice | None:
    """ "will use", "am not going to use", "will be going with", "will never use ... again"."""
    if not set(group.helpers) <= {"be"}:
        return None
    verb = {"using": "use", "adopting": "adopt"}.get(group.verb) or lexicon.CHOICE_FORMS.get(group.verb, group.verb)
    if group.polarity is None:
        return None
    if verb in {"stop", "quit"} and word_at(tokens, group.index + 1).endswith("ing") and group.polarity == "positive":
        return Choice("negative", group.index + 1, verb)
    if verb not in lexicon.INTENDED_BASES:
        return None
    return _read_object(tokens, group.index, verb, group.polarity)


def _read_object(tokens: Sequence[Token], index: int, verb: str, polarity: Polarity) -> Choice | None:
    """Step over the particle a verb needs, and refuse what only looks like a choice."""
    here = skip_adverbs(tokens, index + 1) if verb not in {"use", "adopt"} else index + 1
    following = word_at(tokens, here)
    required = lexicon.REQUIRED_PARTICLES.get(verb)
    if required is not None:
        if following not in required:
            return None
        if following == "from":
            return Choice("negative", here + 1, verb)
        if following in {"over", "back"}:
            here += 1
            if word_at(tokens, here) != "to":
                return None
        elif following in {"not", "against"}:
            polarity = "negative" if polarity == "positive" else "positive"
            here += 1 if word_at(tokens, here + 1) == "to" else 0
        here += 1
    elif following in lexicon.FOREIGN_PARTICLES:
        return None
    elif following == "not" and word_at(tokens, here + 1) == "to":
        polarity, here = ("negative" if polarity == "positive" else "positive"), here + 2
    elif following == "to" or (following == "out" and verb == "pick"):
        here += 1
    if (verb == "go" and _names_company(tokens, here)) or (verb == "use" and _names_moment(tokens, here)):
        return None
    return (
        None
        if word_at(tokens, here) in {"either", "between", "whichever", "whatever"}
        else Choice(polarity, here, verb)
    )


def _names_company(tokens: Sequence[Token], here: int) -> bool:
    for offset in range(4):
        word = word_at(tokens, here + offset)
        if word in _COMPANY:
            return True
        if word not in _COMPANY_DETERMINERS:
            return False
    return False


def _names_moment(tokens: Sequence[Token], here: int) -> bool:
    return word_at(tokens, here) in {"this", "the", "that", "your", "every"} and word_at(tokens, here + 1) in _MOMENTS


def _read_decided(group: VerbGroup, tokens: Sequence[Token]) -> Choice | None:
    """decided to / not to / against / on / in favour of / that I (won't) ..."""
    if group.is_negated:
        return None
    here = group.index + 1
    while here < len(tokens) and (word_at(tokens, here) in _TIME_WORDS or skip_adverbs(tokens, here) > here):
        here += 1
    against = find_phrase(_AGAINST_PHRASES, tokens, here)
    if against:
        return Choice("negative", here + len(against), "decide")
    towards = find_phrase(_FOR_PHRASES, tokens, here)
    if towards:
        return Choice("positive", here + len(towards), "decide")
    if word_at(tokens, here) in {"that", "i", "we"}:
        return _read_decided_that(tokens, here)
    is_open = word_at(tokens, here) in lexicon.INTERROGATIVES or word_at(tokens, here) in {
        "if",
        "whether",
        "between",
    }
    return None if is_open else Choice("positive", here, "decide")


def _read_decided_that(tokens: Sequence[Token], here: int) -> Choice | None:
    """Step over "that I will", "I'm not going to": the content is what will be done."""
    polarity: Polarity = "positive"
    while word_at(tokens, here) in _DECIDED_THAT:
        polarity = "negative" if word_at(tokens, here) == "not" else polarity
        here += 1
    return Choice(polarity, here, "decide") if here < len(tokens) else None


def _read_made_up_mind(group: VerbGroup, tokens: Sequence[Token]) -> Choice | None:
    if not match_words(tokens, group.index + 1, "up my mind") or group.is_negated or group.frequency:
        return None
    here = group.index + 4
    if match_words(tokens, here, "not to"):
        return Choice("negative", here + 2, "decide")
    return Choice("positive", here + 1, "decide") if word_at(tokens, here) == "to" else None
