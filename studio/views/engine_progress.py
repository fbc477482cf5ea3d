"""How far a reindex has come, how fast it goes and how long it will take.

The speed is what was done since an earlier look at the page. That look travels in the address that the page polls, so
that no process has to remember it: any of several servers may answer the next one.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from memory.engine_status import EngineStatus, IndexStatus
from studio.wording import tell_duration, write_number

MIN_SPAN_SECONDS: Final = 2.0
# A look older than this makes way for a newer one, so that the speed is that of now.
MAX_SPAN_SECONDS: Final = 90.0


@dataclass(frozen=True, slots=True)
class Mark:
    """An earlier look: `done` memories had their vector at `at_seconds` (Unix time)."""

    at_seconds: float
    done: int

    def __str__(self) -> str:
        return f"{self.at_seconds:.1f}_{self.done}"


@dataclass(frozen=True, slots=True)
class Progress:
    """`per_second` and `seconds_left` are None until two looks tell them.

    `retrying` failed and will be tried again, `given_up` failed too often and wait for a reindex.
    """

    is_running: bool
    is_waiting: bool
    done: int
    total: int
    per_second: float | None
    seconds_left: float | None
    retrying: int
    given_up: int
    next_run_at: datetime | None
    waits_for: str
    active: IndexStatus | None
    building: IndexStatus | None
    mark: Mark | None

    @property
    def percent(self) -> int:
        """Whole percent, 100 only when all is done."""
        return 100 if self.done >= self.total else 100 * self.done // max(self.total, 1)

    @property
    def rate_text(self) -> str:
        return "" if self.per_second is None else write_number(max(round(self.per_second), 1))

    @property
    def left_text(self) -> str:
        return "" if self.seconds_left is None else tell_duration(self.seconds_left)

    @property
    def failed(self) -> int:
        return self.retrying + self.given_up

    @property
    def is_whole(self) -> bool:
        return self.done >= self.total


def read_mark(text: str) -> Mark | None:
    """Return the look that an address carries, None when it carries none that can be one."""
    at_seconds, _, done = text.partition("_")
    try:
        return Mark(float(at_seconds), int(done))
    except ValueError:
        return None


def measure_progress(status: EngineStatus, mark: Mark | None, now_seconds: float) -> Progress:
    """Return the progress at `now_seconds` (Unix time) and the look to measure the next one from."""
    indexing, store = status.indexing, status.vector_store
    backlog = indexing.backlog
    total = backlog.total
    done = total - backlog.pending
    if store.building is not None:
        done = min(store.building.rows, done)
    is_waiting = bool(backlog.pending) and not indexing.is_running
    speed = _measure_speed(mark, done, now_seconds) if indexing.is_running else None
    left = max(total - done - backlog.given_up, 0)
    return Progress(
        is_running=indexing.is_running,
        is_waiting=is_waiting,
        done=done,
        total=total,
        per_second=speed,
        seconds_left=left / speed if speed else None,
        retrying=max(backlog.pending - backlog.due - backlog.given_up, 0),
        given_up=backlog.given_up,
        next_run_at=indexing.next_run_at if is_waiting else None,
        waits_for=indexing.waits_for or "",
        active=store.active,
        building=store.building,
        mark=_move_mark(mark, done, now_seconds) if indexing.is_running else None,
    )


def _measure_speed(mark: Mark | None, done: int, now_seconds: float) -> float | None:
    if mark is None:
        return None
    seconds, count = now_seconds - mark.at_seconds, done - mark.done
    # Somebody may come back to a tab after an hour: what was done since is not the speed of now.
    return count / seconds if MIN_SPAN_SECONDS <= seconds <= 2 * MAX_SPAN_SECONDS and count > 0 else None


def _move_mark(mark: Mark | None, done: int, now_seconds: float) -> Mark:
    """Keep the look while it is young; a count that went down belongs to another reindex."""
    if mark is None or done < mark.done or not 0 <= now_seconds - mark.at_seconds <= MAX_SPAN_SECONDS:
        return Mark(now_seconds, done)
    return mark
