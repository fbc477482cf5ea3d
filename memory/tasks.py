"""What memory's background jobs do. Each takes the job's payload, is safe to run twice and safe to kill."""

from datetime import datetime, timedelta
from typing import Any

import structlog
from django.utils import timezone

from memory import queue
from memory.config import load_settings
from memory.extraction import Role, extract_facts
from memory.indexing import index_batch
from memory.services import ASSISTANT_SOURCE, USER_SOURCE, remember_fact

logger = structlog.get_logger(__name__)

# How long the index waits for an embedding source that answers nothing at all.
OUTAGE_SECONDS = 60


def extract_exchange(payload: dict[str, Any]) -> None:
    """Take the facts out of one exchange (payload of `queue.enqueue_extraction`) and store them.

    Does nothing when memory was switched off in the meantime.
    """
    if not load_settings().extracts:
        return
    try:
        count = _remember_facts(payload)
    except Exception:
        # The runner keeps the reason and tries again; the event is what operators' log searches know.
        logger.warning("memory.extraction.background.failed", exc_info=True)
        raise
    logger.info("memory.extraction.background.done", facts=count)


def _remember_facts(payload: dict[str, Any]) -> int:
    said_at = datetime.fromisoformat(payload["saidAt"])
    readings: tuple[tuple[str, Role, str], ...] = (
        (payload["userText"], "user", USER_SOURCE),
        (payload["assistantText"], "assistant", ASSISTANT_SOURCE),
    )
    count = 0
    for text, role, source in readings:
        for fact in extract_facts(text, role, injected=payload["injected"]):
            record = remember_fact(
                fact, owner=payload["owner"], session_id=payload["sessionId"], source=source, said_at=said_at
            )
            count += record is not None
    return count


def index_pending(payload: dict[str, Any]) -> None:
    """Index batch after batch until nothing is due; what has to wait gets a job of its own at the right time."""
    while True:
        report = index_batch()
        if report.processed or report.errors:
            continue
        if report.retry_at is not None:
            queue.enqueue_indexing(report.retry_at)
        elif report.is_outage:
            queue.enqueue_indexing(timezone.now() + timedelta(seconds=OUTAGE_SECONDS))
        return
