"""Compaction: old memories become summaries. What they were is kept aside for an undo.

Planning is done outside of transactions, since of a hundred thousand memories it takes seconds. Each summary takes the
place of its memories in a transaction of its own, in which they are compared with what it was written from.
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from core.db.pauses import let_others_write
from memory import queue
from memory.backends import archive, old_rows
from memory.backends.old_rows import OldGroup
from memory.backends.sqlite import SQLiteBackend
from memory.background import advance
from memory.records import MemoryDraft, MemoryRecord
from memory.summarization.plans import SUMMARY_FLAG, GroupPlan, LeftAlone, SummaryPart, is_summary, plan_group
from memory.summarization.reports import CompactionFigures, CompactionReport, DonePart, add_up, build_report

logger = structlog.get_logger(__name__)

DEFAULT_OLDER_THAN_DAYS: Final = 30
# `metadata.source` of a summary.
SUMMARY_SOURCE: Final = "compaction"
# Read at once; groups are smaller as a rule, and a statement for each of them would take longer than its rows.
READ_ROWS: Final = 500

# How many memories have been looked at, of how many.
Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class CompactionScope:
    """Memories created before that moment, of one owner and session if given.

    `owner=None` means all owners and is for management calls only.
    """

    owner: str | None
    before: datetime
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class CompactionRun:
    """What is replaced is kept aside under `undo_id`; with `work_id`, how much that is so far is noted there."""

    undo_id: str
    work_id: str = ""


def tell_nobody(done: int, total: int) -> None:
    """For runs that nobody waits for."""


def make_scope(owner: str | None, older_than_days: int, session_id: str | None = None) -> CompactionScope:
    """The memories created more than so many days ago."""
    return CompactionScope(owner, timezone.now() - timedelta(days=older_than_days), session_id)


def summarize_older_than(
    owner: str | None,
    older_than_days: int,
    *,
    session_id: str | None = None,
    is_dry_run: bool = False,
    tell: Tell = tell_nobody,
) -> CompactionReport:
    """Replace memories created more than so many days ago by one summary an owner and session, and tell all of it.

    `owner=None` means all owners and is for management calls only. Each summary replaces its memories in a transaction
    of its own: as a whole or not at all. Memories that expire and earlier summaries stay.
    """
    undo_id = None if is_dry_run else str(uuid.uuid4())
    run = None if undo_id is None else CompactionRun(undo_id)
    outcomes = _go_through(make_scope(owner, older_than_days, session_id), run, tell)
    report = build_report(outcomes, undo_id)
    _log(undo_id, report.deleted_count, len(report.summaries), report.tokens_saved)
    return report


def count_compaction(scope: CompactionScope, tell: Tell = tell_nobody) -> CompactionFigures:
    """What a run would do, in figures. Changes nothing."""
    return add_up(_go_through(scope, None, tell))


def run_compaction(
    scope: CompactionScope, undo_id: str, *, work_id: str = "", tell: Tell = tell_nobody
) -> CompactionFigures:
    """Do it, kept aside under that id. Safe to run twice: what is replaced is no candidate any more.

    How much is replaced is noted with the background work of `work_id`, if there is any.
    """
    figures = add_up(_go_through(scope, CompactionRun(undo_id, work_id), tell))
    _log(undo_id, figures.memories, figures.summaries, figures.tokens_saved)
    return figures


def keep_until() -> datetime:
    """Until when what is replaced now can be put back."""
    return timezone.now() + timedelta(days=settings.MEMORY_UNDO_DAYS)


def _go_through(scope: CompactionScope, run: CompactionRun | None, tell: Tell) -> Iterator[DonePart | LeftAlone]:
    """Plan group after group and, unless this is a dry run, do it."""
    groups = old_rows.list_groups(scope.owner, scope.session_id, scope.before)
    total = sum(len(group.memory_ids) for group in groups)
    done = 0
    tell(done, total)
    for group, records in _read(groups):
        looked_at = done
        for outcome in _do_group(group, records, scope, run):
            looked_at += outcome.count if isinstance(outcome, LeftAlone) else len(outcome.part.records)
            yield outcome
            tell(looked_at, total)
        done += len(group.memory_ids)
        tell(done, total)


def _read(groups: list[OldGroup]) -> Iterator[tuple[OldGroup, list[MemoryRecord]]]:
    """The groups with their memories, several of them read in one statement."""
    waiting, rows = list[OldGroup](), 0
    for number, group in enumerate(groups, start=1):
        waiting.append(group)
        rows += len(group.memory_ids)
        if rows < READ_ROWS and number < len(groups):
            continue
        ids = [memory_id for one in waiting for memory_id in one.memory_ids]
        found = {record.memory_id: record for record in old_rows.load_in_order(ids)}
        for one in waiting:
            yield one, [found[memory_id] for memory_id in one.memory_ids if memory_id in found]
        waiting, rows = [], 0


def _do_group(
    group: OldGroup, records: list[MemoryRecord], scope: CompactionScope, run: CompactionRun | None
) -> Iterator[DonePart | LeftAlone]:
    plan = _plan(group.owner, group.session_id, records)
    if isinstance(plan, LeftAlone):
        yield plan
    elif plan is not None:
        for part in plan.parts:
            if run is None:
                yield DonePart(plan.owner, plan.session_id, part, None)
            else:
                yield from _do_part(plan, part, scope, run)


def _plan(owner: str, session_id: str, records: list[MemoryRecord]) -> GroupPlan | LeftAlone | None:
    candidates = [record for record in records if not is_summary(record)]
    return plan_group(owner, session_id, candidates) if candidates else None


def _do_part(
    plan: GroupPlan, part: SummaryPart, scope: CompactionScope, run: CompactionRun
) -> list[DonePart] | list[LeftAlone]:
    """Put the summary in the place of its memories, if they are as they were; else what is left is planned anew.

    What another run has taken meanwhile, or an erasure, is no candidate any more.
    """
    with transaction.atomic():
        records = old_rows.load_in_order([record.memory_id for record in part.records])
        parts: tuple[SummaryPart, ...] = (part,)
        if records != list(part.records):
            records = [record for record in records if _is_in_place(record, plan, scope)]
            anew = _plan(plan.owner, plan.session_id, records)
            if not isinstance(anew, GroupPlan):
                return [] if anew is None else [anew]
            parts = anew.parts
        archive.open_compaction(run.undo_id, keep_until())
        done = [DonePart(plan.owner, plan.session_id, one, _replace(plan, one, run.undo_id)) for one in parts]
        advance(run.work_id, sum(len(one.records) for one in parts))
        queue.enqueue_indexing()
    let_others_write()
    return done


def _is_in_place(record: MemoryRecord, plan: GroupPlan, scope: CompactionScope) -> bool:
    """Whether somebody who has changed it since has left it where, and as old as, it was."""
    is_of_group = (record.owner, record.session_id) == (plan.owner, plan.session_id)
    return is_of_group and record.expires_at is None and record.created_at < scope.before


def _replace(plan: GroupPlan, part: SummaryPart, undo_id: str) -> str:
    """Store one part's summary in place of its memories and return its id."""
    moments = [record.created_at.isoformat() for record in part.records]
    metadata: dict[str, Any] = {
        SUMMARY_FLAG: True,
        "source": SUMMARY_SOURCE,
        "count": len(part.records),
        "from": min(moments),
        "to": max(moments),
        "undoId": undo_id,
    }
    key = f"summary:{uuid.uuid4()}"
    draft = MemoryDraft(plan.owner, key, part.content, "semantic", plan.session_id, metadata)
    summary = SQLiteBackend().create(draft)
    archive.replace_with(undo_id, [record.memory_id for record in part.records], summary)
    return summary.id


def _log(undo_id: str | None, memories: int, summaries: int, tokens_saved: int) -> None:
    if undo_id is not None and memories:
        logger.info(
            "memory.compacted", undo_id=undo_id, memories=memories, summaries=summaries, tokens_saved=tokens_saved
        )
