"""Memories beyond a token budget, shortened in place. What they were is kept aside for an undo."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import structlog
from django.db import transaction

from memory import queue
from memory.backends import archive
from memory.condensing import take_sentences
from memory.records import MemoryRecord
from memory.search.ranking import estimate_tokens
from memory.summarization.plans import is_summary
from memory.summarization.runs import keep_until

logger = structlog.get_logger(__name__)

KEPT_SENTENCES: Final = 3
DEFAULT_MAX_TOKENS: Final = 4000


@dataclass(frozen=True, slots=True)
class ShorteningReport:
    """Of `original_count` memories `summarized_count` were beyond the budget; `shortened_count` got shorter."""

    original_count: int
    summarized_count: int
    shortened_count: int
    tokens_saved: int
    undo_id: str | None


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
            archive.open_compaction(undo_id, keep_until())
            archive.shorten(undo_id, {record.memory_id: text for record, text in shorter})
            queue.enqueue_indexing()
    saved = sum(estimate_tokens(record.content) - estimate_tokens(text) for record, text in shorter)
    if shorter and not is_dry_run:
        logger.info("memory.shortened", undo_id=undo_id, memories=len(shorter), tokens_saved=saved)
    kept_id = undo_id if shorter and not is_dry_run else None
    return ShorteningReport(len(records), len(beyond), len(shorter), saved, kept_id)


def _find_beyond(records: list[MemoryRecord], max_tokens: int) -> Iterator[MemoryRecord]:
    total = 0
    for record in records:
        total += estimate_tokens(record.content)
        if total > max_tokens and not is_summary(record):
            yield record
