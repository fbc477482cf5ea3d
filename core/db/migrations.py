"""Bring the database up to date, whoever asks first: the server's start, or a command on a fresh data folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from core.db.sqlite.driver import DRIVER

LOCK_FILE_NAME: Final = "migrations.lock"
LOCK_TIMEOUT_SECONDS: Final = 120.0
# What SQLite says, and what the operator is told.
FAILURES: Final = (
    ("not a database", "is not a SQLite database; move it away, or set DATA_DIR to another folder"),
    ("malformed", "is damaged; put a backup in its place"),
    ("readonly", "is read-only; allow writing to the file and its folder, or set DATA_DIR to another folder"),
    ("unable to open", "can't be opened; check the rights on the file and its folder, or set DATA_DIR"),
    ("already exists", "holds tables of another program; set DATA_DIR to another folder"),
    ("locked", "is locked by another program; end that first"),
    ("full", "can't grow: the disk is full"),
)


def ensure_migrated() -> None:
    """Apply what is pending, quietly. Safe when several processes start at once: one works, the others wait.

    Raises ImproperlyConfigured with one line when the database can't be used.
    """
    path = Path(connection.settings_dict["NAME"])
    with _tell_failures(path):
        _make_private_file(path)
        if has_pending_migrations():
            with _hold_lock(path.with_name(LOCK_FILE_NAME)):
                if has_pending_migrations():
                    call_command("migrate", verbosity=0, interactive=False, skip_checks=True)


def ensure_writable() -> None:
    """Raise ImproperlyConfigured with one line when the database can be read but not written to."""
    with _tell_failures(Path(connection.settings_dict["NAME"])):
        # Deletes nothing, and needs the right to. An empty transaction would not do: SQLite begins one on a
        # read-only file without complaint.
        MigrationRecorder(connection).migration_qs.filter(app="").delete()


def has_pending_migrations() -> bool:
    """Tell whether the code has migrations that the database lacks; DatabaseError when it can't be read."""
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def describe_failure(path: Path, error: Exception) -> str:
    """Return one line for the operator on why the database file can't be used."""
    text = str(error)
    return f"{path} {next((told for sign, told in FAILURES if sign in text), f'can not be used: {text}')}"


@contextmanager
def _tell_failures(path: Path) -> Iterator[None]:
    try:
        yield
    except (DatabaseError, DRIVER.dbapi.Error) as error:
        raise ImproperlyConfigured(describe_failure(path, error)) from None
    except OSError as error:
        raise ImproperlyConfigured(f"{path} can't be used: {error.strerror}") from None


def _make_private_file(path: Path) -> None:
    """Create the file for its owner alone: it holds what people said. SQLite's side files take its mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.touch(mode=0o600)


@contextmanager
def _hold_lock(path: Path) -> Iterator[None]:
    """Hold a lock that other processes wait for and that a killed process leaves behind open.

    The lock is SQLite's own on an empty database beside the real one: it works on every system we run on, and the
    real one can't serve, because a migration begins and ends transactions itself.
    """
    lock = DRIVER.dbapi.connect(str(path), timeout=LOCK_TIMEOUT_SECONDS, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        lock.close()
