"""The verb of a clause with everything that stands around it: helpers, adverbs, negation, frequency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from . import lexicon
from .facts import Polarity
from .phrases import find_phrase, index_phrases, word_at
from .tokens import Token

_MAX_GROUP_TOKENS = 14
_MAX_ASIDE_TOKENS = 6
_ADVERB_PHRASES = index_phrases(lexicon.ADVERB_PHRASES)
_FREQUENCY_PHRASES = index_phrases(lexicon.FREQUENCY_PHRASES)


@dataclass
class VerbGroup:
    """ "really do not usually like": verb "like", helper "do", negated, frequency "positive"."""

    verb: str = ""
    index: int = -1
    helpers: list[str] = field(default_factory=list)
    is_negated: bool = False
    frequency: Polarity | None = None
    frequency_word: str = ""
    frequency_index: int = -1
    is_hedged: bool = False
    is_near_miss: bool = False
    is_over: bool = False  # "no longer"
    is_past_habit: bool = False  # "used to"
    is_future: bool = False  # "will", "am going to"

    @property
    def is_plain(self) -> bool:
        """No helper but an emphatic or negating "do"."""
        return all(helper == "do" for helper in self.helpers)

    @property
    def polarity(self) -> Polarity | None:
        """The sum of "not" and "never"; None when they cancel each other."""
        if self.is_negated and self.frequency == "negative":
            return None
        return "negative" if self.is_negated or self.frequency == "negative" else "positive"


def read_verb_group(tokens: Sequence[Token], start: int) -> VerbGroup | None:
    """Read the group that begins at `start` (right after the subject); None if no verb follows."""
    group = VerbGroup()
    here = start
    stop = min(len(tokens), start + _MAX_GROUP_TOKENS)
    while here < stop:
        width = skip_aside(tokens, here) or _read_adverb(group, tokens, here) or _read_helper(group, tokens, here)
        if not width:
            break
        here += width
    if here >= len(tokens) or not tokens[here].is_word or tokens[here].word in lexicon.SUBJECT_PRONOUNS:
        return None
    group.verb, group.index = tokens[here].word, here
    return group


def skip_aside(tokens: Sequence[Token], here: int) -> int:
    """Width of ", for one," or "- honestly -": up to a few words between a pair of marks."""
    mark = tokens[here]
    if mark.is_word or mark.word not in {",", "—", "–", "-", "…", "("}:
        return 0
    closing = ")" if mark.word == "(" else mark.word
    for width in range(1, _MAX_ASIDE_TOKENS + 1):
        if here + width >= len(tokens):
            return 0
        token = tokens[here + width]
        if token.word == "i":
            return 0
        if not token.is_word:
            return width + 1 if token.word == closing and width > 1 else 0
    return 0


def _read_adverb(group: VerbGroup, tokens: Sequence[Token], here: int) -> int:
    """Take note of one adverb or negator and return its width, 0 if there is none."""
    word, following = tokens[here].word, word_at(tokens, here + 1)
    if word == "," and (lexicon.is_adverb(following) or _is_frequency(following)):
        return 1  # "really, really"
    if word == "rather" and "would" not in group.helpers:
        return 1
    phrase_width = len(find_phrase(_FREQUENCY_PHRASES, tokens, here))
    if phrase_width:
        group.frequency, group.frequency_word, group.frequency_index = "positive", "usually", here
        return phrase_width
    if word == "no" and following in {"longer", "more"}:
        group.is_over = True
        return 2
    if word == "not":
        if following in {"only", "just", "merely", "simply"}:
            return 2  # "I don't just like it": more, not less
        group.is_negated = not group.is_negated
        return 1
    if word in lexicon.POSITIVE_FREQUENCY or word in lexicon.NEGATIVE_FREQUENCY:
        return _note_frequency(group, word, here)
    if word in lexicon.HEDGES:
        group.is_hedged = True
        return 1
    if word in lexicon.NEAR_MISSES:
        group.is_near_miss = True
        return 1
    return len(find_phrase(_ADVERB_PHRASES, tokens, here)) or int(lexicon.is_adverb(word))


def _note_frequency(group: VerbGroup, word: str, here: int) -> int:
    group.is_near_miss = False  # "almost always" is a habit
    if group.frequency is None or word in lexicon.NEGATIVE_FREQUENCY:
        group.frequency = "negative" if word in lexicon.NEGATIVE_FREQUENCY else "positive"
        group.frequency_word, group.frequency_index = word, here
    return 1


def _read_helper(group: VerbGroup, tokens: Sequence[Token], here: int) -> int:
    """Take note of one auxiliary and return its width, 0 if the word at `here` is the main verb."""
    word, following = tokens[here].word, word_at(tokens, here + 1)
    if word == "used" and following == "to" and "be" not in group.helpers:
        group.is_past_habit = True
        return 2
    if word == "going" and following == "to" and "be" in group.helpers:
        if not _is_verb_like(word_at(tokens, here + 2)):
            return 0
        group.is_future = True
        return 2
    if word in lexicon.WILL:
        group.is_future = True
        return 1
    kind = _name_helper(word)
    if kind is None or not _helps(kind, tokens, here + 1):
        return 0
    group.helpers.append(kind)
    return 1


def _name_helper(word: str) -> str | None:
    if word == "do":
        return "do"
    if word in lexicon.DO or word in lexicon.MODALS:
        return word
    if word in {"have", "had"}:
        return word
    return {"am": "be", "was": "was", "be": "be", "been": "been"}.get(word)


def _helps(kind: str, tokens: Sequence[Token], here: int) -> bool:
    """True unless "do", "have" or a form of "be" is itself the main verb: "I always do yoga"."""
    while here < len(tokens) and (lexicon.is_adverb(tokens[here].word) or _is_frequency(tokens[here].word)):
        here += 1
    word = word_at(tokens, here)
    if kind == "do":
        return word == "not" or word in lexicon.PREFERENCE_VERBS or word in {"tend", "use", "choose", "pick"}
    if kind in {"have", "had"}:
        return word == "not" or word in lexicon.PARTICIPLES or (word.endswith("ed") and len(word) > 4)
    return True


def _is_frequency(word: str) -> bool:
    return word in lexicon.POSITIVE_FREQUENCY or word in lexicon.NEGATIVE_FREQUENCY


def _is_verb_like(word: str) -> bool:
    """After "going to": a verb, not a place ("going to the", "going to my")."""
    return word.isalpha() and word not in lexicon.DETERMINERS
