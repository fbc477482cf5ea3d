"""Read a copy of what an upstream answers while the answer itself runs on untouched.

Nothing here may fail on what an upstream sends: what can't be understood is skipped, the caller still gets it.
"""

import json
import re
import zlib
from collections.abc import Iterator
from typing import Any, Final

from gateway.payload import read_text_parts

# As much of an answer's end as facts are taken from (contract 5.6).
MAX_TEXT_CHARS: Final = 65_536
# A line longer than this holds a picture or sound, no text that we are after.
MAX_LINE_BYTES: Final = 4 * 1024 * 1024
MAX_DECODED_BYTES: Final = 64 * 1024 * 1024
MAX_MEMBERS_A_CHUNK: Final = 64
GZIP_OR_ZLIB: Final = zlib.MAX_WBITS | 32
DONE: Final = b"[DONE]"
_LINE_END: Final = re.compile(rb"\r\n|\n|\r")


class BodyDecoder:
    """Undo an answer's content encoding, chunk by chunk; what can't be undone gives b"" from there on."""

    def __init__(self, content_encoding: str) -> None:
        encoding = content_encoding.strip().lower()
        self._is_plain = encoding in ("", "identity")
        self._is_readable = self._is_plain or encoding in ("gzip", "x-gzip", "deflate")
        self._decompressor: zlib._Decompress | None = None
        self._head = b""
        self._decoded_bytes = 0

    def decode(self, chunk: bytes) -> bytes:
        """Return the plain bytes that `chunk` completes."""
        if self._is_plain:
            return chunk
        if not self._is_readable:
            return b""
        try:
            return self._inflate(chunk)
        except zlib.error:
            self._is_readable = False
            return b""

    def _inflate(self, chunk: bytes) -> bytes:
        if self._decompressor is None:
            self._head += chunk
            if len(self._head) < 2:
                return b""
            chunk, self._decompressor = self._head, zlib.decompressobj(_choose_window(self._head))
        allowed = MAX_DECODED_BYTES - self._decoded_bytes
        plain = self._decompressor.decompress(chunk, allowed + 1)
        for _ in range(MAX_MEMBERS_A_CHUNK):  # servers that compress event by event start a new gzip member each
            rest = self._decompressor.unused_data
            if not rest:
                break
            self._decompressor = zlib.decompressobj(GZIP_OR_ZLIB)
            plain += self._decompressor.decompress(rest, allowed + 1)
        self._decoded_bytes += len(plain)
        if self._decoded_bytes > MAX_DECODED_BYTES:
            raise zlib.error("more than a chat answer can be")
        return plain


def _choose_window(head: bytes) -> int:
    """Some servers send "deflate" without the zlib header that the standard asks for."""
    has_header = head.startswith(b"\x1f\x8b") or (head[0] & 15 == 8 and int.from_bytes(head[:2]) % 31 == 0)
    return GZIP_OR_ZLIB if has_header else -zlib.MAX_WBITS


class StreamReader:
    """Collect the text of choice 0 from a stream of server-sent events, however the network has cut it.

    `has_ended` once `[DONE]` was seen, `has_failed` once the upstream told an error inside the stream.
    """

    def __init__(self, content_encoding: str) -> None:
        self.has_ended = False
        self.has_failed = False
        self._decoder = BodyDecoder(content_encoding)
        self._pending = bytearray()
        self._skips_line = False
        self._data_lines: list[bytes] = []
        self._texts: list[str] = []
        self._text_chars = 0

    @property
    def text(self) -> str:
        return join_surrogates("".join(self._texts))[-MAX_TEXT_CHARS:]

    def feed(self, chunk: bytes) -> None:
        for line in self._split_lines(self._decoder.decode(chunk)):
            self._read_line(line)
        # Enough for a client to stop reading, so it is enough for us, line end or not.
        if len(self._pending) < 32 and _read_data(bytes(self._pending)) == DONE:
            self.has_ended = True

    def close(self) -> None:
        """The upstream is through: read an event that lacks its closing blank line."""
        self._read_line(bytes(self._pending))
        self._pending.clear()
        self._read_event()

    def _split_lines(self, chunk: bytes) -> Iterator[bytes]:
        start = 0
        if chunk and self._pending.endswith(b"\r"):
            start = 1 if chunk.startswith(b"\n") else 0
            yield self._take_line(b"", 1)
        for match in _LINE_END.finditer(chunk, start):
            if match.group() == b"\r" and match.end() == len(chunk):
                break  # perhaps half of \r\n
            yield self._take_line(chunk[start : match.start()])
            start = match.end()
        self._pending += chunk[start:]
        if len(self._pending) > MAX_LINE_BYTES:
            self._skips_line = True
            del self._pending[:-1]

    def _take_line(self, rest: bytes, cut: int = 0) -> bytes:
        line = bytes(self._pending[: len(self._pending) - cut]) + rest
        self._pending.clear()
        if self._skips_line:
            self._skips_line = False
            return b":"  # a comment, in place of the line that was too long
        return line

    def _read_line(self, line: bytes) -> None:
        if not line:
            self._read_event()
            return
        data = _read_data(line)
        if data is None:
            return
        if data == DONE:
            self.has_ended = True
        self._data_lines.append(data)

    def _read_event(self) -> None:
        data, self._data_lines = b"\n".join(self._data_lines), []
        if not data or data == DONE:
            return
        event = _parse(data)
        if event is None:
            return
        if event.get("error"):
            self.has_failed = True
        for text in _read_choice(event, "delta"):
            self._texts.append(text)
            self._text_chars += len(text)
        if self._text_chars > 4 * MAX_TEXT_CHARS:
            self._texts = ["".join(self._texts)[-2 * MAX_TEXT_CHARS :]]
            self._text_chars = len(self._texts[0])


def read_answer_text(body: bytes, content_encoding: str) -> str:
    """Return the text of choice 0 of a whole answer; "" when there is none or it can't be read.

    An upstream that answers in another API's shape is understood too: `content` parts or `output_text` (contract 5.6).
    """
    answer = _parse(BodyDecoder(content_encoding).decode(body))
    if answer is None or answer.get("error"):
        return ""
    return join_surrogates("\n".join(_read_said(answer)))[-MAX_TEXT_CHARS:]


def join_surrogates(text: str) -> str:
    """Put halves of a character that met again together; drop those that stayed alone, and NUL."""
    if "\0" in text:
        text = text.replace("\0", "")
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")


def _read_data(line: bytes) -> bytes | None:
    return line[5:].strip() if line.startswith(b"data:") else None


def _parse(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _read_said(answer: dict[str, Any]) -> list[str]:
    said = list(_read_choice(answer, "message"))
    if not said and isinstance(parts := answer.get("content"), list):
        said = list(read_text_parts(parts))
    if not said and isinstance(text := answer.get("output_text"), str):
        said = [text]
    return said


def _read_choice(answer: dict[str, Any], field: str) -> Iterator[str]:
    """Yield the texts of choice 0; other choices, tool calls and reasoning are nothing that was said."""
    choices = answer.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict) and choice.get("index") in (0, None):
            said = choice.get(field)
            yield from read_text_parts(said.get("content") if isinstance(said, dict) else None)
            return
