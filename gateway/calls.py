"""One chat call from its arrival to its end, as the log of requests will tell it."""

import time
from asyncio import CancelledError
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Final

from core.accounts.keys import Caller
from core.error_handler import translate_error
from core.errors import AppError, UpstreamError
from core.words import gettext as _
from gateway.models import RequestLog
from gateway.recording import RECORDER, FinishedCall
from memory.records import Retrieval

Outcome = RequestLog.Outcome
MemoryState = RequestLog.MemoryState

# What web servers write down for a client that did not wait for its answer.
CLIENT_LEFT_STATUS: Final = 499
# Of the user's last message and of the answer, where the log keeps text.
MAX_TEXT_CHARS: Final = 4000
REFUSALS: Final = {
    401: _("The provider refused its own key"),
    402: _("The provider asks for payment"),
    403: _("The provider refused its own key, or the model"),
    404: _("The provider does not know the model"),
    413: _("The request is too large for the provider"),
    429: _("The provider limits the rate"),
}


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """What memory did to a call. `carried` is (id, score, tokens) of each memory put in, in order."""

    state: str
    carried: tuple[tuple[str, float, int], ...] = ()
    tokens: int = 0
    search_ms: float | None = None
    total_ms: float | None = None
    retrieval: Retrieval | None = None


class OpenCall:
    """Collects what becomes known of a call on its way, and hands it to the log once, when it is over.

    As a context manager it ends calls that nobody else has ended: those that broke before their answer began, and
    those whose client left.
    """

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        self._arrived_at = datetime.now(UTC)
        self._started = time.perf_counter()
        self._caller: Caller | None = None
        self._model = self._session_id = self._provider = ""
        self._is_stream = False
        self._memory = MemoryReport(MemoryState.UNKNOWN)
        self._first_byte_ms: float | None = None
        self._user_text = self._answer_text = ""
        self._keeps_text = False
        self._is_handed_on = self._is_over = False

    def __enter__(self) -> "OpenCall":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, CancelledError):
            self.leave()
        elif isinstance(error, Exception):
            self.fail(error)
        elif not self._is_handed_on:
            self.fail(None)

    # --- what becomes known on the way ---
    def name_caller(self, caller: Caller | None) -> None:
        self._caller = caller

    def name_request(self, model: str, session_id: str, *, is_stream: bool) -> None:
        self._model, self._session_id, self._is_stream = model, session_id, is_stream

    def name_provider(self, provider: str) -> None:
        self._provider = provider

    def tell_memory(self, report: MemoryReport) -> None:
        self._memory = report

    @property
    def keeps_text(self) -> bool:
        """Whether the log is to have what was said: an operator wants it, and the caller did not opt out of memory."""
        return self._keeps_text

    def keep_user_text(self, text: str) -> None:
        """From here on the answer's text is kept too."""
        self._keeps_text, self._user_text = True, text[:MAX_TEXT_CHARS]

    def keep_answer_text(self, text: str) -> None:
        if self._keeps_text:
            self._answer_text = text[:MAX_TEXT_CHARS]

    def mark_first_byte(self) -> None:
        if self._first_byte_ms is None:
            self._first_byte_ms = self._measure_ms()

    def hand_on(self) -> None:
        """Whoever relays the stream ends the call."""
        self._is_handed_on = True

    # --- how it ends ---
    def answer(self, status: int, retry_after: str = "") -> None:
        """The provider's answer is through, whatever its status."""
        if status < 400:
            self._end(status, Outcome.ANSWERED)
            return
        outcome = Outcome.REFUSED if status < 500 else Outcome.FAILED
        message = REFUSALS.get(status) or f"The provider answered with status {status}"
        if retry_after.isdecimal():
            message += f", retry after {int(retry_after)} s"
        self._end(status, outcome, "provider_status", message)

    def break_off(self, status: int, error: UpstreamError | None) -> None:
        """A stream whose head was out already did not come to its end. Without an error, the provider told one."""
        code, message = (
            (error.code, error.message) if error else ("provider_error", "The provider told an error in its stream")
        )
        self._end(status, Outcome.BROKEN, code, message)

    def fail(self, error: Exception | None) -> None:
        """The call ended in an error of ours, or in one that we tell for the provider."""
        told = translate_error(error or AppError(_("No answer was made")))
        outcome = Outcome.REFUSED if told.status < 500 else Outcome.FAILED
        self._end(told.status, outcome, told.code, told.message)

    def leave(self, status: int = CLIENT_LEFT_STATUS) -> None:
        """The client did not wait for the end."""
        self._end(status, Outcome.LEFT, "client_left", "The client closed the connection before the answer was over")

    def _end(self, status: int, outcome: str, code: str = "", message: str = "") -> None:
        if self._is_over:
            return
        self._is_handed_on = self._is_over = True
        RECORDER.note(self._build_call(status, outcome, code, message))

    def _build_call(self, status: int, outcome: str, code: str, message: str) -> FinishedCall:
        memory, caller = self._memory, self._caller
        return FinishedCall(
            request_id=self.request_id,
            arrived_at=self._arrived_at,
            owner=caller.key_id if caller else "",
            key_name=caller.name if caller else "",
            model=self._model,
            provider=self._provider,
            session_id=self._session_id,
            is_stream=self._is_stream,
            status=status,
            outcome=outcome,
            duration_ms=self._measure_ms(),
            first_byte_ms=self._first_byte_ms,
            memory_state=memory.state,
            carried=memory.carried,
            memory_tokens=memory.tokens,
            retrieval_ms=memory.search_ms,
            memory_ms=memory.total_ms,
            tier=_read_tier(memory.retrieval),
            strategy=memory.retrieval.outcome.strategy if memory.retrieval else "",
            fallback_reason=(memory.retrieval.outcome.fallback_reason or "") if memory.retrieval else "",
            error_code=code,
            error_message=message,
            user_text=self._user_text,
            answer_text=self._answer_text,
        )

    def _measure_ms(self) -> float:
        return round((time.perf_counter() - self._started) * 1000, 1)


def measure_ms(started: float) -> float:
    """Milliseconds since `started`, a reading of `time.perf_counter`, to the tenth."""
    return round((time.perf_counter() - started) * 1000, 1)


def _read_tier(retrieval: Retrieval | None) -> str:
    if retrieval is None:
        return ""
    return retrieval.outcome.hits[0].tier if retrieval.outcome.hits else "none"
