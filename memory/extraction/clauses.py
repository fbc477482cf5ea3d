"""Where a further clause begins, and whose it is."""

from __future__ import annotations

from collections.abc import Sequence

from . import lexicon
from .claims import Claim, read_claim
from .phrases import word_at
from .tokens import Token
from .verb_groups import read_verb_group

_MAX_CLAUSE_LOOKAHEAD = 6
_MAX_SHARED_TOKENS = 60
CLAUSE_PRONOUNS = frozenset("i he she we they you it there this that everyone everybody nobody who".split())
ASKING = frozenset("please what how why where which let thanks thank any btw lol sorry cheers".split())
_PHRASE_OPENERS = frozenset("that who which when to where and or".split())
_ADVERBS_BEFORE_VERB = lexicon.POSITIVE_FREQUENCY | {"never", "rarely"}
_AFTER_NOUN = frozenset("and or nor but in at on from of with for to who that too as is's".split())
_AFTER_PREPOSITION = (
    lexicon.BARE_OBJECTS | lexicon.SUBJECT_PRONOUNS | lexicon.POSSESSIVES | frozenset("many most every some".split())
)
# "love stories", "hate mail": nouns.
_AFTER_NOUN_LOVE = frozenset("stories songs letters story song affairs mail speech poems".split())
_BINDING_MODALS = lexicon.MODALS - {"can"}
_FINITE_HELPERS = frozenset("will would is are was were has does".split())
_RELATIVES = frozenset("i that who which and but".split())


def starts_clause(tokens: Sequence[Token], here: int) -> bool:
    """True when a new clause, not a further item, begins at `here`."""
    word, following = word_at(tokens, here), word_at(tokens, here + 1)
    if not word or not following:
        return False
    if word in lexicon.AUXILIARIES:
        return following in lexicon.SUBJECT_PRONOUNS | lexicon.DETERMINERS
    if word in ASKING:
        return True
    if word in CLAUSE_PRONOUNS and tokens[here + 1].is_word and following not in lexicon.COORDINATORS:
        return True
    if starts_elided_claim(tokens, here):
        return True
    if word in lexicon.POSSESSIVES and following in lexicon.PERSON_NOUNS and _goes_on(tokens, here + 2):
        return True
    return _finds_verb(tokens, here + 1)


def _finds_verb(tokens: Sequence[Token], start: int) -> bool:
    """A finite verb close by, before anything that opens a phrase of its own: "my brother likes metal"."""
    for here in range(start, min(len(tokens), start + _MAX_CLAUSE_LOOKAHEAD - 1)):
        word = tokens[here].word
        if not tokens[here].is_word or word in _PHRASE_OPENERS:
            return False
        if word in lexicon.AUXILIARIES or word in _ADVERBS_BEFORE_VERB:
            return True
        if word in lexicon.FINITE_VERBS and _goes_on(tokens, here + 1):
            return True  # at the end it may be a noun: "food and cold drinks"
    return False


def _goes_on(tokens: Sequence[Token], here: int) -> bool:
    """True when neither the end nor a word that may hang on a noun stands at `here`."""
    return here < len(tokens) and tokens[here].word not in _AFTER_NOUN and tokens[here].is_word


def starts_elided_claim(tokens: Sequence[Token], here: int) -> bool:
    """True for "... and hate queues", "... but never smoke": a claim whose "I" stands further left."""
    claim = read_claim(tokens, here)
    if claim is None or claim.content_index >= len(tokens) or not tokens[claim.content_index].is_word:
        return False
    word, following = tokens[here].word, word_at(tokens, here + 1)
    if word in lexicon.HAVE | lexicon.BE | lexicon.WILL:
        return False
    if word == "like":  # also a preposition
        return word_at(tokens, here - 1) != "," and following not in _AFTER_PREPOSITION
    return word not in {"love", "hate"} or following not in _AFTER_NOUN_LOVE


def shares_subject(tokens: Sequence[Token], subject: int, here: int, last: Claim | None) -> bool:
    """True when the verb at `here`, after "and" or "but", still belongs to the "I" at `subject`.

    `last` is the claim read last for that "I". "I want to relax and enjoy the view" joins two infinitives,
    and "I hope they will come and love it" has another subject by then.
    """
    claim, group = read_claim(tokens, here), read_verb_group(tokens, subject + 1)
    if claim is None or group is None or here - subject > _MAX_SHARED_TOKENS:
        return False
    between = tokens[group.index + 1 : here - 1]
    if any(_takes_over(tokens, group.index + 1 + offset) for offset in range(len(between))):
        return False
    if word_at(tokens, here - 1) in {"but", "yet"}:
        return True
    if group.is_future or set(group.helpers) & _BINDING_MODALS:
        return False
    if any(token.word == "to" for token in between):
        if last is None or last.category != "preference":
            return False
        return claim.category == "pattern" or claim.polarity != last.polarity
    return True


def _takes_over(tokens: Sequence[Token], here: int) -> bool:
    """A finite helper whose subject is no "I": "they will", "the show is"."""
    return tokens[here].word in _FINITE_HELPERS and word_at(tokens, here - 1) not in _RELATIVES
