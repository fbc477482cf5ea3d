"""Rows of the log of requests, made without a chat, and memories that they carry."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from gateway.models import RequestLog
from gateway.recording import FinishedCall, RequestRecorder
from memory import services
from memory.records import MemoryDraft

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def make_call(**fields: Any) -> FinishedCall:
    """A plain answered call of the owner "A" unless the fields say otherwise."""
    plain: dict[str, Any] = {
        "request_id": uuid.uuid4().hex,
        "arrived_at": timezone.now(),
        "owner": "A",
        "key_name": "app",
        "model": "stub/m",
        "provider": "stub",
        "session_id": "s",
        "is_stream": False,
        "status": 200,
        "outcome": RequestLog.Outcome.ANSWERED,
        "duration_ms": 20.0,
        "first_byte_ms": 10.0,
        "memory_state": RequestLog.MemoryState.ON,
        "carried": (),
        "memory_tokens": 0,
        "retrieval_ms": 2.0,
        "memory_ms": 3.0,
        "tier": "fts5",
        "strategy": "hybrid",
        "fallback_reason": "",
        "error_code": "",
        "error_message": "",
        "user_text": "",
        "answer_text": "",
    }
    return FinishedCall(**{**plain, **fields})


def write_calls(*calls: FinishedCall) -> None:
    """Write them as the server's thread does."""
    recorder = RequestRecorder()
    for call in calls:
        recorder.note(call)
    assert recorder.flush()


def write_many(count: int, *, newest_at: datetime, **fields: Any) -> list[str]:
    """So many calls, one a second, the newest last; returns their ids in that order."""
    moments = [newest_at - timedelta(seconds=back) for back in reversed(range(count))]
    calls = [make_call(arrived_at=moment, **fields) for moment in moments]
    write_calls(*calls)
    return [call.request_id for call in calls]


def remember(owner: str = "A", session: str = "s", key: str = "tea") -> str:
    return services.create(MemoryDraft(owner, key, f"likes {key}", session_id=session)).id


def carry(*memory_ids: str) -> dict[str, Any]:
    """The fields of a call whose prompt held these memories."""
    return {"carried": tuple((memory_id, 0.5, 7) for memory_id in memory_ids), "memory_tokens": 7 * len(memory_ids)}
