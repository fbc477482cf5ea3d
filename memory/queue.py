"""Names of memory's background jobs, one function each. A payload is what the job needs to be done after a crash."""

from collections.abc import Sequence
from datetime import datetime

from core.jobs.queue import enqueue, enqueue_once

EXTRACT_FACTS = "memory.extract_facts"
FETCH_MODELS = "memory.fetch_models"
INDEX_PENDING = "memory.index_pending"


def enqueue_extraction(
    *,
    owner: str,
    session_id: str,
    user_text: str,
    assistant_text: str,
    injected: Sequence[str],
    said_at: datetime,
) -> None:
    """Have the facts of one exchange taken out. The texts live in the job row until the job is done.

    `injected` are the contents of the memories that the request carried: an answer that repeats one tells no news.
    """
    payload = {
        "owner": owner,
        "sessionId": session_id,
        "userText": user_text,
        "assistantText": assistant_text,
        "injected": list(injected),
        "saidAt": said_at.isoformat(),
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
