"""A compaction that an operator asks for: of a few memories at once, of many in a job that a page can watch."""

import uuid
from dataclasses import dataclass

from django.db import transaction

from core.errors import ConflictError
from core.jobs.watching import list_open
from core.words import gettext as _
from memory import queue
from memory.backends import old_rows
from memory.background import open_work
from memory.summarization import counting
from memory.summarization.reports import CompactionFigures
from memory.summarization.runs import make_scope, run_compaction


@dataclass(frozen=True, slots=True)
class CompactionStart:
    """What was done or, with `is_queued`, will be to about `count` memories; `undo_id` is "" if nothing was changed."""

    figures: CompactionFigures
    count: int
    undo_id: str
    is_queued: bool


def start_compaction(owner: str | None, older_than_days: int, *, asked_by: str = "") -> CompactionStart:
    """Compact what is old now, whatever was counted before. ConflictError while a job is at it already.

    `asked_by` is the operator of the studio who is told of a job's end.
    """
    _refuse_second()
    scope, undo_id = make_scope(owner, older_than_days), str(uuid.uuid4())
    if counting.is_little(scope):
        figures = run_compaction(scope, undo_id)
        return CompactionStart(figures, figures.memories, undo_id if figures.memories else "", is_queued=False)
    counted = counting.read_count(owner, older_than_days)
    # Of what is old, some may stay as it is; the job's progress is measured by what does not.
    expected = None if counted is None else counted.figures
    count = old_rows.count_rows(scope.owner, scope.before) if expected is None else expected.memories
    counting.drop_counts()
    with transaction.atomic():
        work_id = open_work("compact", count, undo_id=undo_id, asked_by=asked_by)
        queue.enqueue_compaction(scope.owner, scope.before, undo_id, count, work_id=work_id)
    return CompactionStart(CompactionFigures(), count, undo_id, is_queued=True)


def _refuse_second() -> None:
    if any(not job.is_dead for job in list_open((queue.COMPACT,), ())):
        raise ConflictError(_("Memories are being compacted already; the list shows how far it is"))
