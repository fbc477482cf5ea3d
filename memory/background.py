"""What somebody asked for and jobs do: how far it is, what came of it, and who has still to be told.

The row says what was done; whether the job waits, runs or was given up is for the job to say.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from django.db import transaction
from django.utils import timezone

from core.errors import NotFoundError
from core.jobs.watching import OpenJob, list_open
from core.words import gettext as _
from memory import queue
from memory.models import BackgroundWork

WorkState = Literal["waiting", "running", "done", "failed"]
WORK_STATES: Final[tuple[WorkState, ...]] = ("waiting", "running", "done", "failed")
# More than this, of memories or what else there is, takes longer than anybody waits for an answer.
AT_ONCE_THINGS: Final = 2000
UNDO: Final = "undo"
ERASE: Final = "erase"
IMPORT: Final = "import"
# As long as jobs that are done.
KEEP_DAYS: Final = 7
# What stayed is told of so many; how many there are is counted.
TOLD_KEPT: Final = 1000
_JOBS: Final = (
    queue.BULK_CHANGE,
    queue.COMPACT,
    queue.COUNT_OLD,
    queue.ERASE_SCOPE,
    queue.IMPORT,
    queue.UNDO_CHANGE,
)


@dataclass(frozen=True, slots=True)
class Work:
    """`done` of `total` things so far; it may end before it has done all, where some need nothing.

    `answer` is what came of it, where its job says so; `error` is why it failed or, while it waits, why it is tried
    again. `undo_id` is of the change that is made or, by an undo, taken back; `notes` are the job's own.
    """

    id: str
    kind: str
    undo_id: str
    asked_by: str
    total: int
    done: int
    state: WorkState
    error: str
    answer: Mapping[str, Any] | None
    notes: Mapping[str, Any]
    created_at: datetime

    @property
    def is_open(self) -> bool:
        return self.state in ("waiting", "running")


def open_work(
    kind: str, total: int, *, undo_id: str = "", asked_by: str = "", notes: Mapping[str, Any] | None = None
) -> str:
    """Note what a job will do, and return its id; in the transaction that queues the job.

    `asked_by` is the operator who is told of its end, wherever in the studio; "" is nobody.
    """
    work = BackgroundWork(uuid=str(uuid.uuid4()), kind=kind, undo_id=undo_id, asked_by=asked_by, total=total)
    work.notes = dict(notes or {})
    work.save(force_insert=True)
    return work.uuid


def advance(work_id: str, done: int, *, counts: Mapping[str, int] | None = None, kept: Sequence[str] = ()) -> None:
    """Note that so much more is done, add to the `counts` of its notes, and what it had to keep.

    In the transaction that did it, so that what is done twice is counted once. Without `work_id` nothing is noted.
    """
    if not work_id:
        return
    with transaction.atomic():
        work = BackgroundWork.objects.filter(uuid=work_id).first()
        if work is None:
            return
        work.done += done
        for name, count in (counts or {}).items():
            work.notes[name] = work.notes.get(name, 0) + count
        if kept:
            work.notes["kept"] = [*work.notes.get("kept", []), *kept][:TOLD_KEPT]
        work.save(update_fields=["done", "notes"])


def end_work(work_id: str, *, answer: Mapping[str, Any] | None = None, error: str = "") -> None:
    """Note that it is done, or with `error` that it can't be and why. Once only: an end stays as it is."""
    ended = BackgroundWork.objects.filter(uuid=work_id, ended_at=None)
    ended.update(answer=None if answer is None else dict(answer), error=error, ended_at=timezone.now())


def read_work(work_id: str) -> Work | None:
    """The work of that id, None when there is none or it was days ago."""
    # Jobs first: one that ends in between has noted its end by the time that the rows are read.
    jobs = _list_jobs()
    return next(iter(_judge(BackgroundWork.objects.filter(uuid=work_id), jobs)), None)


def read_known_work(work_id: str) -> Work:
    """The same for work that must be there; NotFoundError when it is not."""
    work = read_work(work_id)
    if work is None:
        raise NotFoundError(_("There is no such job, or it was asked for days ago"))
    return work


def find_open_work(kind: str, *, undo_id: str = "", notes: Mapping[str, Any] | None = None) -> Work | None:
    """The open work of that kind on the same change, or with these notes; None when there is none."""
    jobs, wanted = _list_jobs(), dict(notes or {}).items()
    rows = BackgroundWork.objects.filter(ended_at=None, kind=kind, undo_id=undo_id).order_by("created_at")
    return next((work for work in _judge(rows, jobs) if work.is_open and wanted <= work.notes.items()), None)


def find_last_work(kind: str, notes: Mapping[str, Any]) -> Work | None:
    """The newest work of that kind with these notes, whatever became of it; None when there is none."""
    jobs, wanted = _list_jobs(), notes.items()
    rows = BackgroundWork.objects.filter(kind=kind).order_by("-created_at")
    return next(iter(_judge([row for row in rows if wanted <= row.notes.items()][:1], jobs)), None)


def drop_work(kind: str, notes: Mapping[str, Any]) -> None:
    """Forget work of that kind with these notes; a job that is at it may see that nobody waits for it any more."""
    rows = BackgroundWork.objects.filter(kind=kind)
    dropped = [row.uuid for row in rows if notes.items() <= row.notes.items()]
    BackgroundWork.objects.filter(uuid__in=dropped).delete()


def list_untold(asked_by: str) -> list[Work]:
    """What that operator has asked for and was not told the end of: open or ended, the oldest first.

    One query while there is none.
    """
    rows = BackgroundWork.objects.filter(asked_by=asked_by, told_at=None).order_by("created_at")
    if not rows:
        return []
    jobs = _list_jobs()
    return _judge(BackgroundWork.objects.filter(uuid__in=[row.uuid for row in rows]).order_by("created_at"), jobs)


def is_told(undo_id: str, asked_by: str) -> bool:
    """Whether that operator, who asked for something about that change, was told its end."""
    asked = BackgroundWork.objects.filter(undo_id=undo_id, asked_by=asked_by).order_by("-created_at").first()
    return asked is not None and asked.told_at is not None


def take_telling(work_id: str) -> bool:
    """True for the first who asks, of all pages and tabs: only that one tells the end."""
    return bool(BackgroundWork.objects.filter(uuid=work_id, told_at=None).update(told_at=timezone.now()))


def forget_old_work() -> int:
    """Delete what was asked for days ago; return how many that were."""
    return BackgroundWork.objects.filter(created_at__lt=timezone.now() - timedelta(days=KEEP_DAYS)).delete()[0]


def _list_jobs() -> dict[str, OpenJob]:
    """Open jobs by the work they name; those that name none by their change."""
    jobs = list_open(_JOBS, ("workId", "undoId"))
    return {job.values["workId"] or job.values["undoId"] or "": job for job in jobs}


def _judge(rows: Iterable[BackgroundWork], jobs: Mapping[str, OpenJob]) -> list[Work]:
    return [_judge_row(row, jobs.get(row.uuid) or jobs.get(row.undo_id or row.uuid)) for row in rows]


def _judge_row(row: BackgroundWork, job: OpenJob | None) -> Work:
    state, error = _read_state(row, job)
    return Work(
        id=row.uuid,
        kind=row.kind,
        undo_id=row.undo_id,
        asked_by=row.asked_by,
        total=row.total,
        done=min(row.done, row.total),
        state=state,
        error=error,
        answer=row.answer,
        notes=row.notes,
        created_at=row.created_at,
    )


def _read_state(row: BackgroundWork, job: OpenJob | None) -> tuple[WorkState, str]:
    if row.ended_at is not None:
        return ("failed" if row.error else "done"), row.error
    if job is None:
        # Only jobs that answer note their end themselves.
        return ("failed", _("Its job is gone")) if row.kind in (UNDO, ERASE, IMPORT) else ("done", "")
    if job.is_dead:
        return "failed", job.error
    return ("running" if job.is_running else "waiting"), job.error
