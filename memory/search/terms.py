"""Words of a text for the full-text index and words of a query for its MATCH expression. Pure.

Scripts written without spaces (Chinese, Japanese, Korean, Thai, ...) are indexed as overlapping character pairs beside
the text, and queried the same way: a tokenizer that splits at spaces finds nothing inside such a sentence.
"""

import re
import unicodedata
from itertools import pairwise
from typing import Final

MAX_QUERY_CHARS: Final = 512
MAX_QUERY_TERMS: Final = 32

_UNSPACED: Final = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Myanmar
    "\u1100-\u11ff"  # Hangul Jamo
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3040-\u30ff\u3105-\u312f\u3131-\u318f\u31f0-\u31ff"  # Japanese, Bopomofo, Jamo
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f"  # Han, Hangul, half-width kana
    "\U00020000-\U0003ffff"  # Han extensions
)
UNSPACED_RUN: Final = re.compile(f"[{_UNSPACED}]+")
_WORD: Final = re.compile(r"[^\W_]+")
# Where marks may stand that belong to a word: vowel signs, points, accents. Wider than need be, to be quick.
_MARKED: Final = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0711\u0730-\u074a"
    "\u07a6-\u1aff\u1b00-\u1dff\u20d0-\u20ff\u2cef-\u2dff\u302a-\u302f\u3099\u309a\ua66f-\ua6f1\ua802-\uabff\ufb1e"
    "\ufe20-\ufe2f\U000101fd-\U0001e94a]"
)

# Words that say nothing about what is asked. Contractions leave their halves behind ("don't" -> don, t).
STOP_WORDS: Final = frozenset(
    """
    a about above after again against ain all also am an and any are aren as at be because been before being below
    between both but by can could couldn d did didn do does doesn doing don down during each few for from further get
    had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
    just ll m ma me mightn more most mustn my myself needn no nor not now o of off on once only or other our ours
    ourselves out over own please re s same shan she should shouldn so some such t than that the their theirs them
    themselves then there these they this those through to too under until up ve very was wasn we were weren what when
    where which while who whom why will with won would wouldn y you your yours yourself yourselves
    """.split()
)


def make_search_terms(content: str, key: str) -> str:
    """Return the extra words to index: the character pairs of every unspaced run, and its last character alone.

    The lone last character lets a one-character query match as a prefix wherever the character stands.
    """
    terms = []
    for run in UNSPACED_RUN.findall(unicodedata.normalize("NFC", f"{content}\n{key}")):
        terms.extend(_pair_up(run))
        terms.append(run[-1])
    return " ".join(terms)


def find_words(text: str) -> list[str]:
    """Return the runs of letters and digits, with the marks that belong to them, as FTS5 cuts them, in order.

    `\\w` knows no marks: it would leave the consonants of an Indic word and throw its vowels away.
    """
    if _MARKED.search(text) is None:
        return _WORD.findall(text)
    words, start = [], -1
    for position, char in enumerate(text):
        kind = unicodedata.category(char)
        if kind[0] in "LN" or (start >= 0 and kind in ("Mn", "Mc")):
            start = position if start < 0 else start
        elif start >= 0:
            words.append(text[start:position])
            start = -1
    return words if start < 0 else [*words, text[start:]]


def extract_words(text: str) -> list[str]:
    """Return the distinct words of a query, in lower case, in order; unspaced runs as character pairs."""
    words: dict[str, None] = {}
    for word in map(str.lower, find_words(unicodedata.normalize("NFC", text[:MAX_QUERY_CHARS]))):
        position = 0
        for run in UNSPACED_RUN.finditer(word):
            words.update(dict.fromkeys(filter(None, [word[position : run.start()], *(_pair_up(run[0]) or run[0])])))
            position = run.end()
        if word[position:]:
            words[word[position:]] = None
    return list(words)[:MAX_QUERY_TERMS]


def extract_query_terms(text: str) -> list[str]:
    """Return the words worth searching for: stop words are out unless there is nothing else.

    FTS5 keeps a letter that case folding spells out ("ß"), so such a word is looked for in both spellings.
    """
    words = extract_words(text)
    kept = [word for word in words if word not in STOP_WORDS] or words
    return kept if text.isascii() else list(dict.fromkeys(spelling for word in kept for spelling in _spell(word)))


def make_match_expression(text: str, owner: str | None) -> str | None:
    """Return an FTS5 MATCH expression, or None when the text holds no word.

    Every term is quoted, so nothing in a query is ever syntax; terms are joined by OR and left to bm25 to weigh.
    """
    terms = extract_query_terms(text)
    if not terms:
        return None
    words = " OR ".join(_quote_term(term) for term in terms)
    expression = f"{{content key terms}} : ({words})"
    return expression if owner is None else f'owner : "{make_owner_term(owner)}" AND {expression}'


def make_lookup_expression(text: str) -> str | None:
    """Return an expression for rows that hold every word of the text, the last one perhaps not written to its end."""
    words = extract_words(text)
    if not words:
        return None
    *whole, last = words
    return f"{{content key terms}} : ({' AND '.join([*map(_quote_term, whole), _quote_term(last).rstrip('*') + '*'])})"


def make_owner_term(owner: str) -> str:
    """The owner as one word of the index; must agree with `migrations/sql/fulltext.up.sql`."""
    return f"o{owner.encode('utf-8', 'surrogatepass').hex()}0"


def _spell(word: str) -> tuple[str, ...]:
    folded = unicodedata.normalize("NFC", word.casefold())
    return (word,) if folded == word.replace("ς", "σ") else (word, folded)


def _quote_term(term: str) -> str:
    lone_unspaced = len(term) == 1 and UNSPACED_RUN.match(term) is not None
    return f'"{term}"*' if lone_unspaced else f'"{term}"'


def _pair_up(run: str) -> list[str]:
    return [first + second for first, second in pairwise(run)]
