"""Where sentences begin and end. A dot inside a name, a number or an abbreviation ends nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .foreign_blocks import Span
from .preparation import Page

_TERMINATOR = re.compile(r"[\n!?;…。]|\.+")
_NEVER_LAST = frozenset(
    "dr mr mrs ms prof st mt ft vs fig vol approx cf gen rev capt lt sgt e.g i.e eg ie resp incl".split()
)
_BEFORE_NUMBER = frozenset("no nr pp p ch sec art vol fig".split())
_DOTTED = re.compile(r"(?:[a-z]\.)+[a-z]$")
_WORD_BEFORE = re.compile(r"[\w.'&/-]*$")
_FIRST_PERSON_NEXT = re.compile(r"i(?:'| |m |ve |ll )")
# "Vitamin C." ends a sentence where "Ursula K." does not.
_LETTERED = frozenset("plan option vitamin type class group grade version variant team seat gate room tier".split())
_CLOSING = "\"'”’»)]}*“"
_LOOK_BACK = 40

QUOTED, ADDRESS = 1, 2


@dataclass(frozen=True, slots=True)
class Sentence:
    """`view[start:end]` without its end mark; `ending` is that mark: one of `.!?;` or a line break."""

    start: int
    end: int
    ending: str


def mark_positions(length: int, quotations: list[Span], urls: list[Span]) -> bytearray:
    """One flag byte a character: QUOTED, ADDRESS or 0."""
    flags = bytearray(length)
    for start, end in urls:
        flags[start:end] = bytes([ADDRESS]) * (end - start)
    for start, end in quotations:
        flags[start:end] = bytes([QUOTED]) * (end - start)
    return flags


def split_sentences(page: Page, flags: bytearray) -> Iterator[Sentence]:
    """Yield the sentences of a page in order, empty ones left out."""
    start = 0
    for found in _TERMINATOR.finditer(page.view):
        mark = found.group()
        end = found.end()
        if end <= start or not _ends_sentence(page, flags, found.start(), mark):
            continue
        if mark != "\n" and flags[found.start()] == QUOTED:
            end += 1  # the closing quotation mark belongs to the sentence
        if found.start() > start:
            yield Sentence(start, found.start(), mark[0])
        start = end
    if start < len(page.view):
        yield Sentence(start, len(page.view), "\n")


def _ends_sentence(page: Page, flags: bytearray, here: int, mark: str) -> bool:
    if mark == "\n":
        return True
    after = page.view[here + len(mark) : here + len(mark) + 1]
    if flags[here] == QUOTED:
        return _closes_quotation(page, flags, here + len(mark))
    if flags[here] == ADDRESS:
        return not after or after.isspace()
    if mark == ".":
        return _is_full_stop(page, here)
    if mark in ";…。" or len(mark) > 1:
        return True
    if mark == "!" and after == "[":
        return False  # a picture in markdown
    return not after.isalnum() or _FIRST_PERSON_NEXT.match(page.view, here + 1) is not None


def _closes_quotation(page: Page, flags: bytearray, closing: int) -> bool:
    """True for the last mark inside a quotation when a new sentence follows: `He said "no." I left.`"""
    if closing >= len(page.text) or page.text[closing] not in _CLOSING:
        return False
    rest = page.text[closing + 1 : closing + 3].lstrip()
    return (closing + 1 >= len(flags) or flags[closing + 1] != QUOTED) and (not rest or rest[0].isupper())


def _is_full_stop(page: Page, here: int) -> bool:
    view = page.view
    after = view[here + 1 : here + 2]
    if after and not after.isspace() and after not in _CLOSING:
        return _FIRST_PERSON_NEXT.match(view, here + 1) is not None or not (after.isascii() or after.isalpha())
    found = _WORD_BEFORE.search(view, max(0, here - _LOOK_BACK), here)
    word = found.group() if found else ""
    following = page.text[here + 1 : here + 3].lstrip()
    if not following:
        return True
    if word in _NEVER_LAST:
        return False
    if word in _BEFORE_NUMBER:
        return not following.isdigit()
    if _DOTTED.match(word):
        return following.isupper()
    return not _is_initial(page, here, word, following)


def _is_initial(page: Page, here: int, word: str, following: str) -> bool:
    """True in "J. K. Rowling" and "E. coli"; "plan B. Thanks" and "I prefer R. It is" end at the dot."""
    if len(word) != 1 or not word.isalpha() or not page.text[here - 1].isupper() or word == "i":
        return False
    if following.islower():
        return True
    if not following.isupper() or _FIRST_PERSON_NEXT.match(page.view, here + 2):
        return False
    before = page.text[max(0, here - _LOOK_BACK) : here - 1].rstrip().rpartition(" ")[2]
    one_letter_next = page.text[here + 3 : here + 4] == "."
    return (
        one_letter_next
        or before.endswith(".")
        or (before[:1].isupper() and len(before) > 1 and before.lower() not in _LETTERED)
    )
