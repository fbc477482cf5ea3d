"""What a verb group after "I" claims: a liking, a decision, a habit, or nothing that is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import lexicon
from .choices import read_choice
from .facts import Category, Polarity, flip_polarity
from .phrases import find_phrase, index_phrases, match_words, skip_adverbs, word_at
from .tokens import Token
from .verb_groups import VerbGroup, read_verb_group, skip_aside


@dataclass(frozen=True)
class Claim:
    """`content_index` is the token where the content begins; `verb` is the base form that was found."""

    category: Category
    polarity: Polarity
    content_index: int
    verb: str
    is_future: bool = False


_MAX_WISH_TOKENS = 12
_FAN_WORDS = frozenset(
    "a an the big huge great massive real true total lifelong long-time longtime avid keen major such "
    "much of any particular particularly enormous proper".split()
)
# After "I am (not)": what follows these words is liked.
_FOND_PHRASES = index_phrases(
    (
        "keen on",
        "fond of",
        "into",
        "partial to",
        "crazy about",
        "mad about",
        "nuts about",
        "wild about",
        "big on",
        "hot on",
        "passionate about",
        "enamoured with",
        "enthusiastic about",
        "in love with",
    )
)
# "can't" + these words: liked after all, or not.
_DEAR_PHRASES = index_phrases(("get enough of", "live without", "do without", "be without", "resist"))
_UNBEARABLE_PHRASES = index_phrases(("deal with", "be bothered with"))


def read_claim(tokens: Sequence[Token], start: int) -> Claim | None:
    """Interpret the clause whose subject "I" stands just before `start`."""
    group = read_verb_group(tokens, start)
    if group is None or group.is_past_habit or group.is_hedged:
        return None
    preference = _read_preference(group, tokens)
    if preference is not None:
        return preference
    choice = read_choice(group, tokens)
    if choice is not None:
        return Claim("decision", choice.polarity, choice.content_index, choice.verb, group.is_future)
    return _read_ending(group, tokens) or _read_habit(group, tokens)


def _read_preference(group: VerbGroup, tokens: Sequence[Token]) -> Claim | None:
    if "would" in group.helpers:
        return _read_wish(group, tokens)
    if "be" in group.helpers or "been" in group.helpers:
        return _read_fondness(group, tokens)
    if "can" in group.helpers:
        return _read_endurance(group, tokens)
    if group.is_near_miss or group.is_future:
        return None
    verb = lexicon.PREFERENCE_FORMS.get(group.verb, group.verb)
    if verb == "care" and word_at(tokens, group.index + 1) == "for" and group.is_negated and group.is_plain:
        return Claim("preference", "negative", group.index + 2, verb)
    if verb == "try" and match_words(tokens, group.index, "try to avoid") and group.polarity == "positive":
        return Claim("preference", "negative", group.index + 3, "avoid")
    if verb not in lexicon.PREFERENCE_VERBS or not _is_standing(group):
        return None
    if verb == "avoid" and group.frequency == "positive":
        return None  # a habit: "I always avoid ..."
    return _weigh(group, tokens, verb)


def _is_standing(group: VerbGroup) -> bool:
    """True for "like", and for "liked" only with always/never: "I have always liked", "I never liked"."""
    if group.verb in lexicon.PREFERENCE_VERBS:
        return group.is_plain
    if group.verb.endswith("ing") or not set(group.helpers) <= {"have"}:
        return False
    return group.frequency_word in {"never", "always", "mostly"} or (
        group.helpers == ["have"] and group.verb in {"loved", "hated"}
    )


def _weigh(group: VerbGroup, tokens: Sequence[Token], verb: str) -> Claim | None:
    """Add up the verb's own sign, "not", "never" and "no longer". Two that cancel out claim nothing."""
    own: Polarity = "positive" if verb in lexicon.POSITIVE_VERBS else "negative"
    polarity = group.polarity
    if group.is_over:
        polarity = "negative" if polarity == "positive" else None
    if polarity is None or (polarity == "negative" and own == "negative"):
        return None  # "I don't hate it" is no liking
    if group.is_negated and group.frequency_word in lexicon.ABSOLUTE_FREQUENCY:
        return None  # "I don't always like ..."
    for phrase, width in (("not to", 1), ("to not", 2), ("to never", 2)):
        if match_words(tokens, group.index + 1, phrase):
            begin = group.index + 1 + width
            return Claim("preference", flip_polarity(own), begin, verb) if polarity == "positive" else None
    return Claim("preference", own if polarity == "positive" else "negative", group.index + 1, verb)


def _read_wish(group: VerbGroup, tokens: Sequence[Token]) -> Claim | None:
    """ "I would rather", "I would prefer". Would like, would love, would hate are requests and dreams."""
    if group.helpers != ["would"] or group.frequency or group.is_negated or group.is_near_miss:
        return None
    if group.verb not in {"rather", "sooner", "prefer"}:
        return None
    here = skip_adverbs(tokens, group.index + 1)
    if any(token.word == "if" for token in tokens[here : here + _MAX_WISH_TOKENS]):
        return None  # "I would prefer tea if I were you"
    if word_at(tokens, here) == "not":
        return Claim("preference", "negative", here + 1, group.verb)
    return Claim("preference", "positive", here, group.verb)


def _read_fondness(group: VerbGroup, tokens: Sequence[Token]) -> Claim | None:
    """ "am (not) a fan of", "am no longer into", "am loving"."""
    if group.helpers not in (["be"], ["have", "been"]) or group.is_near_miss or group.is_future:
        return None
    here = group.index
    polarity = group.polarity
    if polarity is None:
        return None
    if word_at(tokens, here) == "no":
        polarity, here = flip_polarity(polarity), here + 1
    if group.is_over:
        polarity = flip_polarity(polarity)
    fan = here
    while word_at(tokens, fan) in _FAN_WORDS and fan - here < 5:
        fan += 1
    if word_at(tokens, fan) in {"fan", "lover", "admirer"} and word_at(tokens, fan + 1) == "of":
        return Claim("preference", polarity, fan + 2, "fan")
    while word_at(tokens, here) in {"all", "that", "too"}:
        here += 1
    fond = find_phrase(_FOND_PHRASES, tokens, here)
    if fond:
        return Claim("preference", polarity, here + len(fond), " ".join(fond))
    if group.verb in {"loving", "enjoying", "hating"} and polarity == "positive":
        own: Polarity = "negative" if group.verb == "hating" else "positive"
        return Claim("preference", own, here + 1, group.verb)
    return None


def _read_endurance(group: VerbGroup, tokens: Sequence[Token]) -> Claim | None:
    """ "can't stand", "cannot bear", "can't get enough of"."""
    if group.helpers != ["can"] or (not group.is_negated and group.frequency != "negative"):
        return _read_ending(group, tokens) if group.is_over else None
    if group.verb in lexicon.ENDURE_VERBS:
        if word_at(tokens, group.index + 1) in {"up", "by", "in", "out"}:
            return None  # "can't stand by while ..."
        return Claim("preference", "negative", group.index + 1, group.verb)
    dear = find_phrase(_DEAR_PHRASES, tokens, group.index)
    if dear:
        return Claim("preference", "positive", group.index + len(dear), dear[0])
    unbearable = find_phrase(_UNBEARABLE_PHRASES, tokens, group.index)
    if unbearable:
        return Claim("preference", "negative", group.index + len(unbearable), unbearable[0])
    return None


def _read_ending(group: VerbGroup, tokens: Sequence[Token]) -> Claim | None:
    """ "no longer use", "don't use ... any more", "stopped using", "gave up"."""
    helpers = set(group.helpers)
    if group.is_near_miss or group.is_future or (group.is_negated and not group.is_plain):
        return None
    following = word_at(tokens, group.index + 1)
    if group.is_over and helpers <= {"do", "can", "be"} and group.verb not in lexicon.COGNITION_HABITS:
        return Claim("pattern", "negative", group.index, group.verb)
    if group.is_negated:
        if helpers == {"do"} and _says_any_more(tokens, group.index):
            return Claim("pattern", "negative", group.index, group.verb)
        return None
    if group.frequency or not helpers <= {"have", "be"}:
        return None
    if group.verb in lexicon.QUIT_FORMS and (following.endswith("ing") or group.verb.startswith("quit")):
        category: Category = "pattern" if following.endswith("ing") else "decision"
        return Claim(category, "negative", group.index + 1, "quit")
    if group.verb in {"gave", "given", "giving"} and following == "up":
        after = group.index + 2 + int(word_at(tokens, group.index + 2) == "on")
        return Claim("decision", "negative", after, "give up")
    return None


def _says_any_more(tokens: Sequence[Token], start: int) -> bool:
    """True when "anymore", "any more" or "any longer" ends the clause that begins at `start`."""
    for here in range(start, min(len(tokens), start + 16)):
        if not tokens[here].is_word:
            return False
        if tokens[here].word == "anymore" or (
            tokens[here].word == "any" and word_at(tokens, here + 1) in {"more", "longer"}
        ):
            return True
    return False


def _read_habit(group: VerbGroup, tokens: Sequence[Token]) -> Claim | None:
    """A verb with usually, never and their like, or "tend to"."""
    if group.is_near_miss or group.is_future or group.is_over or not _is_habitual(group):
        return None
    polarity, here = group.polarity, group.index
    if group.verb == "tend":
        here = skip_adverbs(tokens, here + 1)
        here += skip_aside(tokens, here) if here < len(tokens) else 0
        if word_at(tokens, here) == "not" and polarity is not None:
            polarity, here = flip_polarity(polarity), here + 1
        if word_at(tokens, here) != "to":
            return None
        return Claim("pattern", polarity, here + 1, "tend") if polarity else None
    if polarity is None or group.frequency is None or _is_past(group):
        return None
    if group.verb in lexicon.COGNITION_HABITS or group.verb in lexicon.AUXILIARIES - {"have", "do"}:
        return None
    if group.is_negated and group.frequency_word in lexicon.ABSOLUTE_FREQUENCY:
        here = group.frequency_index  # "I don't always lock up": what is denied is "always lock up"
    return Claim("pattern", polarity, here, "be" if group.helpers == ["be"] else group.verb)


def _is_habitual(group: VerbGroup) -> bool:
    """Present tense, "am always ...", or "have always ..."; what never happened so far is no habit."""
    if group.helpers == ["have"]:
        return group.frequency == "positive" and not group.is_negated
    return group.is_plain or group.helpers == ["be"]


def _is_past(group: VerbGroup) -> bool:
    if group.helpers in (["have"], ["be"]):
        return False
    regular = group.verb.endswith("ed") and group.verb not in lexicon.PRESENT_ED and len(group.verb) > 3
    return regular or group.verb in lexicon.PAST_FORMS


_FREQUENCY_PHRASES = index_phrases(lexicon.FREQUENCY_PHRASES)
_FRONTED_ADVERBS = lexicon.POSITIVE_FREQUENCY - {"always", "constantly", "mainly"}
_FRONTED_ENDS = _FRONTED_ADVERBS | {phrase.rpartition(" ")[2] for phrase in lexicon.FREQUENCY_PHRASES}
_FRONTED_WIDTHS = (2, 3, 4)


def read_fronted_habit(tokens: Sequence[Token], subject: int) -> Claim | None:
    """ "Usually I walk", "As a rule, I don't lend books": the adverb stands before "I" at `subject`."""
    before = subject - 1 - int(word_at(tokens, subject - 1) == ",")
    if word_at(tokens, before) not in _FRONTED_ENDS:
        return None
    is_fronted = word_at(tokens, before) in _FRONTED_ADVERBS or any(
        len(find_phrase(_FREQUENCY_PHRASES, tokens, before - width + 1)) == width for width in _FRONTED_WIDTHS
    )
    group = read_verb_group(tokens, subject + 1) if is_fronted else None
    if group is None or group.frequency is not None or not group.is_plain or _is_past(group):
        return None
    if group.is_over or group.is_future or group.is_past_habit or group.is_hedged or group.polarity is None:
        return None
    if group.verb in lexicon.COGNITION_HABITS | lexicon.AUXILIARIES - {"have", "do"}:
        return None
    return Claim("pattern", group.polarity, group.index, group.verb)
