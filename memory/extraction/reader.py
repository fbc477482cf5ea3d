"""Facts from a text: every sentence is read once, every claim must pass every guard."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from . import contexts, screening
from .claims import Claim, read_claim, read_fronted_habit
from .clauses import shares_subject, starts_elided_claim
from .contents import clean_content, clean_statement, find_extent
from .echoes import EchoFilter
from .facts import Fact, Role
from .favourites import Favourite, find_favourites, names_thing
from .frames import SentenceFrame, open_frame, opens_role_play
from .keys import build_key
from .objects import Object, find_named_thing, resolve_objects
from .preparation import Page, prepare_page
from .quotations import find_quotations, find_urls
from .replies import is_about_reply
from .sentences import QUOTED, Sentence, mark_positions, split_sentences
from .speakers import find_speaker
from .tokens import Token, split_tokens
from .tone import is_ironic

_CONTEXT_CHARS = 80
# Bounds of the work on one text, whatever it holds. No message that a person wrote comes near them.
_MAX_SENTENCES = 200
_MAX_SENTENCE_CHARS = 2000
_CONDITIONS = frozenset("if unless provided assuming".split())
_LIMITED_TIME = re.compile(
    r" for (?:an?|one|two|three|four|\d+|the|this|that|some|lent|ramadan|january|february|march|april|"
    r"may|june|july|"
    r"august|september|october|november|december|now)\b|\b(?:until|till|today|tonight|this (?:week|month|"
    r"morning))\b"
)
_JOINTS = frozenset("and but yet or then , so".split())
_OTHER_SUBJECTS = frozenset("who he she they we".split())
_SUBJECTS_OR_OBJECTS = frozenset("you it everyone everybody people".split())


def extract_facts(text: str, role: Role = "user", *, injected: Sequence[str] = ()) -> list[Fact]:
    """Return the facts that the speaker of `text` states about themselves, in the order of the text.

    `role` says who speaks. `injected` are the memories that went into the request which `text` answers: what
    only repeats them is left out. Never raises; anything but a non-empty string gives an empty list.
    """
    if not isinstance(text, str) or not text:
        return []
    facts: dict[str, Fact] = {}
    for fact in _read_page(prepare_page(text), role):
        facts.pop(fact.key, None)  # said twice: the last word counts, and stands where it was said
        facts[fact.key] = fact
    if not facts or not injected:
        return list(facts.values())
    echoes = EchoFilter(injected, _read_page)
    return [fact for fact in facts.values() if not echoes.repeats(fact)]


@dataclass(frozen=True)
class _Row:
    """One sentence, taken apart."""

    page: Page
    sentence: Sentence
    tokens: list[Token]
    quoted: list[bool]
    role: Role
    harm: screening.HarmIndex


def _read_page(page: Page, role: Role) -> Iterator[Fact]:
    flags = mark_positions(len(page.text), find_quotations(page), find_urls(page))
    harm = screening.HarmIndex(page.view)
    for sentence in _select_sentences(page, split_sentences(page, flags)):
        tokens = split_tokens(page.view, _start_reading(page, sentence), sentence.end)
        if not opens_role_play(tokens):
            quoted = [flags[token.start] == QUOTED for token in tokens]
            yield from _read_sentence(_Row(page, sentence, tokens, quoted, role, harm))


def _select_sentences(page: Page, sentences: Iterable[Sentence]) -> list[Sentence]:
    """Those in which somebody speaks of themselves in their own name: the last ones, of a text that has very many."""
    spoken = []
    role_play_until = -1
    for sentence in sentences:
        if sentence.end > role_play_until and _may_open_part(page, sentence):
            role_play_until = _paragraph_end(page, sentence.end)
        if sentence.start >= role_play_until and find_speaker(page.view, sentence.start, sentence.end):
            spoken.append(sentence)
    return spoken[-_MAX_SENTENCES:]


def _start_reading(page: Page, sentence: Sentence) -> int:
    """Nobody's sentence is that long: of a run of words without an end only the last are read."""
    start = max(sentence.start, sentence.end - _MAX_SENTENCE_CHARS)
    return start if start == sentence.start else page.view.find(" ", start, sentence.end) + 1 or start


def _may_open_part(page: Page, sentence: Sentence) -> bool:
    """ "Pretend you are a pirate.": the next sentences are spoken in a part."""
    view = page.view[sentence.start : min(sentence.end, sentence.start + 200)]
    if not any(cue in view for cue in ("pretend", "role", "imagine", "act as", "you are")):
        return False
    return opens_role_play(split_tokens(page.view, sentence.start, sentence.start + len(view)))


def _paragraph_end(page: Page, start: int) -> int:
    end = page.view.find("\n\n", start)
    return len(page.view) if end < 0 else end


def _read_sentence(row: _Row) -> Iterator[Fact]:
    frame = open_frame(row.tokens, row.sentence.ending)
    favourites = {found.subject: found for found in find_favourites(row.tokens)}
    subject = -1  # the token of the "I" that a verb without subject may belong to
    last: Claim | None = None
    for here, token in enumerate(row.tokens):
        if here in favourites and not row.quoted[here]:
            yield from _read_favourite(row, favourites[here], frame)
        if token.word == "i" and token.is_word:
            subject = here
            last = read_claim(row.tokens, here + 1) or read_fronted_habit(row.tokens, here)
            yield from _read_clause(row, here, last, frame)
        elif subject >= 0 and _resets_subject(row.tokens, here):
            subject = -1
        elif (
            subject >= 0
            and token.word in _JOINTS
            and starts_elided_claim(row.tokens, here + 1)
            and shares_subject(row.tokens, subject, here + 1, last)
        ):
            last = read_claim(row.tokens, here + 1)
            yield from _read_elided(row, here + 1, last, frame)


def _resets_subject(tokens: Sequence[Token], here: int) -> bool:
    """Another subject takes over: "... and she", ", they", "who"."""
    word, before = tokens[here].word, tokens[here - 1].word if here else ""
    return word in _OTHER_SUBJECTS or (word in _SUBJECTS_OR_OBJECTS and before in _JOINTS | {"because"})


def _read_clause(row: _Row, subject: int, claim: Claim | None, frame: SentenceFrame) -> Iterator[Fact]:
    """The claim of the clause whose "I" stands at `subject`, if it is the speaker's own."""
    if claim is None:
        frame.pending.append(subject)
        return
    asserted = not row.quoted[subject] and contexts.is_asserted(
        row.tokens,
        subject,
        frame,
        is_decision=claim.category == "decision",
        is_named=find_named_thing(row.tokens, subject, claim) is not None,
    )
    frame.last_blocked, frame.pending = not asserted, []
    if asserted:
        yield from _collect(row, subject, claim)


def _read_elided(row: _Row, verb: int, claim: Claim | None, frame: SentenceFrame) -> Iterator[Fact]:
    """A further claim of the same "I"; it shares the fate of the clause before it."""
    if frame.question_index is not None and verb >= frame.question_index:
        return
    if claim is not None and not contexts.is_last_blocked(row.tokens, frame) and not row.quoted[verb]:
        yield from _collect(row, verb, claim)


def _collect(row: _Row, subject: int, claim: Claim) -> Iterator[Fact]:
    if claim.content_index < len(row.tokens) and row.quoted[max(0, claim.content_index - 1)]:
        return  # the verb itself in quotation marks is meant as its opposite
    for item in resolve_objects(row.tokens, subject, claim, row.quoted):
        fact = _build_fact(row, subject, claim, item)
        if fact is not None:
            yield fact


def _read_favourite(row: _Row, favourite: Favourite, frame: SentenceFrame) -> Iterator[Fact]:
    if not contexts.is_asserted(row.tokens, favourite.subject, frame):
        return
    end = favourite.end
    if end is None:
        end = find_extent(row.tokens, favourite.start, row.quoted).end
    if end <= favourite.start:
        return
    words = [token.word for token in row.tokens[favourite.start : end]]
    first = row.page.text[row.tokens[favourite.start].start]
    if not names_thing(favourite, words, first.isupper()):
        return
    claim = Claim("preference", favourite.polarity, favourite.start, "favourite")
    fact = _build_fact(row, favourite.subject, claim, Object(favourite.polarity, favourite.start, end))
    if fact is not None:
        yield fact


def _build_fact(row: _Row, subject: int, claim: Claim, item: Object) -> Fact | None:
    """The fact of one content, or None if a guard refuses it."""
    if item.end <= item.start or item.start >= len(row.tokens):
        return None
    start, end = row.tokens[item.start].start, row.tokens[item.end - 1].end
    clause_start = row.tokens[subject].start
    content = clean_content(row.page.text[start:end])
    words = [token.word for token in row.tokens[item.start : item.end] if token.is_word]
    if contexts.ends_foreign(row.tokens, item.end) or _is_provisional(claim, content, words):
        return None
    if not screening.is_storable(claim.category, content, words, claim.verb):
        return None
    if row.harm.touches(clause_start, min(row.sentence.end, end + _CONTEXT_CHARS)):
        return None
    if _sounds_ironic(row, claim, item, clause_start, content):
        return None
    if row.role == "assistant" and _is_reply_talk(row, claim, item, content, clause_start):
        return None
    statement = clean_statement(row.page.text[clause_start:end])
    return Fact(claim.category, item.polarity, content, build_key(claim.category, content), statement)


def _is_provisional(claim: Claim, content: str, words: Sequence[str]) -> bool:
    """ "I'll use copper if it is cheaper" is not decided yet, "I gave up coffee for a week" soon over."""
    if claim.verb in {"quit", "give up"}:
        return _LIMITED_TIME.search(content.lower()) is not None
    return claim.category == "decision" and any(word in _CONDITIONS for word in words)


def _sounds_ironic(row: _Row, claim: Claim, item: Object, clause_start: int, content: str) -> bool:
    if claim.category != "preference" or item.polarity == "negative":
        return False
    view = row.page.view
    before = view[max(0, clause_start - _CONTEXT_CHARS) : clause_start]
    end = row.tokens[item.end - 1].end
    return is_ironic(before, content.lower(), view[end : end + _CONTEXT_CHARS].lstrip(" .!,;…\n"))


def _is_reply_talk(row: _Row, claim: Claim, item: Object, content: str, clause_start: int) -> bool:
    view, end = row.page.view, row.tokens[item.end - 1].end
    return is_about_reply(
        claim,
        content,
        clause=view[clause_start:end],
        rest=view[end : min(row.sentence.end, end + _CONTEXT_CHARS)],
        opening=view[:_CONTEXT_CHARS].lstrip(),
    )
