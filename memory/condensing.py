"""The beginning of a text, cut where sentences end, in any script. Pure.

Where a text runs on for long without an end of sentence, a bound ends one: at a word's or clause's end if there is
one near, else between two characters that a reader sees as two.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

MAX_SENTENCE_CHARACTERS: Final = 300
ELLIPSIS: Final = "…"

# End marks that no other use is known of: Han, Devanagari, Urdu, Arabic, Hebrew, Armenian, Ethiopic, Burmese, Khmer,
# Tibetan, Mongolian, Sinhala, Canadian, Santali and Meitei ones. A full-width dot between digits is a decimal point.
_OWN_MARKS: Final = "。｡︒！？‼⁇⁈⁉।॥۔؟׃։።፧။។៕།༎᠃᠉෴᙮᱾᱿꯫"
_CLOSERS: Final = r"""["'”’»›)\]}」』）】〕》〉*_`]*"""
_END: Final = re.compile(
    rf"(?:[{_OWN_MARKS}]|．(?!\d))[{_OWN_MARKS}．.!?…]*{_CLOSERS}"
    rf"|(?P<shared>[.!?…]+){_CLOSERS}"
    r"|(?P<line>\n[^\S\n]*\n|\n(?=[^\S\n]*(?:[-*•–]|\d{1,3}[.)])\s))"
)
_WORD_BEFORE: Final = re.compile(r"[^\s(\[{«“„\"']*$")
_LOOK_BACK: Final = 24
# Words whose dot ends no sentence, whatever follows: titles and such as stand before what they tell of.
_NEVER_LAST: Final = frozenset(
    """
    dr mr mrs ms mx prof st mt ft fr hr sra srta dra mme mlle vs fig eq ch vol eds cf ca approx resp incl excl gen col
    capt lt sgt rev hon gov sen rep pres inc ltd co corp dept tel bzw ggf vgl evtl inkl bspw sog hrsg str nr p pp pág
    núm av ул стр см др тыс млн руб прим pvz žr tūkst
    """.split()
)
_BEFORE_NUMBER: Final = frozenset({"no", "n°", "nos"})
_BEFORE_MORE: Final = frozenset({"etc", "usw", "al", "jr", "sr"})
_DOTTED: Final = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")
# From here on scripts are written without spaces, so that nothing need follow an end mark.
_FIRST_EAST_ASIAN: Final = "\u2e80"
_CLAUSE_ENDS: Final = frozenset(",;:，、；：،؛")
_JOINER: Final = "\u200d"
_MAX_CLUSTER: Final = 32


@dataclass(frozen=True, slots=True)
class Piece:
    """`text[start:end]` is one sentence; `is_bounded` when a bound ended it before its time."""

    start: int
    end: int
    is_bounded: bool = False


class CondensedLine(NamedTuple):
    """`text` holds the first `sentences` sentences; `is_cut` when even the first of them did not fit whole."""

    text: str
    sentences: int
    is_cut: bool = False

    def fits(self, *, max_sentences: int, max_characters: int) -> bool:
        """Whether the same text, condensed to bounds as tight as these or tighter than before, gives this line too."""
        return not self.is_cut and self.sentences <= max_sentences and len(self.text) <= max_characters


def take_sentences(text: str, count: int) -> str:
    """Return the first `count` sentences as they stand, `text` itself when it has no more than that.

    Never longer than `text`. Taking as many from the result gives the result.
    """
    last = Piece(0, 0)
    for number, piece in enumerate(split_sentences(text), start=1):
        last = piece
        if number == count:
            break
    kept = text[: last.end].rstrip()
    if not text[len(kept) :].strip():
        return text
    return kept + ELLIPSIS if last.is_bounded else kept


def condense_line(text: str, *, max_sentences: int, max_characters: int) -> str:
    """Return one line of the first sentences that fit whole, the first of them cut when even that does not.

    White space is folded to single spaces. Never longer than `text` nor than `max_characters`.
    """
    return condense(text, max_sentences=max_sentences, max_characters=max_characters).text


def condense(text: str, *, max_sentences: int, max_characters: int) -> CondensedLine:
    """As `condense_line`; tells too what became of the text, so that tighter bounds need not read it again."""
    line, is_bounded, start, kept = "", False, None, 0
    for number, piece in enumerate(split_sentences(text), start=1):
        start = piece.start if start is None else start
        longer = " ".join(text[start : piece.end].split())
        if line and len(longer) > max_characters:
            break
        line, is_bounded, kept = longer, piece.is_bounded, number
        if number == max_sentences:
            break
    if len(line) + is_bounded <= max_characters:
        return CondensedLine(line + ELLIPSIS if is_bounded else line, kept)
    return CondensedLine(line[: find_cut(line, 0, max_characters - 1)].rstrip() + ELLIPSIS, kept, is_cut=True)


def split_sentences(text: str) -> Iterator[Piece]:
    """Yield the sentences in order, the white space between them left out."""
    start = _skip_space(text, 0)
    while start < len(text):
        limit = start + MAX_SENTENCE_CHARACTERS
        end = _find_end(text, start, limit)
        if end is not None:
            yield Piece(start, end)
        elif len(text) <= limit:
            end = len(text)
            yield Piece(start, end)
        else:
            # One less, so that the mark of the cut still fits.
            end = find_cut(text, start, MAX_SENTENCE_CHARACTERS - 1)
            yield Piece(start, end, is_bounded=True)
        start = _skip_space(text, end)


def find_cut(text: str, start: int, max_characters: int) -> int:
    """Return where to cut `text` so that from `start` on at most `max_characters`, and at least one, are kept."""
    bound = start + max_characters
    if bound >= len(text):
        return len(text)
    earliest = start + max(1, max_characters // 2)
    for place in range(bound, earliest, -1):
        if text[place].isspace():
            return place
    for place in range(bound, earliest, -1):
        if text[place - 1] in _CLAUSE_ENDS:
            return place
    lowest = max(start, bound - _MAX_CLUSTER)
    for place in range(bound, lowest, -1):
        if not _is_inside_cluster(text, place):
            return place
    return max(bound, start + 1)


def _find_end(text: str, start: int, limit: int) -> int | None:
    """The end of the sentence that begins at `start`, if it ends before `limit`."""
    for found in _END.finditer(text, start, limit):
        if found["line"] is not None:
            return found.start()
        if found["shared"] is None or _ends_sentence(text, start, found):
            return found.end()
    return None


def _ends_sentence(text: str, start: int, found: re.Match[str]) -> bool:
    """Whether marks that have other uses too (in numbers, names, abbreviations, addresses) end a sentence here."""
    after = text[found.end() : found.end() + 1]
    if after and not after.isspace():
        before = text[found.start() - 1 : found.start()] if found.start() > start else ""
        return before >= _FIRST_EAST_ASIAN and after >= _FIRST_EAST_ASIAN
    resumes = _skip_space(text, found.end())
    following = text[resumes : resumes + 1]
    mark = found["shared"]
    if not following:
        return True
    if mark == ".":
        return _is_full_stop(text, start, found.start(), following)
    return not (following.islower() and mark[-1] in ".…")


def _is_full_stop(text: str, start: int, here: int, following: str) -> bool:
    if text[start:here].isdigit():
        return False  # the number of a list item
    before = _WORD_BEFORE.search(text, max(start, here - _LOOK_BACK), here)
    word = before[0] if before else ""
    lowered = word.lower()
    if lowered in _NEVER_LAST or _DOTTED.fullmatch(word):
        return False
    if lowered in _BEFORE_NUMBER:
        return not following.isdigit()
    if lowered in _BEFORE_MORE:
        return not following.islower()
    if word.isdigit():
        return len(word) > 2  # "on 3. May" in many languages
    return not (len(word) == 1 and word.isupper())  # "J. Doe"


def _is_inside_cluster(text: str, place: int) -> bool:
    """Whether a cut before `text[place]` would part what is seen as one character: accents, emoji, flags."""
    here, before = text[place], text[place - 1]
    if here == _JOINER or before == _JOINER or unicodedata.category(here).startswith("M"):
        return True
    if "\U0001f3fb" <= here <= "\U0001f3ff" or "\U000e0020" <= here <= "\U000e007f":
        return True
    if not _is_flag_half(here):
        return False
    run = place
    while run > 0 and place - run < _MAX_CLUSTER and _is_flag_half(text[run - 1]):
        run -= 1
    return (place - run) % 2 == 1


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _skip_space(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start
