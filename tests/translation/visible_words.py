"""What somebody who looks at a page, points at it or has it read to them gets to know of it."""

import json
import re
from html.parser import HTMLParser
from typing import Final

from tests.translation.pseudo_language import CLOSE, OPEN

# Told by browsers and screen readers, or by our scripts when something happens.
READ_ATTRIBUTES: Final = ("title", "aria-label", "aria-description", "aria-valuetext", "placeholder", "alt", "label")
# Data or machines' words, whatever the language.
UNREAD_ELEMENTS: Final = ("script", "style", "code", "kbd", "pre", "samp", "textarea", "time")
# What is put on the clipboard, or has to be typed.
UNREAD_DATA: Final = ("data-copy", "data-must-be")
BUTTONS: Final = ("submit", "button", "reset")
WITHOUT_END: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
# Stands between the texts of two elements.
NODE: Final = "\x1f"
MARKED: Final = re.compile(f"{OPEN}[^{OPEN}{CLOSE}]*{CLOSE}")
# A word of two letters of ours; those of the data in these tests are Greek, Django's own Arabic.
LATIN_WORD: Final = re.compile(r"[A-Za-z]{2,}")
# Ids, addresses, names of models and settings, versions.
IDENTIFIER: Final = re.compile(r"\S*(?:[/_@=]|[0-9][A-Za-z]|[A-Za-z][0-9]|\w[.:-]\w)\S*|OmniRoute Memory")


class VisibleWords(HTMLParser):
    """Collects every text that is shown, and the attributes that are."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.attributes: list[str] = []
        self._unread: list[str] = []
        self._is_drawn = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag in UNREAD_ELEMENTS or (self._unread and tag not in WITHOUT_END) or attributes.get("translate") == "no":
            self._unread.append(tag)
        self.text += NODE
        self._is_drawn = tag == "script" and attributes.get("type") == "application/json"
        self.attributes += [attributes[name] for name in READ_ATTRIBUTES if name in attributes]
        told = [value for name, value in attributes.items() if name.startswith("data-") and name not in UNREAD_DATA]
        self.attributes += [value for value in told if _is_sentence(value)]
        if tag == "input" and attributes.get("type") in BUTTONS:
            self.attributes.append(attributes.get("value", ""))

    def handle_endtag(self, tag: str) -> None:
        self.text += NODE
        self._is_drawn = False
        if self._unread and self._unread[-1] == tag:
            self._unread.pop()

    def handle_data(self, data: str) -> None:
        if self._is_drawn:
            self.attributes += _list_strings(json.loads(data))
        elif not self._unread:
            self.text += data


def _list_strings(value: object) -> list[str]:
    """What a script shows of the JSON beside it."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for item in value for text in _list_strings(item)]
    return [value] if isinstance(value, str) else []


def _is_sentence(value: str) -> bool:
    return " " in value.strip() and not value.lstrip().startswith(("{", "["))


def list_untranslated(html: str, *, known: frozenset[str] = frozenset()) -> list[str]:
    """Return the texts of a page that hold a word that is neither translated nor part of a name that is `known`."""
    parser = VisibleWords()
    parser.feed(html)
    parser.close()
    texts = [*_drop_translated(parser.text).split(NODE), *map(_drop_translated, parser.attributes)]
    names = re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, sorted(known, key=len, reverse=True))) + r")(?!\w)")
    left = [(text, IDENTIFIER.sub(" ", text)) for text in texts]
    return [" ".join(text.split()) for text, words in left if LATIN_WORD.search(names.sub(" ", words))]


def _drop_translated(text: str) -> str:
    """What is left beside sentences of the pseudo-language. One may hold another, and markup in its midst."""
    while (shorter := MARKED.sub(" ", text)) != text:
        text = shorter
    return text
