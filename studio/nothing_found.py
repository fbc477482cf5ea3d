"""What to try when a list is empty: which filter hides something, and how much."""

from dataclasses import dataclass, replace
from typing import Final

from django.http import QueryDict

from memory.inspection import list_page
from memory.near_words import find_near_word
from memory.records import MemoryFilter
from studio.memory_list import FILTERS, ListQuery, read_list_query

# Enough to say "more than".
COUNTED: Final = 100


@dataclass(frozen=True, slots=True)
class NearWord:
    """A word that memories do hold, in `count` of them (at least so many with `is_more`); `address` shows them."""

    word: str
    count: int
    is_more: bool
    address: str


@dataclass(frozen=True, slots=True)
class Hint:
    """`hidden` memories match without the filters (at least so many with `is_more`); `address` shows them. `near` is
    what may have been meant, where nothing says the text."""

    text: str
    hidden: int
    is_more: bool
    address: str
    near: NearWord | None = None


def find_hint(listed: ListQuery) -> Hint:
    """Look for the same words without any other filter; a list far beyond its end has its first page as the hint."""
    text = listed.filter.text
    others = [name for name in FILTERS if name != "q" and name in listed.values]
    wider = MemoryFilter(None, text=text) if text else MemoryFilter(None)
    if not others and listed.page == 1:
        return Hint(text, 0, False, listed.address(q=None), _find_near(text))
    found = list_page(wider if others else replace(listed.filter), limit=COUNTED, offset=0)
    cleared = dict.fromkeys((*others, "page"))
    near = None if found.records else _find_near(text)
    return Hint(text, len(found.records), found.has_more, listed.address(**cleared), near)


def _find_near(text: str) -> NearWord | None:
    word = find_near_word(text)
    if not word:
        return None
    found = list_page(MemoryFilter(None, text=word), limit=COUNTED, offset=0)
    return NearWord(word, len(found.records), found.has_more, read_list_query(QueryDict()).address(q=word))
