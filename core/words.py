"""Sentences for people, made in English, that can be shown in another language wherever they have got to by then.

A job's failure is read on a page days after, a page's failure goes into a log, and a reason that one request left in
the process is told to another. So a sentence is an English `str` to everything that stores, logs or sends it, and
remembers how it was made: `translate`, and any template that prints it, says it in the active language.

`gettext` and `ngettext` are called as Django's are, which is why translators' tools find their texts.
"""

from collections.abc import Iterable
from typing import Any, Self

from django.utils import translation
from django.utils.html import escape
from django.utils.safestring import SafeString


class Words(str):
    """An English sentence, with its message id and the values that were put into it."""

    __slots__ = ("_count", "_message", "_plural", "_values")

    _count: int
    _message: str
    _plural: str | None
    _values: Any

    def __new__(
        cls, text: str, message: str | None = None, plural: str | None = None, count: int = 0, values: Any = None
    ) -> Self:
        words = super().__new__(cls, text)
        words._message = text if message is None else message
        words._plural, words._count, words._values = plural, count, values
        return words

    def __mod__(self, values: Any) -> "Words":
        return Words(super().__mod__(values), self._message, self._plural, self._count, values)

    def __html__(self) -> SafeString:
        """What templates print: the sentence in the active language, escaped."""
        return escape(self.say())

    def say(self) -> str:
        """Return the sentence in the active language."""
        if self._plural is None:
            said = translation.gettext(self._message)
        else:
            said = translation.ngettext(self._message, self._plural, self._count)
        return said if self._values is None else said % _translate_values(self._values)


def gettext(message: str) -> Words:
    """Mark a sentence for translation; `% {...}` puts values into it, which may be Words themselves."""
    return Words(message)


def ngettext(singular: str, plural: str, count: int) -> Words:
    """As `gettext`, of a sentence that changes with a number."""
    return Words(singular if count == 1 else plural, singular, plural, count)


def join_words(separator: str, parts: Iterable[str]) -> Words:
    """Return the parts with the separator between them, each of which is translated where the whole is."""
    values = {f"part{number}": part for number, part in enumerate(parts)}
    return Words(separator.join(values.values()), separator.join(f"%({name})s" for name in values), values=values)


def translate(text: str) -> str:
    """Return `text` in the active language if it is Words, else as it is."""
    return text.say() if isinstance(text, Words) else text


def _translate_values(values: Any) -> Any:
    if isinstance(values, dict):
        return {name: translate(value) if isinstance(value, str) else value for name, value in values.items()}
    return values


def read_words(error: Exception) -> str:
    """Return what an exception was told, as Words where it was: `str(error)` has forgotten how it was made."""
    told = error.args[0] if error.args else ""
    return told if isinstance(told, str) else str(error)
