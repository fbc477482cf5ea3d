"""Make sure that what was deleted is gone from the files, not only from the tables.

Connections overwrite what they delete (secure_delete), but the write-ahead log still holds the pages as they were
written until it is taken over into the database and cut to nothing.
"""

import time
from typing import Final

from django.db import OperationalError, connection

TRIES: Final = 20
PAUSE_SECONDS: Final = 0.1


def empty_log() -> bool:
    """Take the write-ahead log over into the database and empty it; False when readers or writers prevent it."""
    if connection.vendor != "sqlite":
        return True
    if connection.in_atomic_block:
        return False
    for _ in range(TRIES):
        if _checkpoint():
            return True
        time.sleep(PAUSE_SECONDS)
    return False


def _checkpoint() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return not cursor.fetchone()[0]
    except OperationalError:  # somebody is writing right now
        return False


def rewrite_file() -> None:
    """Write the whole database anew, without the pages that were freed before secure_delete was on. Takes its time,
    twice the space, and keeps others from writing."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
    empty_log()
