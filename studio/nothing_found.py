"""What to try when a list is empty: which filter hides something, and how much."""

from dataclasses import dataclass, replace
from typing import Final

from memory.inspection import list_page
from memory.records import MemoryFilter
from studio.memory_list import FILTERS, ListQuery

# Enough to say "more than".
COUNTED: Final = 100


@dataclass(frozen=True, slots=True)
class Hint:
    """`hidden` memories match without the filters (at least so many with `is_more`); `address` shows them."""

    text: str
    hidden: int
    is_more: bool
    address: str


def find_hint(listed: ListQuery) -> Hint:
    """Look for the same words without any other filter; a list far beyond its end has its first page as the hint."""
    text = listed.filter.text
    others = [name for name in FILTERS if name != "q" and name in listed.values]
    wider = MemoryFilter(None, text=text) if text else MemoryFilter(None)
    if not others and listed.page == 1:
        return Hint(text, 0, False, listed.address(q=None))
    found = list_page(wider if others else replace(listed.filter), limit=COUNTED, offset=0)
    cleared = dict.fromkeys((*others, "page"))
    return Hint(text, len(found.records), found.has_more, listed.address(**cleared))
