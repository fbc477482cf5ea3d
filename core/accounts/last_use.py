"""When each key was last used, written beside the requests and never in them.

A chat request must not wait for the database's one writer only to leave a time stamp. So a request notes the use
in memory, and a thread that the server starts writes it: at once for the first use, then at most once a minute a
key. Without that thread (a command, a test) notes stay in memory; `flush` writes them.
"""

import threading
import time
from datetime import datetime
from typing import Final

from django.db import DatabaseError, transaction
from django.utils import timezone
from structlog import get_logger

from core.accounts.models import ApiKey
from core.batch_writer import BatchWriter

WRITE_INTERVAL_SECONDS: Final = 60.0
RETRY_SECONDS: Final = 5.0

log = get_logger(__name__)


class LastUseRecorder(BatchWriter):
    def __init__(self) -> None:
        super().__init__("last-use", collect_seconds=0.0, retry_seconds=RETRY_SECONDS)
        self._lock = threading.Lock()
        self._unwritten: dict[str, datetime] = {}
        self._written_at_seconds: dict[str, float] = {}

    def note(self, key_id: str) -> None:
        """Remember that the key was used now; takes no time worth naming."""
        with self._lock:
            written_at = self._written_at_seconds.get(key_id)
            if written_at is not None and time.monotonic() - written_at < WRITE_INTERVAL_SECONDS:
                return
            self._unwritten[key_id] = timezone.now()
        self.wake()

    def flush(self) -> bool:
        """Write what was noted; False when the database would not have it now. What was not written is kept."""
        with self._lock:
            batch, self._unwritten = self._unwritten, {}
        if not batch:
            return True
        try:
            with transaction.atomic():
                for key_id, used_at in batch.items():
                    ApiKey.objects.filter(id=key_id).update(last_used_at=used_at)
        except DatabaseError as error:
            log.debug("accounts.last_use.postponed", error=type(error).__name__)
            with self._lock:
                self._unwritten = batch | self._unwritten
            return False
        with self._lock:
            self._written_at_seconds.update(dict.fromkeys(batch, time.monotonic()))
        return True


RECORDER: Final = LastUseRecorder()
