"""Compaction: old memories become summaries, or are shortened in place. What they were is kept aside for an undo."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from memory import queue
from memory.backends import archive
from memory.backends.sqlite import SQLiteBackend
from memory.condensing import take_sentences
from memory.records import MemoryDraft, MemoryRecord
from memory.search.ranking import estimate_tokens
from memory.summarization.plans import (
    SUMMARY_FLAG,
    GroupPlan,
    LeftAlone,
    SummaryPart,
    count_tokens,
    is_summary,
    plan_group,
)

logger = structlog.get_logger(__name__)

KEPT_SENTENCES: Final = 3
DEFAULT_MAX_TOKENS: Final = 4000
DEFAULT_OLDER_THAN_DAYS: Final = 30
# `metadata.source` of a summary.
SUMMARY_SOURCE: Final = "compaction"


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary that was made, or on a dry run (`id` None) would be made, of `count` memories."""

    id: str | None
    owner: str
    session_id: str
    content: str
    count: int
    tokens_saved: int


@dataclass(frozen=True, slots=True)
class CompactionReport:
    """What a run did or, on a dry run, would do. `undo_id` is None when nothing was changed."""

    candidates: list[MemoryRecord]
    summaries: list[Summary]
    left_alone: list[LeftAlone]
    undo_id: str | None
    is_dry_run: bool

    @property
    def total_tokens(self) -> int:
        return count_tokens(self.candidates)

    @property
    def tokens_saved(self) -> int:
        return sum(summary.tokens_saved for summary in self.summaries)

    @property
    def deleted_count(self) -> int:
        return 0 if self.is_dry_run else len(self.candidates)


@dataclass(frozen=True, slots=True)
class ShorteningReport:
    """Of `original_count` memories `summarized_count` were beyond the budget; `shortened_count` got shorter."""

    original_count: int
    summarized_count: int
    shortened_count: int
    tokens_saved: int
    undo_id: str | None


def summarize_older_than(
    owner: str | None, older_than_days: int, *, session_id: str | None = None, is_dry_run: bool = False
) -> CompactionReport:
    """Replace memories created more than so many days ago by one summary an owner and session.

    `owner=None` means all owners and is for management calls only. Each owner and session is done in a transaction of
    its own: it is either replaced as a whole or as it was. Memories that expire and earlier summaries stay.
    """
    before = timezone.now() - timedelta(days=older_than_days)
    undo_id = str(uuid.uuid4())
    plans: list[GroupPlan | LeftAlone] = []
    summary_ids: list[str | None] = []
    for group in archive.list_groups(owner, session_id, before):
        if is_dry_run:
            plan = _plan(*group, before)
            made: list[str] = []
        else:
            plan, made = _compact(*group, before, undo_id)
        if plan is not None:
            plans.append(plan)
        if isinstance(plan, GroupPlan):
            summary_ids += made or [None] * len(plan.parts)
    report = _report(plans, summary_ids, None if is_dry_run else undo_id)
    if report.deleted_count:
        logger.info(
            "memory.compacted",
            undo_id=undo_id,
            memories=report.deleted_count,
            summaries=len(report.summaries),
            tokens_saved=report.tokens_saved,
        )
    return report


def summarize_in_place(
    owner: str, session_id: str | None = None, max_tokens: int = DEFAULT_MAX_TOKENS, *, is_dry_run: bool = False
) -> ShorteningReport:
    """Shorten the memories beyond a token budget to their first sentences.

    The newest memories stay as they are while their running total fits; every older one keeps its first three
    sentences. Summaries count but are never cut, since each of their lines is a memory.
    """
    undo_id = str(uuid.uuid4())
    with transaction.atomic():
        records = archive.load_unexpired(owner, session_id)
        beyond = list(_find_beyond(records, max_tokens))
        texts = [(record, take_sentences(record.content, KEPT_SENTENCES)) for record in beyond]
        shorter = [(record, text) for record, text in texts if text != record.content]
        if shorter and not is_dry_run:
            archive.open_compaction(undo_id, _keep_until())
            archive.shorten(undo_id, {record.memory_id: text for record, text in shorter})
            queue.enqueue_indexing()
    saved = sum(estimate_tokens(record.content) - estimate_tokens(text) for record, text in shorter)
    if shorter and not is_dry_run:
        logger.info("memory.shortened", undo_id=undo_id, memories=len(shorter), tokens_saved=saved)
    kept_id = undo_id if shorter and not is_dry_run else None
    return ShorteningReport(len(records), len(beyond), len(shorter), saved, kept_id)


def _plan(owner: str, session_id: str, before: datetime) -> GroupPlan | LeftAlone | None:
    records = [record for record in archive.load_old(owner, session_id, before) if not is_summary(record)]
    return plan_group(owner, session_id, records) if records else None


def _compact(
    owner: str, session_id: str, before: datetime, undo_id: str
) -> tuple[GroupPlan | LeftAlone | None, list[str]]:
    """Plan and do it under the write lock: what another run has taken meanwhile is no candidate any more."""
    with transaction.atomic():
        plan = _plan(owner, session_id, before)
        if not isinstance(plan, GroupPlan):
            return plan, []
        archive.open_compaction(undo_id, _keep_until())
        ids = [_replace(plan, part, number, undo_id) for number, part in enumerate(plan.parts, start=1)]
        queue.enqueue_indexing()
    return plan, ids


def _replace(plan: GroupPlan, part: SummaryPart, number: int, undo_id: str) -> str:
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


def _report(plans: list[GroupPlan | LeftAlone], summary_ids: list[str | None], undo_id: str | None) -> CompactionReport:
    made = [plan for plan in plans if isinstance(plan, GroupPlan)]
    parts = [(plan, part) for plan in made for part in plan.parts]
    summaries = [
        Summary(
            summary_id,
            plan.owner,
            plan.session_id,
            part.content,
            len(part.records),
            count_tokens(part.records) - estimate_tokens(part.content),
        )
        for summary_id, (plan, part) in zip(summary_ids, parts, strict=True)
    ]
    return CompactionReport(
        candidates=[record for plan in made for record in plan.records],
        summaries=summaries,
        left_alone=[plan for plan in plans if isinstance(plan, LeftAlone)],
        undo_id=undo_id if made else None,
        is_dry_run=undo_id is None,
    )


def _find_beyond(records: list[MemoryRecord], max_tokens: int) -> Iterator[MemoryRecord]:
    total = 0
    for record in records:
        total += estimate_tokens(record.content)
        if total > max_tokens and not is_summary(record):
            yield record


def _keep_until() -> datetime:
    return timezone.now() + timedelta(days=settings.MEMORY_UNDO_DAYS)
