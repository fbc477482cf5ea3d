"""Who uses the data folder: servers, workers and beats hold a shared lock, a restore takes it for itself alone.

The lock is SQLite's own on an empty file beside the database: it works on every system we run on and ends with the
process, however that ends.
"""

from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from core.db.sqlite.driver import DRIVER

LOCK_FILE_NAME: Final = "running.lock"
# A restore holds the lock for as long as it checks and copies.
WAIT_SECONDS: Final = 30.0


class Presence:
    """This process's hold on the lock, kept until it ends."""

    def __init__(self) -> None:
        self._lock: Any = None

    def announce(self) -> bool:
        """Hold the shared lock and tell whether nobody else did. Raises ImproperlyConfigured during a restore."""
        if self._lock is not None:
            return False
        lock = _open_lock(WAIT_SECONDS)
        was_alone = _try_exclusively()
        try:
            lock.execute("BEGIN")
            lock.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except DRIVER.dbapi.OperationalError:
            lock.close()
            raise ImproperlyConfigured("the data folder is being restored; start again when that is done") from None
        self._lock = lock
        return was_alone

    def leave(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None


class SoleUse:
    """Context manager: nobody else may start meanwhile. Raises ImproperlyConfigured when somebody is there."""

    def __enter__(self) -> None:
        self._lock = _open_lock(0.0)
        try:
            self._lock.execute("BEGIN EXCLUSIVE")
        except DRIVER.dbapi.OperationalError:
            self._lock.close()
            raise ImproperlyConfigured(
                f"a server, worker or beat is running on {settings.DATA_DIR}; stop it first"
            ) from None

    def __exit__(self, *_: object) -> None:
        self._lock.close()


def _try_exclusively() -> bool:
    lock = _open_lock(0.0)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except DRIVER.dbapi.OperationalError:
        return False
    finally:
        lock.close()
    return True


def _open_lock(timeout_seconds: float) -> Any:
    """Autocommit, and usable from any thread: the server lets go of it in another than it took it in."""
    return DRIVER.dbapi.connect(
        str(settings.DATA_DIR / LOCK_FILE_NAME), timeout=timeout_seconds, isolation_level=None, check_same_thread=False
    )


PRESENCE: Final = Presence()
