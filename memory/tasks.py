"""What memory's background jobs do. Each takes the job's payload, is safe to run twice and safe to kill."""

from datetime import datetime, timedelta
from typing import Any

import structlog
from django.utils import timezone

from core import metrics
from embeddings.resolver import prepare
from memory import purging, queue, upkeep
from memory.config import MEMORY_SECTION, load_settings
from memory.extraction import extract_facts
from memory.indexing import index_batch
from memory.search.rerank import prepare_reranker
from memory.services import ASSISTANT_SOURCE, USER_SOURCE, remember_fact
from memory.summarization import purge_archives as purge_kept_rows
from memory.summarization import summarize_older_than

logger = structlog.get_logger(__name__)

# How long the index waits for an embedding source that answers nothing at all.
OUTAGE_SECONDS = 60


def extract_exchange(payload: dict[str, Any]) -> None:
    """Take the facts out of one exchange (payload of `queue.enqueue_extraction`) and store them.

    Does nothing when memory was switched off in the meantime.
    """
    if not load_settings().extracts:
        metrics.count_extraction("off")
        return
    try:
        count = _remember_facts(payload)
    except Exception:
        # The runner keeps the reason and tries again; the event is what operators' log searches know.
        logger.warning("memory.extraction.background.failed", exc_info=True)
        metrics.count_extraction("failed")
        raise
    metrics.count_extraction("facts" if count else "nothing", count)
    logger.info("memory.extraction.background.done", facts=count)


def _remember_facts(payload: dict[str, Any]) -> int:
    said_at = datetime.fromisoformat(payload["saidAt"])
    user_text, assistant_text = payload["userText"], payload["assistantText"]
    # An answer that repeats a memory it was given, or the user's own words, tells nothing new.
    told_before = [*payload["injected"], user_text]
    readings = (
        (extract_facts(user_text, "user"), USER_SOURCE),
        (extract_facts(assistant_text, "assistant", injected=told_before), ASSISTANT_SOURCE),
    )
    owner, session_id = payload["owner"], payload["sessionId"]
    count = 0
    for facts, source in readings:
        for fact in facts:
            record = remember_fact(fact, owner=owner, session_id=session_id, source=source, said_at=said_at)
            count += record is not None
    return count


def fetch_models(payload: dict[str, Any]) -> None:
    """Fetch the local models of the settings where they are missing, and index with what came of it."""
    settings = load_settings()
    prepare(settings.embedding, retry=True)
    if settings.rerank_enabled and settings.rerank_provider_model:
        prepare_reranker(settings.rerank_provider_model)
    queue.enqueue_indexing()


def index_pending(payload: dict[str, Any]) -> None:
    """Index batch after batch until nothing is due; what has to wait gets a job of its own at the right time."""
    prepare(load_settings().embedding)
    reason = ""
    while True:
        report = index_batch()
        reason = report.reason or reason
        if report.processed or report.errors:
            continue
        if report.retry_at is not None:
            queue.enqueue_indexing(report.retry_at, reason=reason)
        elif report.is_outage:
            queue.enqueue_indexing(timezone.now() + timedelta(seconds=OUTAGE_SECONDS), reason=reason)
        return


def compact_old(payload: dict[str, Any]) -> None:
    """Summarize every owner's old memories while the setting autoSummarize is on."""
    values = MEMORY_SECTION.read()
    if values["autoSummarize"]:
        summarize_older_than(None, values["autoSummarizeOlderThanDays"])


def purge_archives(payload: dict[str, Any]) -> None:
    """Delete for good what compaction replaced and the time to undo is over for."""
    purge_kept_rows()


def purge_expired(payload: dict[str, Any]) -> None:
    """Delete memories past their expiry for good."""
    purging.purge_expired()


def purge_beyond_retention(payload: dict[str, Any]) -> None:
    """Delete memories that retention keeps out of every prompt, for good."""
    purging.purge_beyond_retention()


def do_upkeep(payload: dict[str, Any]) -> None:
    """Keep the indexes small and the query planner informed."""
    upkeep.merge_fulltext_index()
    upkeep.close_vector_holes()
    upkeep.refresh_statistics()
