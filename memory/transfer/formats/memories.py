"""Memories as the REST API tells them: what the reference's studio exports, and the plain JSON, JSONL and CSV files.

Names may be written the API's way (sessionId) or a database's (session_id).
"""

import csv
import json
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final, TextIO

from core.words import gettext as _
from memory.transfer.formats.lines import open_text
from memory.transfer.json_stream import BrokenFileError
from memory.transfer.rows import BadRow, ForeignMemory

# Field -> the names it may have, the first that is there counts.
NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "content": ("content", "text", "memory", "value"),
    "key": ("key",),
    "type": ("type",),
    "session_id": ("sessionId", "session_id"),
    "metadata": ("metadata",),
    "created_at": ("createdAt", "created_at"),
    "updated_at": ("updatedAt", "updated_at"),
    "expires_at": ("expiresAt", "expires_at"),
    "id": ("id", "uuid"),
    "owner": ("apiKeyId", "api_key_id", "owner"),
}
MAX_CELL_CHARACTERS: Final = 16 * 1024 * 1024
DELIMITERS: Final = ",;\t"


def recognises(first: Mapping[str, Any]) -> bool:
    """Whether this is such a row; it need not be a sound one."""
    return any(name in first for name in NAMES["content"]) or "key" in first


def read_memory(row: Mapping[str, Any]) -> ForeignMemory:
    """Return what the row says."""
    values = {field: next((row[name] for name in names if name in row), None) for field, names in NAMES.items()}
    return ForeignMemory(**values, tells_expiry=any(name in row for name in NAMES["expires_at"]))


def looks_like_table(head: str) -> bool:
    """Whether the first line names the columns of such a table."""
    return _find_delimiter(head) is not None


def read_table(stream: IO[bytes], notes: list[str]) -> Iterator[ForeignMemory | BadRow]:
    """Read CSV with a first line that names the columns; commas, semicolons or tabs stand between them."""
    # Of the process, and larger than what a row may have: a cell that is too long is one bad row.
    csv.field_size_limit(MAX_CELL_CHARACTERS)
    try:
        with open_text(stream, newline="") as text:
            yield from _read_rows(text, notes)
    except UnicodeDecodeError:
        raise BrokenFileError(_("The file is not UTF-8")) from None
    except csv.Error as error:
        raise BrokenFileError(_("The table can't be read: %(reason)s") % {"reason": str(error)}) from None


def _read_rows(text: TextIO, notes: list[str]) -> Iterator[ForeignMemory | BadRow]:
    header = text.readline(MAX_CELL_CHARACTERS)
    columns = next(csv.reader([header], delimiter=_find_delimiter(header) or ","), [])
    columns = [_find_column(name) for name in columns]
    if "content" not in columns:
        raise BrokenFileError(_("The table has no column content, text, memory or value"))
    if unknown := [name[1:] for name in columns if name.startswith("?")]:
        notes.append(_("Columns that are not read: %(names)s") % {"names": ", ".join(unknown[:20])})
    for cells in csv.reader(text, delimiter=_find_delimiter(header) or ","):
        if any(cells):
            yield _read_cells(columns, cells)


def _read_cells(columns: list[str], cells: list[str]) -> ForeignMemory | BadRow:
    """An empty cell says nothing."""
    if len(cells) > len(columns):
        told = _("it has %(cells)d cells and there are %(columns)d columns")
        return BadRow(told % {"cells": len(cells), "columns": len(columns)}, key=cells[0][:80])
    row: dict[str, Any] = {name: cell for name, cell in zip(columns, cells, strict=False) if cell and name[0] != "?"}
    if "metadata" in row:
        try:
            row["metadata"] = json.loads(row["metadata"])
        except (ValueError, RecursionError):
            return BadRow(_("metadata is no sound JSON"), key=str(row.get("key", "")))
    return ForeignMemory(row.pop("content", None), **row, tells_expiry="expires_at" in columns)


def _find_delimiter(header: str) -> str | None:
    first_line = header.lstrip("\ufeff").split("\n", 1)[0]
    for delimiter in DELIMITERS:
        cells = next(csv.reader([first_line], delimiter=delimiter), [])
        if "content" in [_find_column(name) for name in cells]:
            return delimiter
    return None


def _find_column(title: str) -> str:
    """The field that a column holds, "?" and its title if none."""
    folded = title.strip().lower().replace("_", "").replace(" ", "")
    for field, names in NAMES.items():
        if folded in {name.lower().replace("_", "") for name in names}:
            return field
    return f"?{title.strip()}"
