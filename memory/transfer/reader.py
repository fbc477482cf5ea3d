"""From a file to rows: what format it is, told by what is in it, and the rows in it, one after the other."""

import codecs
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final

from core.errors import FieldError, InvalidFieldsError
from core.words import gettext as _
from memory.transfer.documents import HEAD_BYTES, Document, list_documents
from memory.transfer.formats import (
    chatgpt,
    claude,
    databases,
    librechat,
    mem0,
    memories,
    open_webui,
    own,
)
from memory.transfer.formats.lines import open_text, read_line, split_lines
from memory.transfer.json_stream import BrokenFileError, JsonStream
from memory.transfer.rows import BadRow, ForeignMemory, Reading

AUTO: Final = "auto"
# Lists of rows stand under these names where a file is one object.
WRAPPERS: Final = frozenset({"memories", "data", "results", "items", "conversations"})
WIDE_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
UNKNOWN: Final = _("What is in the file is not recognised; say its format, or see the guide for what can be read")
# So many rows are looked at to find one that tells the format.
LOOKED_AT: Final = 20

Rows = Iterator[ForeignMemory | BadRow]
Elements = Iterable[Any]


@dataclass(frozen=True, slots=True)
class Format:
    """`title` is for people. A format that `keeps_times` is of this kind of program: its times are retention's too."""

    name: str
    title: str
    keeps_times: bool = False


FORMATS: Final = (
    Format("omniroute", _("OmniRoute Memory's own export (JSONL)"), keeps_times=True),
    Format("memories", _("Memories as JSON or JSON Lines"), keeps_times=True),
    Format("csv", _("Table (CSV)"), keeps_times=True),
    Format("omniroute-db", _("OmniRoute database (storage.sqlite)"), keeps_times=True),
    Format("mem0", _("mem0 export")),
    Format("chatgpt", _("ChatGPT data export")),
    Format("claude", _("Claude data export")),
    Format("open-webui", _("Open WebUI memories")),
    Format("librechat", _("LibreChat memories")),
)
FORMATS_BY_NAME: Final = {item.name: item for item in FORMATS}


@dataclass(frozen=True, slots=True)
class _Rule:
    """How rows of one look are read: whether a first row is one, and what to make of them all."""

    format: str
    recognises: Callable[[Mapping[str, Any]], bool]
    read: Callable[[Elements, Reading], Rows]


def _each(read_one: Callable[[Mapping[str, Any]], ForeignMemory | BadRow]) -> Callable[[Elements, Reading], Rows]:
    def read(elements: Elements, reading: Reading) -> Rows:
        for element in elements:
            if isinstance(element, BadRow):
                yield element
            else:
                yield read_one(element) if isinstance(element, dict) else BadRow(_("it is no object"))

    return read


# The first that recognises a row has it, so those that ask for more come first.
_RULES: Final = (
    _Rule("chatgpt", chatgpt.recognises, chatgpt.read_conversations),
    _Rule("claude", claude.recognises, claude.read_conversations),
    _Rule("claude", claude.recognises_memory, claude.read_memories),
    _Rule("librechat", librechat.recognises, _each(librechat.read_memory)),
    _Rule("mem0", mem0.recognises, _each(mem0.read_memory)),
    _Rule("open-webui", open_webui.recognises, _each(open_webui.read_memory)),
    _Rule("chatgpt", chatgpt.recognises_memory, _each(chatgpt.read_memory)),
    _Rule("memories", memories.recognises, _each(memories.read_memory)),
)


def read_source(path: Path, format_name: str, reading: Reading) -> tuple[Format, Rows]:
    """Return the format of what is at `path` and its rows. Errors of the file as a whole come while rows are read, too.

    With "auto" as `format_name` the content decides. Raises BrokenFileError, TooLargeError, InvalidFieldsError.
    """
    if format_name != AUTO and format_name not in FORMATS_BY_NAME:
        told = _("Must be one of: %(names)s") % {"names": ", ".join([AUTO, *FORMATS_BY_NAME])}
        raise InvalidFieldsError([FieldError("format", told)])
    documents = list_documents(path)
    opened = [_open_rows(document, format_name, reading) for document in documents]
    return FORMATS_BY_NAME[opened[0][0]], (row for _, rows in opened for row in rows)


def _open_rows(document: Document, format_name: str, reading: Reading) -> tuple[str, Rows]:
    head = document.read_head()
    if not head.strip(codecs.BOM_UTF8 + b" \t\r\n"):
        raise BrokenFileError(_("The file is empty"))
    if head.startswith(databases.START):
        return _open_database(document, format_name, reading)
    if head.startswith(WIDE_MARKS) or b"\0" in head[:1024]:
        raise BrokenFileError(_("The file is not UTF-8 text; save it as UTF-8"))
    text = head.decode("utf-8-sig", "ignore").lstrip()
    if format_name == "csv" or (format_name == AUTO and text[:1] not in ("{", "[") and memories.looks_like_table(text)):
        return "csv", _read_table(document, reading)
    are_lines = text.startswith("{") and _looks_like_lines(text, is_whole=len(head) < HEAD_BYTES)
    first = _find_first(document, are_lines)
    if format_name == "omniroute" or (format_name == AUTO and _is_own(first)):
        return "omniroute", _read_own(document, reading)
    rule = _choose_rule(first, format_name)
    if rule is None and (format_name not in (AUTO, "memories") or first):
        told = UNKNOWN if format_name == AUTO else _("The file is none of the format %(name)s") % {"name": format_name}
        raise BrokenFileError(told)
    if rule is None:  # an empty list: nothing to import, and nothing wrong
        return "memories", _read_elements(document, are_lines, _each(memories.read_memory), reading)
    return rule.format, _read_elements(document, are_lines, rule.read, reading)


def _is_own(first: list[Any]) -> bool:
    return bool(first) and isinstance(first[0], dict) and own.recognises(first[0])


def _open_database(document: Document, format_name: str, reading: Reading) -> tuple[str, Rows]:
    if document.member is not None:
        raise BrokenFileError(_("Take the database out of the zip first"))
    name = databases.recognise(document.path)
    if name is None or format_name not in (AUTO, name):
        raise BrokenFileError(_("The database has no table of memories that is known here"))
    return name, databases.read(document.path, reading)


def _choose_rule(first: list[Any], format_name: str) -> _Rule | None:
    rules = [rule for rule in _RULES if format_name in (AUTO, rule.format)]
    rows = [row for row in first if isinstance(row, dict)]
    return next((rule for row in rows for rule in rules if rule.recognises(row)), None)


def _find_first(document: Document, are_lines: bool) -> list[Any]:
    """The first elements, whatever they are."""
    with document.open() as file:
        return list(islice(_iterate_lines(file) if are_lines else _iterate_document(file), LOOKED_AT))


def _looks_like_lines(text: str, *, is_whole: bool) -> bool:
    """Tell JSON Lines from a JSON document that begins with an object."""
    lines = [line.strip() for line in text.split("\n")]
    if len(lines) == 1 and not is_whole:
        return False
    value = read_line(lines[0].encode())
    if isinstance(value, dict):
        return not (WRAPPERS & value.keys()) or len([line for line in lines if line]) > 1
    return lines[0].endswith("}") and len(lines) > 1


def _read_own(document: Document, reading: Reading) -> Rows:
    with document.open() as file:
        yield from own.read(file, reading)


def _read_table(document: Document, reading: Reading) -> Rows:
    with document.open() as file:
        yield from memories.read_table(file, reading.notes)


def _read_elements(
    document: Document, are_lines: bool, read: Callable[[Elements, Reading], Rows], reading: Reading
) -> Rows:
    with document.open() as file:
        yield from read(_iterate_lines(file) if are_lines else _iterate_document(file), reading)


def _iterate_lines(file: IO[bytes]) -> Iterator[Any]:
    for line in split_lines(file):
        value = read_line(line)
        if value is not None:
            yield value


def _iterate_document(file: IO[bytes]) -> Iterator[Any]:
    """The elements of a list, or of the list that an object wraps; else the object itself."""
    try:
        with open_text(file) as text:
            stream = JsonStream(text)
            if stream.peek() == "[":
                yield from stream.read_array()
            elif stream.peek() == "{":
                yield from _iterate_members(stream)
            else:
                raise BrokenFileError(UNKNOWN)
            stream.end()
    except UnicodeDecodeError:
        raise BrokenFileError(_("The file is not UTF-8")) from None


def _iterate_members(stream: JsonStream) -> Iterator[Any]:
    members: dict[str, Any] = {}
    is_wrapper = False
    for name in stream.read_members():
        if name in WRAPPERS and stream.peek() == "[":
            is_wrapper = True
            yield from stream.read_array()
        else:
            members[name] = stream.read_value()
    if not is_wrapper:
        yield members
