"""SQLite files of other installations: an OmniRoute storage.sqlite, new or old, and Open WebUI's webui.db.

They are only read. Where a writer has left a log beside the file, a copy of both is opened instead: reading the log
means writing beside it. Always through the driver's own library, never a second one.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from django.db import connection

from core.db.sqlite.driver import DRIVER
from core.words import gettext as _
from memory.transfer.formats import open_webui
from memory.transfer.json_stream import BrokenFileError
from memory.transfer.rows import BadRow, ForeignMemory, Reading, read_epoch

START: Final = b"SQLite format 3\0"
NAME: Final = "omniroute-db"
SIDE_FILES: Final = ("-wal", "-journal")
# Neither a view nor a virtual table, whatever the file calls them.
FIND_TABLE: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND lower(name) = ? AND sql LIKE 'CREATE TABLE%'"
# Field -> its column in the tables `memories` and `memory` (the one that OmniRoute had first).
COLUMNS: Final[Mapping[str, tuple[str, str]]] = {
    "id": ("id", "id"),
    "owner": ("api_key_id", "apiKeyId"),
    "session_id": ("session_id", "sessionId"),
    "type": ("type", "type"),
    "key": ("key", "key"),
    "content": ("content", "content"),
    "metadata": ("metadata", "metadata"),
    "created_at": ("created_at", "createdAt"),
    "updated_at": ("updated_at", "updatedAt"),
    "expires_at": ("expires_at", "expiresAt"),
}


def recognise(path: Path) -> str | None:
    """Return the name of the format that the database's tables are of, None if of none."""
    with _open(path) as opened:
        columns = {table: _list_columns(opened, table) for table in ("memories", "memory")}
    if "api_key_id" in columns["memories"] or "apiKeyId" in columns["memory"]:
        return NAME
    return open_webui.NAME if columns["memory"] >= open_webui.COLUMNS else None


def read(path: Path, reading: Reading) -> Iterator[ForeignMemory | BadRow]:
    """Yield the memories, those that were changed last at the end: of rows with one key, the newest counts."""
    with _open(path) as opened:
        columns = {table: _list_columns(opened, table) for table in ("memories", "memory")}
        if columns["memory"] >= open_webui.COLUMNS:
            names = sorted(open_webui.COLUMNS)
            for row in _select(opened, "memory", names, "updated_at"):
                yield open_webui.read_memory(dict(zip(names, row, strict=True)))
            return
        is_old = "api_key_id" not in columns["memories"]
        table = "memory" if is_old else "memories"
        if not is_old and "apiKeyId" in columns["memory"] and _count(opened, "memory"):
            told = _("The old table memory was not read (%(count)d rows): memories is newer")
            reading.notes.append(told % {"count": _count(opened, "memory")})
        yield from _read_omniroute(opened, table, columns[table], reading, is_old=is_old)


def _read_omniroute(
    opened: Any, table: str, there: set[str], reading: Reading, *, is_old: bool
) -> Iterator[ForeignMemory | BadRow]:
    known = {field: names[is_old] for field, names in COLUMNS.items() if names[is_old] in there}
    moment = known.get("updated_at") or known.get("created_at") or "rowid"
    for row in _select(opened, table, list(known.values()), f"datetime({moment})"):
        values = dict(zip(known, row, strict=True))
        for field in ("created_at", "updated_at", "expires_at"):
            values[field] = read_epoch(values.get(field))
        values["metadata"] = _read_metadata(values.get("metadata"), reading)
        values["session_id"] = values.get("session_id") or ""
        yield ForeignMemory(values.pop("content", None), **values, tells_expiry="expires_at" in known)


def _read_metadata(value: Any, reading: Reading) -> Any:
    """What is no object in there is of no use to anybody: it is left out and counted, the memory is not."""
    if not value:
        return {}
    try:
        metadata = json.loads(value)
    except (ValueError, TypeError, RecursionError):
        metadata = None
    if isinstance(metadata, dict):
        return metadata
    reading.broken_metadata += 1
    return {}


def _select(opened: Any, table: str, columns: Sequence[str], order: str) -> Iterator[Sequence[Any]]:
    names = ", ".join(f'"{name}"' for name in columns)
    try:
        yield from opened.execute(f"SELECT {names} FROM {table} ORDER BY {order}, rowid")  # noqa: S608  # literal names
    except DRIVER.dbapi.Error:
        raise BrokenFileError(_("The database is damaged")) from None


def _count(opened: Any, table: str) -> int:
    return int(opened.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608  # literal names


def _list_columns(opened: Any, table: str) -> set[str]:
    """The columns of a real table. A view is passed over: what it says may be made up without end, in a tiny file."""
    try:
        if opened.execute(FIND_TABLE, [table]).fetchone() is None:
            return set()
        return {row[1] for row in opened.execute(f"PRAGMA table_info({table})")}
    except DRIVER.dbapi.Error:
        raise BrokenFileError(_("The database is damaged, or encrypted")) from None


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    own = Path(str(connection.settings_dict["NAME"]))
    if own.exists() and own.samefile(path):
        # Reading the file past SQLite would drop the locks of this process on it.
        raise BrokenFileError(_("That is this server's own database; memory_export takes memories out of it"))
    with _find_readable(path) as readable:
        opened = DRIVER.dbapi.connect(f"{readable.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        # Broken characters cost the row and not the file: the check of the row finds them.
        opened.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def _find_readable(path: Path) -> Iterator[Path]:
    """The file itself where nobody has left a log beside it, else a copy into which the log was taken over."""
    sides = [path.with_name(path.name + suffix) for suffix in SIDE_FILES]
    if not any(side.exists() and side.stat().st_size for side in sides):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="memory-import-") as folder:
        copy = Path(folder) / "source.sqlite"
        for suffix in ("", *SIDE_FILES):
            side = path.with_name(path.name + suffix)
            if side.exists():
                shutil.copyfile(side, copy.with_name(copy.name + suffix))
        opened = DRIVER.dbapi.connect(str(copy))
        try:
            opened.execute("PRAGMA journal_mode = DELETE").fetchone()
        except DRIVER.dbapi.Error:
            raise BrokenFileError(_("The database is damaged")) from None
        finally:
            opened.close()
        yield copy
