"""Copy the database while it is in use, and put a copy back in its place after looking at it closely.

Always through the driver's own library: a second SQLite library on one file in one process loses locks and writes.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from core.db.sqlite.driver import DRIVER
from core.db.sqlite.vec0 import load_vec0

# Told to the operator after a backup and a restore.
COUNTED_TABLES: Final = {"memories": "memories", "api_keys": "API keys", "providers": "providers", "jobs": "jobs"}
SIDE_FILES: Final = ("-wal", "-shm")


@dataclass(frozen=True)
class Contents:
    """What a database file holds: its size and the rows of the tables an operator knows, by their names."""

    size_bytes: int
    row_counts: dict[str, int]


def copy_database(target: Path) -> Contents:
    """Write a consistent copy of the live database to `target`, as one file for its owner's eyes.

    Readers and writers go on meanwhile. What stood at `target` is replaced in the end, never half.
    """
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    draft.touch(mode=0o600)
    try:
        with _open(_database_path()) as source, _open(draft) as copy:
            # In one step: page by page, every write of another process would make it begin anew.
            source.backup(copy)
            # Out of the write-ahead log, so that the copy is one file.
            copy.execute("PRAGMA journal_mode = DELETE")
            contents = _read_contents(copy, draft)
        _write_through(draft)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return contents


def stage_copy(backup: Path) -> Path:
    """Copy a backup beside the database and check the copy; return its path. Raises ImproperlyConfigured."""
    staged = _database_path().with_name(f"restoring-{os.getpid()}.sqlite")
    try:
        staged.touch(mode=0o600)
        with _open(backup, is_read_only=True) as source, _open(staged) as copy:
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
            check_database(copy)
    except (DRIVER.dbapi.Error, ImproperlyConfigured, OSError) as error:
        discard(staged)
        raise ImproperlyConfigured(f"{backup} can't be restored: {_describe(error)}") from None
    return staged


def check_database(opened: Any) -> None:
    """Raise ImproperlyConfigured unless this is a sound database of ours that this version understands."""
    problems = [row[0] for row in opened.execute("PRAGMA integrity_check(3)")]
    if problems != ["ok"]:
        raise ImproperlyConfigured(f"it is damaged ({problems[0]})")
    tables = {row[0] for row in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not {"django_migrations", "memories", "settings"} <= tables:
        raise ImproperlyConfigured("it is no database of OmniRoute Memory")
    applied = set(opened.execute("SELECT app, name FROM django_migrations"))
    known = MigrationLoader(None).disk_migrations
    newer = sorted(f"{app}.{name}" for app, name in applied - set(known) if app in {key[0] for key in known})
    if newer:
        raise ImproperlyConfigured(f"a newer version wrote it (it has {newer[0]}); update this one first")
    if "memory_fts" in tables:
        opened.execute("INSERT INTO memory_fts(memory_fts, rank) VALUES ('integrity-check', 1)")


def put_in_place(staged: Path, now: datetime) -> Path | None:
    """Let the staged copy be the database; return where the one before it was put, None when there was none."""
    current = _database_path()
    connection.close()
    kept = None
    if current.exists():
        kept = current.with_name(f"{current.stem}.before-restore-{now:%Y%m%d-%H%M%S}{current.suffix}")
        for suffix in ("", *SIDE_FILES):
            side = current.with_name(current.name + suffix)
            if side.exists():
                side.rename(kept.with_name(kept.name + suffix))
    _write_through(staged)
    staged.replace(current)
    return kept


def copy_secret_key(source: Path, target: Path) -> None:
    """Copy the key that reads stored provider keys, for its owner's eyes."""
    target.touch(mode=0o600)
    shutil.copyfile(source, target)
    target.chmod(0o600)


def discard(staged: Path) -> None:
    for suffix in ("", *SIDE_FILES, "-journal"):
        staged.with_name(staged.name + suffix).unlink(missing_ok=True)


def read_contents(path: Path) -> Contents:
    with _open(path, is_read_only=True) as opened:
        return _read_contents(opened, path)


def _database_path() -> Path:
    return Path(connection.settings_dict["NAME"])


def _read_contents(opened: Any, path: Path) -> Contents:
    tables = {row[0] for row in opened.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    counts = {
        told: int(opened.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608  # literal names
        for table, told in COUNTED_TABLES.items()
        if table in tables
    }
    return Contents(path.stat().st_size, counts)


@contextmanager
def _open(path: Path, *, is_read_only: bool = False) -> Iterator[Any]:
    uri = f"{path.absolute().as_uri()}?mode={'ro' if is_read_only else 'rw'}"
    opened = DRIVER.dbapi.connect(uri, uri=True, timeout=30, isolation_level=None)
    try:
        load_vec0(opened)
        yield opened
    finally:
        opened.close()


def _write_through(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _describe(error: Exception) -> str:
    if isinstance(error, OSError):
        return str(error.strerror)
    text = str(error)
    if "not a database" in text:
        return "it is no SQLite database"
    if "malformed" in text or "fts5" in text:
        return f"it is damaged ({text})"
    return text
