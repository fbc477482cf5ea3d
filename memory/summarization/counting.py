"""What compaction would do, counted at once for a few memories and by a job for many.

Pages find the job by what it counts, so that one that is reloaded, or a second one, shows the same count.
"""

import time
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from memory import queue
from memory.backends import old_rows
from memory.background import AT_ONCE_THINGS, advance, drop_work, end_work, find_last_work, open_work, read_work
from memory.summarization.reports import CompactionFigures
from memory.summarization.runs import CompactionScope, count_compaction, make_scope

COUNT: Final = "count"
# How long a page may show what was counted before.
KEEP_SECONDS: Final = 600
TELL_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class CountState:
    """`done` of `total` memories were looked at so far; at the end there are `figures`.

    `counted_at` is None when it was counted just now, for the page; `is_outdated` when memories have changed since.
    `error` is why a job waits for another try or, with `is_given_up`, won't try any more.
    """

    done: int = 0
    total: int = 0
    figures: CompactionFigures | None = None
    counted_at: datetime | None = None
    is_outdated: bool = False
    is_given_up: bool = False
    error: str = ""


class _DroppedError(Exception):
    """Nobody waits for this count any more."""


def preview_compaction(owner: str | None, older_than_days: int, *, is_anew: bool = False) -> CountState:
    """Return what compaction would do or, of many memories, how far a job is that finds out; it is started if need be.

    With `is_anew` a count that is over is not shown but made again.
    """
    scope = make_scope(owner, older_than_days)
    if is_little(scope):
        return CountState(figures=count_compaction(scope))
    state = read_count(owner, older_than_days)
    is_over = state is not None and (state.figures is not None or state.is_given_up)
    if state is None or (is_anew and is_over):
        return _start(scope, older_than_days)
    return state


def is_little(scope: CompactionScope) -> bool:
    """Whether it takes no longer than somebody waits for a page."""
    return old_rows.count_rows(scope.owner, scope.before, AT_ONCE_THINGS + 1) <= AT_ONCE_THINGS


def read_count(owner: str | None, older_than_days: int) -> CountState | None:
    """How far the job that counts this is, or what it told; None when there is none, or its time is over."""
    work = find_last_work(COUNT, _name(owner, older_than_days))
    if work is None:
        return None
    if work.is_open:
        return CountState(work.done, work.total, error=work.error)
    since = datetime.fromisoformat(work.answer["countedAt"]) if work.answer is not None else work.created_at
    if timezone.now() - since > timedelta(seconds=KEEP_SECONDS):
        return None
    if work.state == "failed":
        return CountState(work.done, work.total, is_given_up=True, error=work.error)
    if work.answer is None:
        return None  # its job was deleted
    figures = CompactionFigures(**work.answer["figures"])
    is_outdated = work.answer["lastChange"] != old_rows.read_last_change()
    return CountState(work.total, work.total, figures, since, is_outdated)


def do_count(owner: str | None, older_than_days: int, work_id: str) -> None:
    """Count and note how far it is. Safe to run twice and safe to kill: it begins anew.

    A count that somebody has dropped meanwhile ends.
    """
    last_change = old_rows.read_last_change()
    try:
        figures = count_compaction(make_scope(owner, older_than_days), _Teller(work_id))
    except _DroppedError:
        return
    answer = {"figures": asdict(figures), "countedAt": timezone.now().isoformat(), "lastChange": last_change}
    end_work(work_id, answer=answer)


def drop_count(owner: str | None, older_than_days: int) -> None:
    """End the job that counts this, if it is still at it: nobody waits for it any more."""
    state = read_count(owner, older_than_days)
    if state is not None and state.figures is None:
        drop_work(COUNT, _name(owner, older_than_days))


def drop_counts() -> None:
    """Forget all that was counted: it is about to change."""
    drop_work(COUNT, {})


class _Teller:
    """Notes how far a count is, not more often than a page asks."""

    def __init__(self, work_id: str) -> None:
        self._work_id = work_id
        self._told_at = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._told_at < TELL_SECONDS:
            return
        self._told_at = now
        work = read_work(self._work_id)
        if work is None:
            raise _DroppedError
        # What a killed try has noted is gone through again.
        advance(self._work_id, done - work.done)


def _start(scope: CompactionScope, older_than_days: int) -> CountState:
    total = old_rows.count_rows(scope.owner, scope.before)
    with transaction.atomic():
        work_id = open_work(COUNT, total, notes=_name(scope.owner, older_than_days))
        queue.enqueue_counting(scope.owner, older_than_days, work_id)
    return CountState(total=total)


def _name(owner: str | None, older_than_days: int) -> dict[str, Any]:
    """What the work is found by."""
    return {"owner": owner, "days": older_than_days}
