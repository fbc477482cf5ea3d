"""The log of requests is written beside the calls and never in them.

A call is noted in memory when it is over. A thread that the server starts writes what was noted in one transaction, at
the latest half a second later; a process that is killed takes that half second with it. Without the thread (a command,
a test) notes stay in memory; `flush` writes them.
"""

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.db import DatabaseError, OperationalError, transaction
from structlog import get_logger

from core.batch_writer import BatchWriter
from core.error_handler import clean_text
from gateway.models import RequestLog
from memory import usage

COLLECT_SECONDS: Final = 0.5
RETRY_SECONDS: Final = 2.0
# While the database would not have them, the newest are kept; texts are let go of long before.
MAX_WAITING_CALLS: Final = 5000
MAX_WAITING_TEXTS: Final = 200
# Few enough that nobody who wants to write waits long for one batch.
BATCH_ROWS: Final = 50
# Whoever calls without a key must not be able to fill the disk with refusals.
MAX_UNKNOWN_A_MINUTE: Final = 60

# A client that left is nobody's failure: people press Stop.
FAILURES: Final = (RequestLog.Outcome.REFUSED, RequestLog.Outcome.FAILED, RequestLog.Outcome.BROKEN)

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """A call that is over; the fields are those of `RequestLog`, times in milliseconds.

    `owner` is "" for a call without a key. `carried` is (id, score, tokens) of each memory that was put in, in order.
    """

    request_id: str
    arrived_at: datetime
    owner: str
    key_name: str
    model: str
    provider: str
    session_id: str
    is_stream: bool
    status: int
    outcome: str
    duration_ms: float
    first_byte_ms: float | None
    memory_state: str
    carried: tuple[tuple[str, float, int], ...]
    memory_tokens: int
    retrieval_ms: float | None
    memory_ms: float | None
    tier: str
    strategy: str
    fallback_reason: str
    error_code: str
    error_message: str
    user_text: str
    answer_text: str


class RequestRecorder(BatchWriter):
    def __init__(self) -> None:
        super().__init__("request-log", collect_seconds=COLLECT_SECONDS, retry_seconds=RETRY_SECONDS)
        self._lock = threading.Lock()
        self._waiting: deque[FinishedCall] = deque(maxlen=MAX_WAITING_CALLS)
        self._dropped = 0
        self._unknown_minute = self._unknown_count = 0

    def note(self, call: FinishedCall) -> None:
        """Keep a call for the log; takes no time worth naming and never fails."""
        with self._lock:
            if not call.owner and self._is_flood():
                self._dropped += 1
                return
            if len(self._waiting) >= MAX_WAITING_TEXTS and (call.user_text or call.answer_text):
                call = replace(call, user_text="", answer_text="")
            self._dropped += len(self._waiting) == MAX_WAITING_CALLS
            self._waiting.append(call)
        self.wake()

    def flush(self) -> bool:
        """Write what was noted; False when the database would not have it now. What was not written is kept."""
        while batch := self._peek():
            try:
                _write_calls(batch)
            except OperationalError as error:
                log.warning("gateway.request_log.postponed", error=type(error).__name__, waiting=len(self._waiting))
                return False
            except (DatabaseError, ValueError) as error:  # these would not have it later either
                log.error("gateway.request_log.lost", error=type(error).__name__, count=len(batch), exc_info=True)
            self._forget(batch)
        return True

    def _is_flood(self) -> bool:
        minute = int(time.monotonic() // 60)
        if minute != self._unknown_minute:
            self._unknown_minute, self._unknown_count = minute, 0
        self._unknown_count += 1
        return self._unknown_count > MAX_UNKNOWN_A_MINUTE

    def _peek(self) -> list[FinishedCall]:
        with self._lock:
            dropped, self._dropped = self._dropped, 0
            batch = [self._waiting[place] for place in range(min(BATCH_ROWS, len(self._waiting)))]
        if dropped:
            log.warning("gateway.request_log.dropped", count=dropped)
        return batch

    def _forget(self, batch: Sequence[FinishedCall]) -> None:
        """Those at the front that were written; some of them may have had to make room meanwhile."""
        written = set(map(id, batch))
        with self._lock:
            while self._waiting and id(self._waiting[0]) in written:
                self._waiting.popleft()


def _write_calls(calls: Sequence[FinishedCall]) -> None:
    rows = [_make_row(call) for call in calls]
    with transaction.atomic():
        RequestLog.objects.bulk_create(rows)
        usage.note_all_injections([_make_injection(call) for call in calls])


def _make_injection(call: FinishedCall) -> usage.Injection:
    memory_ids = [memory_id for memory_id, _, _ in call.carried]
    return usage.Injection(call.request_id, call.owner, memory_ids, call.arrived_at)


def _make_row(call: FinishedCall) -> RequestLog:
    """Cut to what the columns hold: callers choose the names of models and sessions."""
    return RequestLog(
        request_id=call.request_id,
        created_at=call.arrived_at,
        api_key_id=call.owner,
        key_name=call.key_name[:100],
        model=clean_text(call.model)[:256],
        provider=call.provider[:64],
        session_id=call.session_id[:256],
        is_stream=call.is_stream,
        status=call.status,
        outcome=call.outcome,
        is_failed=call.outcome in FAILURES,
        duration_ms=call.duration_ms,
        first_byte_ms=call.first_byte_ms,
        memory_state=call.memory_state,
        memories_injected=len(call.carried),
        memory_tokens=call.memory_tokens,
        retrieval_ms=call.retrieval_ms,
        memory_ms=call.memory_ms,
        tier=call.tier,
        strategy=call.strategy,
        fallback_reason=clean_text(call.fallback_reason)[:500],
        carried=[list(item) for item in call.carried],
        error_code=call.error_code[:64],
        error_message=clean_text(call.error_message)[:500],
        user_text=call.user_text,
        answer_text=call.answer_text,
    )


RECORDER: Final = RequestRecorder()
