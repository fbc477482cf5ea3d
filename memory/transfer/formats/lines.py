"""Text of a file whose opener closes it; and JSON Lines, one JSON value a line."""

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError
from typing import IO, Any, Final, TextIO

from core.words import gettext as _
from memory.transfer.json_stream import DECODER
from memory.transfer.rows import BadRow

# Far more than a memory may have; what is longer is one bad row and does not fill the memory.
MAX_LINE_BYTES: Final = 16 * 1024 * 1024


@contextmanager
def open_text(stream: IO[bytes], *, newline: str | None = None) -> Iterator[TextIO]:
    """The stream's bytes as UTF-8 text. The stream stays open: who has opened it closes it, perhaps before us."""
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline=newline)
    try:
        yield text
    finally:
        if not stream.closed:
            text.detach()


def split_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines as they are, without the byte order mark of the first. Of one that is too long comes a part."""
    is_first = True
    while line := stream.readline(MAX_LINE_BYTES):
        if is_first:
            line, is_first = line.removeprefix(codecs.BOM_UTF8), False
        yield line
        while len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = stream.readline(MAX_LINE_BYTES)


def read_line(line: bytes) -> dict[str, Any] | BadRow | None:
    """Return the object of a line; None for an empty line."""
    try:
        text = line.decode().strip()
        if not text:
            return None
        value = DECODER.decode(text)
    except UnicodeDecodeError:
        return BadRow(_("the line is not UTF-8"))
    except JSONDecodeError:
        return BadRow(_("the line is no sound JSON"))
    except RecursionError:
        return BadRow(_("the line is nested too deep"))
    return value if isinstance(value, dict) else BadRow(_("the line is no object"))
