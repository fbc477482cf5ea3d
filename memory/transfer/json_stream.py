"""JSON read piece by piece, so that a large file never stands in memory as a whole."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final, TextIO

from core.errors import InvalidRequestError
from core.words import gettext as _

CHUNK_CHARACTERS: Final = 256 * 1024
# One element: a long conversation is some megabytes.
MAX_ELEMENT_CHARACTERS: Final = 64 * 1024 * 1024
# An error this close to the end of what was read may only be where the reading stopped.
_CUT_CHARACTERS: Final = 16
_SPACE: Final = re.compile(r"[ \t\r\n]+")
_AFTER_VALUE: Final = frozenset(" \t\r\n,:]}")


class BrokenFileError(InvalidRequestError):
    """The file as a whole can't be read."""

    code = "unreadable_file"


def _read_int(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:  # more digits than Python reads
        return math.nan


# NaN and its like become NaN, which the check of the row finds: so they cost one row and not the file.
DECODER: Final = json.JSONDecoder(parse_int=_read_int, parse_constant=lambda word: math.nan)


class JsonStream:
    """A reader of one JSON document. What was read is thrown away; broken JSON is a BrokenFileError."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._text = ""
        self._at = 0
        self._is_over = False

    def peek(self) -> str:
        """The next character that is no white space, "" at the end."""
        while True:
            if space := _SPACE.match(self._text, self._at):
                self._at = space.end()
            if self._at < len(self._text) or self._is_over:
                return self._text[self._at : self._at + 1]
            self._grow()

    def take(self, expected: str) -> None:
        """Go past the next character, which must be this one."""
        if self.peek() != expected:
            raise BrokenFileError(_tell_where(self.peek()))
        self._at += 1

    def read_value(self) -> Any:
        """Read the next value, whatever it is, as a whole."""
        if not self.peek():
            raise BrokenFileError(_tell_where(""))
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._is_over or not self._may_be_cut(error):
                    raise BrokenFileError(_("The file is no sound JSON")) from None
            except RecursionError:
                raise BrokenFileError(_("The file is nested too deep")) from None
            else:
                if self._is_over or not self._may_go_on(end):
                    self._at = end
                    return value
            self._grow()

    def read_array(self) -> Iterator[Any]:
        """Read the elements of the array that comes next, one after the other."""
        self.take("[")
        if self.peek() == "]":
            self.take("]")
            return
        while True:
            yield self.read_value()
            if self.peek() == "]":
                self.take("]")
                return
            self.take(",")

    def read_members(self) -> Iterator[str]:
        """Read the names of the object that comes next; the caller reads each one's value before it goes on."""
        self.take("{")
        if self.peek() == "}":
            self.take("}")
            return
        while True:
            name = self.read_value()
            if not isinstance(name, str):
                raise BrokenFileError(_("The file is no sound JSON"))
            self.take(":")
            yield name
            if self.peek() == "}":
                self.take("}")
                return
            self.take(",")

    def end(self) -> None:
        """Make sure that nothing comes after what was read."""
        if self.peek():
            raise BrokenFileError(_("The file goes on after the end of its JSON"))

    def _may_go_on(self, end: int) -> bool:
        """A number that ends where the reading stopped: 1 of 1.5, or of 1e5."""
        rest = self._text[end : end + _CUT_CHARACTERS]
        return len(rest) < _CUT_CHARACTERS and rest[:1] not in _AFTER_VALUE

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated string") or error.pos > len(self._text) - _CUT_CHARACTERS

    def _grow(self) -> None:
        """Read on, at least as much again as is open: an element is then parsed a few times at most."""
        kept = self._text[self._at :]
        if len(kept) > MAX_ELEMENT_CHARACTERS:
            told = _("An element of the file is longer than %(count)d characters")
            raise BrokenFileError(told % {"count": MAX_ELEMENT_CHARACTERS})
        read = self._stream.read(max(CHUNK_CHARACTERS, len(kept)))
        self._text, self._at, self._is_over = kept + read, 0, not read


def _tell_where(found: str) -> str:
    return _("The file is no sound JSON") if found else _("The file is cut off: its JSON has no end")
