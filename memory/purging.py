"""Delete for good what can't be retrieved any more. Off unless an operator switches the periodic task on."""

from datetime import datetime, timedelta

import structlog
from django.utils import timezone

from memory.backends.stale_rows import delete_some, select_expired, select_unrefreshed
from memory.config import load_settings
from memory.models import MemoryQuerySet

logger = structlog.get_logger(__name__)

# Few enough that nobody who wants to write waits long for one batch.
BATCH_ROWS = 200


def count_expired() -> int:
    """How many memories are past their expiry."""
    return select_expired(timezone.now()).count()


def count_beyond_retention() -> int:
    """How many memories retention keeps out of every prompt, by the saved number of days."""
    return select_unrefreshed(_retained_since()).count()


def purge_expired() -> int:
    """Delete memories past their expiry; return how many."""
    return _purge(select_expired(timezone.now()), "expired")


def purge_beyond_retention() -> int:
    """Delete memories that retention keeps out of every prompt; return how many."""
    return _purge(select_unrefreshed(_retained_since()), "beyond_retention")


def _retained_since() -> datetime:
    return timezone.now() - timedelta(days=load_settings().retention_days)


def _purge(rows: MemoryQuerySet, kind: str) -> int:
    count = 0
    while deleted := delete_some(rows, BATCH_ROWS):
        count += deleted
    logger.info("memory.purged", kind=kind, count=count)
    return count
