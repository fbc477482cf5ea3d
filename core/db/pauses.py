"""A breath between the transactions of somebody who writes much.

SQLite's waiters poll, ten times a second in the end. Who comes back at once would starve them, however short each of
its transactions is.
"""

import threading
import time
from typing import Final

from django.db import connection

# So long one may write without a breath, and so long is one: together they cost a sixth of the time.
WORK_SECONDS: Final = 0.1
PAUSE_SECONDS: Final = 0.02
_LAST: Final = threading.local()


def let_others_write() -> None:
    """Wait a moment between two transactions, unless this thread did so just before."""
    if connection.in_atomic_block or time.monotonic() - getattr(_LAST, "breath", 0.0) < WORK_SECONDS:
        return
    time.sleep(PAUSE_SECONDS)
    _LAST.breath = time.monotonic()
