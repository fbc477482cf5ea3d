"""What memory's background jobs do. Each takes the job's payload, is safe to run twice and safe to kill."""

import uuid
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.utils import timezone

from core import metrics
from embeddings.resolver import prepare
from memory import purging, queue, upkeep, usage
from memory.backends import states, synchronisation
from memory.background import forget_old_work
from memory.bulk_changes import BulkChange, run_bulk_change, run_undo
from memory.config import MEMORY_SECTION, load_settings
from memory.erasing import erase_again, run_erasing
from memory.extraction import extract_facts
from memory.indexing import index_batch
from memory.records import EraseScope
from memory.search.rerank import prepare_reranker
from memory.services import ASSISTANT_SOURCE, USER_SOURCE, remember_fact
from memory.summarization import CompactionScope, do_count, make_scope, run_compaction
from memory.summarization import purge_archives as purge_kept_rows
from memory.transfer import do_import, forget_stale_uploads
from memory.vector_stores import qdrant_sync
from memory.vector_stores.qdrant_reconciliation import reconcile

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
    request_id = payload.get("requestId", "")  # jobs that an older version queued have none
    count = 0
    for facts, source in readings:
        for fact in facts:
            record = remember_fact(fact, owner=owner, session_id=session_id, source=source, said_at=said_at)
            if record is None:
                continue
            count += 1
            if request_id:
                usage.note_extraction(request_id, owner, record.id, said_at)
    return count


def change_many(payload: dict[str, Any]) -> None:
    """Do what an operator has asked for to many memories at once (payload of `queue.enqueue_bulk_change`)."""
    # Jobs that an older version queued have neither.
    undo_id, work_id = payload.get("undoId", ""), payload.get("workId", "")
    run_bulk_change(BulkChange(payload["kind"], tuple(payload["memoryIds"]), payload["type"], undo_id, work_id))


def undo_change(payload: dict[str, Any]) -> None:
    """Take a large change back (payload of `queue.enqueue_undo`)."""
    run_undo(payload["undoId"], is_forced=payload["isForced"], work_id=payload.get("workId", ""))


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
        # The flags that were set are changes too, which Qdrant has to pass by to be current.
        queue.enqueue_vector_sync()
        if report.retry_at is not None:
            queue.enqueue_indexing(report.retry_at, reason=reason)
        elif report.is_outage:
            queue.enqueue_indexing(timezone.now() + timedelta(seconds=OUTAGE_SECONDS), reason=reason)
        return


def sync_qdrant(payload: dict[str, Any]) -> None:
    """Write to Qdrant what has changed; while that can't be done, a later job tries again."""
    report = qdrant_sync.sync()
    if report.retry_at is not None:
        queue.enqueue_vector_sync(report.retry_at, reason=report.reason or "")


def reconcile_qdrant(payload: dict[str, Any]) -> None:
    """Compare Qdrant with the memories and mend it both ways; `isForced` makes every vector anew."""
    reconcile(is_forced=payload.get("isForced", False))


def compact_old(payload: dict[str, Any]) -> None:
    """Summarize every owner's old memories while the setting autoSummarize is on."""
    values = MEMORY_SECTION.read()
    if values["autoSummarize"]:
        run_compaction(make_scope(None, values["autoSummarizeOlderThanDays"]), str(uuid.uuid4()))


def compact_many(payload: dict[str, Any]) -> None:
    """Compact what an operator has asked for (payload of `queue.enqueue_compaction`)."""
    scope = CompactionScope(payload["owner"], datetime.fromisoformat(payload["before"]))
    run_compaction(scope, payload["undoId"], work_id=payload["workId"])


def count_old(payload: dict[str, Any]) -> None:
    """Count what compaction would do (payload of `queue.enqueue_counting`)."""
    do_count(payload["owner"], payload["days"], payload["workId"])


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
    """Keep the indexes small and the planner informed; delete uploads that nobody has confirmed, and old work."""
    forget_stale_uploads()
    forget_old_work()
    upkeep.merge_fulltext_index()
    upkeep.close_vector_holes()
    upkeep.refresh_statistics()


def import_upload(payload: dict[str, Any]) -> None:
    """Import an upload that was confirmed (payload of `queue.enqueue_import`)."""
    do_import(payload["ticketId"], payload["options"], work_id=payload.get("workId", ""))


def mirror_backend(payload: dict[str, Any]) -> None:
    """Bring a fallback up to date with the primary (payload of `queue.enqueue_mirroring`)."""
    synchronisation.mirror(payload)


def check_backends(payload: dict[str, Any]) -> None:
    """Ask the backends in use how they are, for the pages that show it."""
    for name, health in states.check_backends().items():
        if not health.is_ok:
            logger.warning("memory.backends.unwell", backend=name, reason=health.error)


def erase_all(payload: dict[str, Any]) -> None:
    """Erase everything of a key or a session (payload of `queue.enqueue_scope_erasing`)."""
    scope = EraseScope(payload["owner"], payload["sessionId"])
    run_erasing(scope, payload["workId"], erased_by=payload["erasedBy"])


def erase_rest(payload: dict[str, Any]) -> None:
    """Erase what an erasure could not reach (payload of `queue.enqueue_erasing`)."""
    erase_again(EraseScope(payload["owner"], payload["sessionId"]))
