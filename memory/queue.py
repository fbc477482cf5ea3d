"""Names of memory's background jobs, one function each. A payload is what the job needs to be done after a crash."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from core.jobs.queue import enqueue, enqueue_once
from qdrant_admin.config import is_qdrant_on

BULK_CHANGE = "memory.bulk_change"
COMPACT = "memory.compact"
COUNT_OLD = "memory.count_old"
ERASE = "memory.erase"
ERASE_SCOPE = "memory.erase_scope"
EXTRACT_FACTS = "memory.extract_facts"
FETCH_MODELS = "memory.fetch_models"
IMPORT = "memory.import"
INDEX_PENDING = "memory.index_pending"
RECONCILE_QDRANT = "memory.reconcile_qdrant"
SYNC_QDRANT = "memory.sync_qdrant"
MIRROR_BACKEND = "memory.mirror_backend"
UNDO_CHANGE = "memory.undo_change"


def enqueue_bulk_change(
    kind: str, memory_ids: Sequence[int], type: str | None, undo_id: str, *, work_id: str = ""
) -> None:
    """Have many memories deleted, expired, retyped, flagged or erased; see `memory.bulk_changes`."""
    ids = list(memory_ids)
    payload = {"kind": kind, "memoryIds": ids, "type": type, "undoId": undo_id, "count": len(ids), "workId": work_id}
    enqueue(BULK_CHANGE, payload)


def enqueue_compaction(owner: str | None, before: datetime, undo_id: str, count: int, *, work_id: str) -> None:
    """Have what is older than that moment compacted, about `count` memories; see `memory.summarization`."""
    payload = {"kind": "compact", "undoId": undo_id, "count": count, "workId": work_id}
    enqueue(COMPACT, {**payload, "owner": owner, "before": before.isoformat()})


def enqueue_counting(owner: str | None, older_than_days: int, work_id: str) -> None:
    """Have it counted what compaction would do; see `memory.summarization`."""
    enqueue(COUNT_OLD, {"owner": owner, "days": older_than_days, "workId": work_id})


def enqueue_undo(undo_id: str, count: int, *, is_forced: bool, work_id: str = "") -> None:
    """Have a change of `count` memories taken back; see `memory.bulk_changes`."""
    enqueue(UNDO_CHANGE, {"undoId": undo_id, "count": count, "isForced": is_forced, "workId": work_id})


def enqueue_extraction(
    *,
    owner: str,
    session_id: str,
    user_text: str,
    assistant_text: str,
    injected: Sequence[str],
    said_at: datetime,
    request_id: str = "",
) -> None:
    """Have the facts of one exchange taken out. The texts live in the job row until the job is done.

    `injected` are the contents of the memories that the request carried: an answer that repeats one tells no news.
    `request_id` is what the log of requests knows the exchange by.
    """
    payload = {
        "owner": owner,
        "sessionId": session_id,
        "userText": user_text,
        "assistantText": assistant_text,
        "injected": list(injected),
        "saidAt": said_at.isoformat(),
        "requestId": request_id,
    }
    enqueue(EXTRACT_FACTS, payload)


def enqueue_fetching() -> None:
    """Have the local models that the settings name fetched, those too that could not be fetched before."""
    enqueue_once(FETCH_MODELS)


def enqueue_indexing(run_at: datetime | None = None, *, reason: str = "") -> None:
    """Have every memory that waits for its vector indexed; the rows themselves say which those are.

    `reason` says why it must wait until `run_at`.
    """
    enqueue_once(INDEX_PENDING, run_at=run_at, reason=reason)
    if run_at is None:
        # Whoever has written something has it written to Qdrant too, where that is on.
        enqueue_vector_sync()


def enqueue_import(ticket_id: str, options: Mapping[str, Any], *, work_id: str = "") -> None:
    """Have an upload imported; `options` are the fields of the import's options."""
    enqueue(IMPORT, {"ticketId": ticket_id, "options": dict(options), "workId": work_id})


def enqueue_scope_erasing(work_id: str, owner: str, session_id: str | None, erased_by: str) -> None:
    """Have everything of an owner, or of a session, erased; see `memory.erasing`."""
    enqueue(ERASE_SCOPE, {"workId": work_id, "owner": owner, "sessionId": session_id, "erasedBy": erased_by})


def enqueue_erasing(owner: str, session_id: str | None, run_at: datetime) -> None:
    """Have what an erasure could not reach tried again."""
    enqueue(ERASE, {"owner": owner, "sessionId": session_id}, run_at=run_at)


def enqueue_mirroring(
    backend_id: str, memories: Sequence[Sequence[str]], *, tries: int = 0, run_at: datetime | None = None
) -> None:
    """Have a fallback brought up to date with the primary for these memories (id, owner, key before the change)."""
    payload = {"backend": backend_id, "memories": [list(memory) for memory in memories], "tries": tries}
    enqueue(MIRROR_BACKEND, payload, run_at=run_at)


def enqueue_vector_sync(run_at: datetime | None = None, *, reason: str = "") -> None:
    """Have what has changed written to Qdrant; does nothing while that is switched off.

    `memory_changes` says what has changed, so a write that nobody announces is found by the next run.
    """
    if is_qdrant_on():
        enqueue_once(SYNC_QDRANT, run_at=run_at, reason=reason)


def enqueue_vector_reconciliation(*, is_forced: bool = False) -> None:
    """Have Qdrant compared with the memories and mended, with `is_forced` every vector made anew."""
    if is_qdrant_on():
        enqueue(RECONCILE_QDRANT, {"isForced": is_forced})
