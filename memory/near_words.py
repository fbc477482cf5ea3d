"""The word that was meant, where a search for the very letters finds nothing."""

import unicodedata
from difflib import SequenceMatcher, get_close_matches
from typing import Final

from memory.inspection import list_page
from memory.records import MemoryFilter
from memory.search.keyword import list_words
from memory.search.terms import find_words

# Shorter words have too many neighbours.
MIN_CHARACTERS: Final = 4
# People mistype later letters, not the first ones.
SHARED_CHARACTERS: Final = 2
COMPARED_WORDS: Final = 2000
# What is compared with is stems: endings differ.
LIKENESS: Final = 0.7
TRIED_WORDS: Final = 3


def find_near_word(text: str) -> str:
    """Return a word as some memory writes it that is nearly one of the text's, the longest first; "" without one."""
    words = sorted({_fold(word) for word in find_words(text)}, key=len, reverse=True)
    for word in words[:TRIED_WORDS]:
        if len(word) < MIN_CHARACTERS:
            continue
        known = list_words(word[:SHARED_CHARACTERS], COMPARED_WORDS)
        close = get_close_matches(word, known, cutoff=LIKENESS)
        for stem in sorted(close, key=lambda stem: (-_compare(stem, word), known.index(stem))):
            # The stemmer has made a y an i.
            if found := _find_spelling(stem.removesuffix("i"), word):
                return found
    return ""


def _compare(stem: str, word: str) -> float:
    """How like they are, in tenths: between two that are about as like the more frequent one is meant."""
    return round(SequenceMatcher(None, stem, word).ratio(), 1)


def _find_spelling(stem: str, sought: str) -> str:
    """The whole word that a memory holds for the stem; "" when it is the sought one itself, which is no help."""
    for record in list_page(MemoryFilter(None, text=stem), limit=1, offset=0).records:
        for word in find_words(f"{record.content} {record.key}"):
            if stem in _fold(word) and _fold(word) != sought:
                return word
    return ""


def _fold(word: str) -> str:
    parts = unicodedata.normalize("NFKD", word.lower())
    return "".join(sign for sign in parts if not unicodedata.combining(sign))
