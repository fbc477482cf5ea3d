"""Quoted stretches inside a line: their words are mentioned, not claimed by the one who writes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .foreign_blocks import Span, merge_spans
from .preparation import Page

_INLINE_CODE = re.compile(r"`[^`\n]{1,500}`")
_URL = re.compile(r"\b(?:[a-z][a-z0-9+.-]{1,10}://|www\.)[^\s<>\"]+")
_QUOTE_OR_BREAK = re.compile(
    "[\"'\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u300c-\u300f]|\n\n"
)
# Opening mark -> the marks that may close it.
_CLOSERS: dict[str, str] = {
    '"': '"',
    "'": "'",
    "\u2018": "\u2019'",
    "\u201a": "\u2018\u2019",
    "\u201b": "\u2019",
    "\u201c": '\u201d\u201c"',
    "\u201d": "\u201d",
    "\u201e": '\u201c\u201d"',
    "\u201f": "\u201d",
    "\u00ab": "\u00bb",
    "\u00bb": "\u00ab\u00bb",
    "\u2039": "\u203a",
    "\u203a": "\u2039",
    "\u300c": "\u300d",
    "\u300e": "\u300f",
}
_SINGLE_MARKS = "'\u2018\u2019\u201a\u201b"
_SURE_OPENERS = "\u201c\u201e\u00ab\u300c\u300e"
_ELISION = re.compile(r"'(?:\d\ds?|tis|twas|em|cause|til|n'?|round|bout)\b", re.I)
_MAX_SINGLE_QUOTED = 300


def find_quotations(page: Page) -> list[Span]:
    """Return the sorted spans of quotations and inline code, quotation marks included."""
    code = [found.span() for found in _INLINE_CODE.finditer(page.view)]
    return merge_spans([*code, *_pair_marks(page.text)])


def find_urls(page: Page) -> list[Span]:
    """Return the spans of web addresses, whose dots and question marks end no sentence."""
    return [found.span() for found in _URL.finditer(page.view)]


def _pair_marks(text: str) -> Iterator[Span]:
    opened: int | None = None
    for found in _QUOTE_OR_BREAK.finditer(text):
        here, mark = found.start(), found.group()
        if mark == "\n\n":  # a quotation does not outlive its paragraph
            if opened is not None and text[opened] in _SURE_OPENERS:
                yield opened, here
            opened = None
        elif opened is None:
            opened = here if _can_open(text, here) else None
        elif mark in _CLOSERS[text[opened]] and _can_close(text, here):
            if mark not in _SINGLE_MARKS or here - opened <= _MAX_SINGLE_QUOTED:
                yield opened, here + 1
            opened = None
        elif mark in _SURE_OPENERS and text[opened] in _SINGLE_MARKS:
            opened = here  # what looked like a quotation was an apostrophe
    if opened is not None and text[opened] in _SURE_OPENERS:
        yield opened, len(text)


def _can_open(text: str, here: int) -> bool:
    mark, before, after = text[here], text[here - 1 : here], text[here + 1 : here + 2]
    if mark not in _CLOSERS or not after or (after.isspace() and mark != "\u00ab"):
        return False
    if mark == '"':
        return not before.isdigit()  # 27" is a size
    if mark in _SINGLE_MARKS:
        return not before.isalnum() and before not in _SINGLE_MARKS and not _ELISION.match(text, here)
    return mark in _SURE_OPENERS or not before.isalnum()


def _can_close(text: str, here: int) -> bool:
    if text[here] not in _SINGLE_MARKS:
        return True
    after = text[here + 1 : here + 2]
    return not after.isalnum() and not text[here - 1].isspace()
