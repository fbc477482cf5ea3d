"""How far the content of a claim reaches, and how it is cleaned."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from . import lexicon
from .claims import read_claim
from .clauses import ASKING, CLAUSE_PRONOUNS, starts_clause
from .facts import MAX_CONTENT_CHARS
from .phrases import match_words, word_at
from .tokens import Token

_MAX_CONTENT_TOKENS = 130
_MAX_FIRST_PERSONS = 2  # a content that goes on about "I" and "I" is no clause any more
_MAX_PAREN_TOKENS = 14
_MAX_LIST_ITEM_TOKENS = 5
_MAX_LIST_ITEMS = 10
_DASHES = frozenset(["-", "–", "—", "--", "…"])
_LIST_STOPPERS = (
    ASKING
    | lexicon.AUXILIARIES
    | frozenset(
        "but so though although because which who where when since unless except not too yes no ok okay "
        "then also yet if while as even only just right whereas at".split()
    )
)
# "but not in the evening", "but not only": a condition or more of the same, no item.
_NO_CONTRAST = frozenset(
    "only just when if because for in on at always so as to too very that with really since much "
    "necessarily all every by".split()
)
_SUBORDINATORS = frozenset(
    "when whenever if before after until till that where while because as how what than once unless".split()
)
_TRAILERS = re.compile(
    r"(?:[,\s]+(?:too|though|anyway|please|thanks|lol|haha|btw|tbh|imho|imo|fyi|a lot|very much|so much|"
    r"as well|"
    r"any ?more|any longer|at all|by the way|to be honest|and|or|but|i guess|i think|i suppose|either|"
    r"\(?:-?[)D(]))+$",
    re.I,
)
_EDGE_MARKS = " \t\n.,:;!?…*~|·•—–"
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"), ("„", "“"), ("«", "»"), ("‘", "’"), ("{", "}"))


@dataclass(frozen=True)
class Extent:
    """Tokens `start` to `end` are the content; at `contrast` a "but not ..." begins, if there is one."""

    start: int
    end: int
    contrast: int | None = None


def find_extent(tokens: Sequence[Token], start: int, quoted: Sequence[bool]) -> Extent:
    """Walk from `start` to the border of the clause. Marks inside quotation marks are no borders."""
    here = start
    stop = min(len(tokens), start + _MAX_CONTENT_TOKENS)
    first_persons = 0
    while here < stop:
        token = tokens[here]
        first_persons += token.word == "i"
        if first_persons > _MAX_FIRST_PERSONS:
            return Extent(start, here)
        if quoted[here]:
            here += 1
        elif token.word == "(" and match_words(tokens, here + 1, "not"):
            return Extent(start, here, _find_contrast(tokens, here))
        elif token.word == "(" and not starts_clause(tokens, here + 1) and _find_closing(tokens, here) is not None:
            here = _find_closing(tokens, here) or stop
        elif not token.is_word:
            if _ends_at_mark(tokens, start, here):
                return Extent(start, here, _find_contrast(tokens, here))
            here += 1
        elif here > start and _ends_at_word(tokens, start, here):
            return Extent(start, here, _find_contrast(tokens, here))
        else:
            here += 1
    return Extent(start, here)


def clean_content(text: str) -> str:
    """Collapse spaces, take off marks and fillers at the edges, cut to 500 characters."""
    content = " ".join(text.replace("`", "").split())
    content = _trim_edges(content)
    content = _trim_edges(_TRAILERS.sub("", content))
    if len(content) > MAX_CONTENT_CHARS:
        content = content[:MAX_CONTENT_CHARS].rstrip(" \u200d\ufe0f")
    return content


def clean_statement(text: str) -> str:
    """The clause as said, on one line."""
    return " ".join(text.split())[:MAX_CONTENT_CHARS].rstrip(" \u200d")


def _trim_edges(content: str) -> str:
    content = content.lstrip(_EDGE_MARKS.replace(".", "")).rstrip(_EDGE_MARKS)
    for opening, closing in _PAIRS:
        if content.endswith(closing) and content.count(opening) < content.count(closing):
            content = content[:-1]
        if content.startswith(opening) and content.count(closing) < content.count(opening):
            content = content[1:]
    for mark in "\"'":
        if content.count(mark) == 1 and mark == content[-1:] and not content[-2:-1].isdigit():
            content = content[:-1]
        if content.count(mark) == 1 and mark == content[:1]:
            content = content[1:]
    return content.rstrip(_EDGE_MARKS)


def _find_closing(tokens: Sequence[Token], opening: int) -> int | None:
    """The place after the ")" that closes `opening`, if it is near and only a remark stands between."""
    for here in range(opening + 1, min(len(tokens), opening + _MAX_PAREN_TOKENS)):
        if tokens[here].word.startswith(")"):
            return here + 1
        if tokens[here].word in {"i", "("}:
            return None
    return None


def _ends_at_mark(tokens: Sequence[Token], start: int, here: int) -> bool:
    mark = tokens[here].word
    if mark == ",":
        return not _continues_list(tokens, start, here)
    return mark[0] in ":;!?()[]{}" or mark in _DASHES


def _ends_at_word(tokens: Sequence[Token], start: int, here: int) -> bool:
    word, following, before = tokens[here].word, word_at(tokens, here + 1), word_at(tokens, here - 1)
    if word in {"but", "yet"}:
        return before not in {"nothing", "anything", "everything", "all"}
    if word in {"and", "or", "nor", "then", "plus", "&", "also"}:
        return (
            starts_clause(tokens, here + 1) or match_words(tokens, here + 1, "not") or (word == "then" and here > start)
        )
    if word in lexicon.REASONS or word == "please":
        return True
    if word == "so":
        return following in CLAUSE_PRONOUNS | lexicon.DETERMINERS | lexicon.AUXILIARIES | ASKING
    if word in {"since", "as", "while"}:
        is_clause = following in CLAUSE_PRONOUNS or starts_clause(tokens, here + 1)
        return is_clause and before not in {"as", "such", "same", "just"}
    if word == "i":
        return before not in _SUBORDINATORS and read_claim(tokens, here + 1) is not None
    return word == "which" and before not in {"in", "of", "for", "with", "on", "to"} and here > start + 1


def _find_contrast(tokens: Sequence[Token], here: int) -> int | None:
    """The item after ", not", "but not", "and not": what is turned down beside what is liked."""
    if word_at(tokens, here) == "," and word_at(tokens, here + 1) in {"but", "and"}:
        here += 1
    if word_at(tokens, here) not in {",", "but", "and", "(", "-", "–", "—"} or word_at(tokens, here + 1) != "not":
        return None
    after = word_at(tokens, here + 2)
    is_item = bool(after) and tokens[here + 2].is_word and after not in _NO_CONTRAST
    return here + 2 if is_item else None


def _continues_list(tokens: Sequence[Token], start: int, comma: int) -> bool:
    """True when the comma separates items ("apples, pears and plums") or adjectives ("long, quiet walks")."""
    here = comma + 1
    if here >= len(tokens) or not _is_item(tokens, here):
        return False
    if (
        comma == start + 1
        and tokens[start].word.isalpha()
        and _item_end(tokens, here) == len(tokens)
        and (2 <= len(tokens) - here <= 4)
    ):
        return True
    for _ in range(_MAX_LIST_ITEMS):
        if not _is_item(tokens, here):
            return False
        end = _item_end(tokens, here)
        if any(tokens[index].word in {"and", "or", "nor", "&"} for index in range(here, end)):
            return True
        if end - here > _MAX_LIST_ITEM_TOKENS or word_at(tokens, end) != ",":
            return False
        here = end + 1
    return True


def _item_end(tokens: Sequence[Token], here: int) -> int:
    stop = min(len(tokens), here + 2 * _MAX_LIST_ITEM_TOKENS)
    while here < stop and tokens[here].is_word:
        here += 1
    return here


def _is_item(tokens: Sequence[Token], here: int) -> bool:
    """An item follows at `here`: no clause, and none of the words that open a remark."""
    word = word_at(tokens, here)
    if not word or not tokens[here].is_word:
        return False
    if word in {"and", "or", "nor", "&"}:
        return not starts_clause(tokens, here + 1) and word_at(tokens, here + 1) not in _LIST_STOPPERS
    return word not in _LIST_STOPPERS and word not in lexicon.FINITE_VERBS and not starts_clause(tokens, here)
