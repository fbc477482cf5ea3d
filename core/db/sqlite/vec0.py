"""Load sqlite-vec's `vec0` into a connection, and remember why where that fails."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings

from core.db.sqlite.driver import DRIVER
from core.words import gettext as _


@dataclass
class VecStatus:
    """State of the process's last attempt; `reason` says what is wrong and what to do, for the operator."""

    available: bool = False
    version: str = ""
    reason: str = _("no connection was opened yet")


STATUS = VecStatus()


def load_vec0(connection: Any) -> None:
    """Load the extension where it is wanted and can be loaded. Never raises: without it, keywords still work."""
    if settings.VECTOR_STORE_DISABLE_VEC:
        _set_missing(_("switched off by VECTOR_STORE_DISABLE_VEC; unset it to use vectors"))
        return
    if not DRIVER.loads_extensions:
        told = _("this Python's SQLite library (%(name)s) can't load extensions; install pysqlite3 or sqlean.py")
        _set_missing(told % {"name": DRIVER.name})
        return
    try:
        import sqlite_vec  # optional: absent, the keyword tier answers
    except ImportError:
        _set_missing(_("the package sqlite-vec is not installed; pip install sqlite-vec"))
        return
    try:
        connection.enable_load_extension(True)
        sqlite_vec.load(connection)
        connection.enable_load_extension(False)
        version = connection.execute("SELECT vec_version()").fetchone()[0]
    except DRIVER.dbapi.Error as error:
        _set_missing(_("sqlite-vec could not be loaded: %(reason)s") % {"reason": str(error)})
        return
    STATUS.available, STATUS.version = True, str(version)
    STATUS.reason = _("sqlite-vec %(version)s is loaded") % {"version": version}


def _set_missing(reason: str) -> None:
    STATUS.available, STATUS.version, STATUS.reason = False, "", reason
