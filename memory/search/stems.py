"""Words of a text as the adaptive index counts them: Porter stems; character pairs where a script has no spaces."""

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise
from typing import Final

import Stemmer

from memory.search.terms import MAX_QUERY_CHARS, MAX_QUERY_TERMS, STOP_WORDS, UNSPACED_RUN, find_words

_WORD: Final = re.compile(r"[^\W_]+")
# What FTS5 drops of Latin letters too: people leave accents out when they ask.
_ACCENTS: Final = re.compile("(?<=[a-z])[\u0300-\u0331]+")
_PERHAPS_ACCENTED: Final = re.compile("[\u00c0-\u024f\u0300-\u0331\u1e00-\u1eff]")
_LATIN_END: Final = "\u0250"
_STEMMER: Final = Stemmer.Stemmer("porter", 0)


@lru_cache(maxsize=1 << 16)
def stem_word(word: str) -> str:
    stem: str = _STEMMER.stemWord(word)
    return stem


def split_words(text: str) -> list[str]:
    """Return every word in order, case-folded and without accents on Latin letters.

    An unspaced run becomes its character pairs, a lone character itself.
    """
    if text.isascii():
        return _WORD.findall(text.lower())
    words: list[str] = []
    folded = text.casefold()
    if _PERHAPS_ACCENTED.search(folded) is not None:
        folded = _ACCENTS.sub("", unicodedata.normalize("NFD", folded))
    for word in find_words(unicodedata.normalize("NFC", folded)):
        if word.isascii():
            words.append(word)
        else:
            words.extend(_split_unspaced(word))
    return words


def split_query(text: str) -> list[str]:
    """Return the distinct words worth asking for, in order: stop words are out unless there is nothing else."""
    words = list(dict.fromkeys(split_words(text[:MAX_QUERY_CHARS])))
    return ([word for word in words if word not in STOP_WORDS] or words)[:MAX_QUERY_TERMS]


def measure_latin_share(text: str) -> float:
    """Return how many of a text's letters are Latin ones: 1 for English, 0 for Chinese, 1 where there are none."""
    letters = [character for character in text if character.isalpha()]
    return sum(character < _LATIN_END for character in letters) / len(letters) if letters else 1.0


def _split_unspaced(word: str) -> list[str]:
    pieces: list[str] = []
    position = 0
    for run in UNSPACED_RUN.finditer(word):
        pieces.append(word[position : run.start()])
        pieces.extend([first + second for first, second in pairwise(run[0])] or [run[0]])
        position = run.end()
    pieces.append(word[position:])
    return [piece for piece in pieces if piece]
