"""Memories that come back in the answer they were put into: repeated, not said anew."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from .descriptions import describe_fact
from .facts import Fact, Polarity, Role
from .preparation import Page, prepare_page

_NOT_WORD = re.compile(r"[^\w]+")
_MAX_INJECTED_CHARS = 262_144


class EchoFilter:
    """Knows the lines that were injected and tells whether a fact only repeats one."""

    def __init__(self, injected: Sequence[str], read_page: Callable[[Page, Role], Iterable[Fact]]) -> None:
        """`injected` are contents as they went in; `read_page` reads the facts that they state."""
        lines = [line for line in injected if isinstance(line, str) and line.strip()]
        normalised = [_normalise(line[:_MAX_INJECTED_CHARS]) for line in lines]
        self._lines = frozenset(normalised)
        self._joined = "\n".join(f" {line} " for line in normalised)
        self._stated: set[tuple[str, Polarity]] = set()
        for line in lines:
            self._stated.update((fact.key, fact.polarity) for fact in read_page(prepare_page(line), "user"))

    def repeats(self, fact: Fact) -> bool:
        """True when `fact` says what an injected line says already."""
        if not self._lines:
            return False
        if (fact.key, fact.polarity) in self._stated or _normalise(fact.content) in self._lines:
            return True
        told = describe_fact(fact.category, fact.polarity, fact.content, "user_message")
        return any(f" {_normalise(words)} " in self._joined for words in (fact.statement, told))


def _normalise(text: str) -> str:
    """Words only: no case, no marks, one spelling for composed letters and all apostrophes."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'").replace("'", "")
    return _NOT_WORD.sub(" ", folded).strip()
