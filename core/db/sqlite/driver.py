"""Which SQLite library this process talks through: chosen once, and only one.

Many Python builds (pyenv's, macOS') ship a `sqlite3` that can't load extensions, so sqlite-vec can't live in it.
Two SQLite libraries on one file in one process are worse than none: closing the handle of one drops the POSIX locks
of the other, and a committed write can be lost. Whoever needs SQLite asks for `DRIVER.dbapi`, never for `sqlite3`.
"""

import importlib
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

MODULES: Final = {
    "stdlib": "sqlite3.dbapi2",
    "pysqlite3": "pysqlite3.dbapi2",
    "sqlean": "sqlean.dbapi2",
}


@dataclass(frozen=True)
class Driver:
    """`dbapi` is the DB-API module; typed loosely because the three libraries share no stubs."""

    name: str
    dbapi: Any
    loads_extensions: bool

    @property
    def label(self) -> str:
        extensions = "extensions load" if self.loads_extensions else "extensions can't be loaded"
        return f"{self.name} (SQLite {self.dbapi.sqlite_version}, {extensions})"


def choose_driver(preference: str) -> Driver:
    """Return the driver named, or for `auto` the first that can load extensions, else the standard library's."""
    if preference != "auto":
        driver = _open_driver(preference)
        if driver is None:
            raise ImproperlyConfigured(f"SQLITE_DRIVER={preference}, but that library is not installed")
        return driver
    for name in MODULES:
        driver = _open_driver(name)
        if driver is not None and driver.loads_extensions:
            return driver
    standard = _open_driver("stdlib")
    if standard is None:
        raise ImproperlyConfigured("this Python has no sqlite3 module and no other SQLite library is installed")
    return standard


def _open_driver(name: str) -> Driver | None:
    try:
        dbapi = importlib.import_module(MODULES[name])
    except ImportError:
        return None
    connection = dbapi.connect(":memory:")
    try:
        return Driver(name, dbapi, _loads_extensions(connection, dbapi))
    finally:
        connection.close()


def _loads_extensions(connection: Any, dbapi: Any) -> bool:
    if not hasattr(connection, "enable_load_extension"):
        return False
    try:
        connection.enable_load_extension(True)
    except dbapi.Error:
        return False
    return True


DRIVER: Final = choose_driver(settings.SQLITE_DRIVER)
