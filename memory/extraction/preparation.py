"""From raw text to a page that can be read: cleaned characters, and a lower-case copy of the same length."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .foreign_blocks import blank_foreign_blocks

MAX_INPUT_CHARS = 65_536

_SURROGATES = re.compile("[\ud800-\udfff]")
# Characters without a glyph that typing, copying or hiding leaves inside words. Bidi overrides and tag
# characters stay: a claim that holds one is refused later, not mended.
_INVISIBLE = re.compile("[\u200b\u200e\u200f\u2060-\u2064\u2066-\u2069\u00ad\ufeff\x00-\x08\x0e-\x1f\x7f]")
# Joiners carry meaning in Persian, Hindi and emoji, none between Latin letters or at the edge of a word.
_LATIN_JOINER = re.compile("(?<=[A-Za-z])[\u200c\u200d]|[\u200c\u200d](?=[A-Za-z\\s])")
_LINE_BREAK = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_SPACES = re.compile(r"[^\S\n]+")
_SPACED_BREAK = re.compile(r" ?\n ?")
_BLANK_LINES = re.compile(r"\n{3,}")
_ENTITIES = {"&#39;": "'", "&apos;": "'", "&rsquo;": "'", "&nbsp;": " ", "&quot;": '"'}
_ENTITY = re.compile("|".join(_ENTITIES))

_FORMAT_TAG = re.compile(r"</?(?:b|i|u|em|strong|span|mark|small)(?: [^<>\n]{0,200})?>", re.I)
_BLOCK_TAG = re.compile(r"</?(?:p|br|div|li|ul|ol|h[1-6])(?: [^<>\n]{0,200})? ?/?>", re.I)
_STARS = re.compile(r"(?<![\w*])\*{1,3}(?=[\w\"'“(])|(?<=[\w.!?,;:)\"'”])\*{1,3}(?![\w*])")
_UNDERLINED = re.compile(r"(?<!\w)_([^\W_][^_\n]{0,200})_(?!\w)")
_DOUBLE_UNDERLINED = re.compile(r"(?<!\w)__([^\W_][^_\n]{0,200} [^_\n]{0,200})__(?!\w)")
# A link that tracks or hides something keeps its address, and is refused for it later.
_PLAIN_LINK = re.compile(r"(?<!!)\[([^\[\]\n]{1,200})\]\(https?://[^\s()?&@%]{1,300}\)")
_LIST_MARK = re.compile(r"^(?:[-*+•‣◦–] |\d{1,3}[.)] |#{1,6} |\[[ xX]\] )+", re.M)

_BACKTICK_CONTRACTION = re.compile(r"(?<=[a-z])`(?=(?:ll|m|ve|d|t|re|s)\b)")
_WIDE_LATIN = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if code != 0xFF07}
_VIEW_MARKS = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02bc\u02bb\u00b4\u2032\uff07\u055a"), "'")
_VIEW_TABLE: dict[int, str] = _WIDE_LATIN | _VIEW_MARKS


@dataclass(frozen=True)
class Page:
    """`text` as it is quoted in facts; `view` is what rules read. Both have the same length."""

    text: str
    view: str


def prepare_page(raw: str) -> Page:
    """Keep the last 65,536 characters of `raw`, clean them, and add the copy that rules read."""
    text = raw
    if len(raw) > MAX_INPUT_CHARS:
        text = raw[-MAX_INPUT_CHARS:]
        if not raw[-MAX_INPUT_CHARS - 1].isspace():
            text = _drop_cut_word(text)
    text = _normalise_characters(text)
    text = _strip_markup(blank_foreign_blocks(text, build_view(text)))
    return Page(text, build_view(text))


def build_view(text: str) -> str:
    """Lower-case, straight apostrophes, narrow letters; character for character beside `text`."""
    # U+0130 is the one letter whose lower case is two characters long.
    view = text.replace("\u0130", "i").lower().translate(_VIEW_TABLE)
    return _BACKTICK_CONTRACTION.sub("'", view)


def _drop_cut_word(text: str) -> str:
    """A word whose beginning was cut off must not be read as another word."""
    parts = text.split(maxsplit=1)
    return parts[1] if len(parts) == 2 and not text[0].isspace() else text


def _normalise_characters(text: str) -> str:
    text = _SURROGATES.sub("", text)
    text = _LINE_BREAK.sub("\n", text)
    text = _INVISIBLE.sub("", text)
    text = _LATIN_JOINER.sub("", text)
    text = _ENTITY.sub(lambda found: _ENTITIES[found.group()], text)
    text = _SPACED_BREAK.sub("\n", _SPACES.sub(" ", text))
    return _BLANK_LINES.sub("\n\n", text)


def _strip_markup(text: str) -> str:
    """Take away what only formats: bold, italics, list bullets, headings, plain links, harmless HTML tags."""
    text = _PLAIN_LINK.sub(r"\1", text)
    text = _BLOCK_TAG.sub("\n", _FORMAT_TAG.sub("", text))
    text = _LIST_MARK.sub("", text)
    text = _DOUBLE_UNDERLINED.sub(r"\1", _STARS.sub("", text))
    return _UNDERLINED.sub(r"\1", text)
