"""Compaction of memories and its undo. Other rooms import from here."""

from memory.corrections import UndoReport
from memory.summarization.counting import CountState, do_count, drop_count, preview_compaction
from memory.summarization.plans import LeftAlone, is_summary
from memory.summarization.reports import CompactionFigures, CompactionReport, Summary
from memory.summarization.runs import (
    DEFAULT_OLDER_THAN_DAYS,
    CompactionScope,
    count_compaction,
    make_scope,
    run_compaction,
    summarize_older_than,
)
from memory.summarization.shortening import DEFAULT_MAX_TOKENS, ShorteningReport, summarize_in_place
from memory.summarization.starting import CompactionStart, start_compaction
from memory.summarization.undoing import (
    count_summaries,
    list_compactions,
    purge_archives,
    start_undo_compaction,
    undo_compaction,
)

__all__ = [
    "DEFAULT_MAX_TOKENS",
    "DEFAULT_OLDER_THAN_DAYS",
    "CompactionFigures",
    "CompactionReport",
    "CompactionScope",
    "CompactionStart",
    "CountState",
    "LeftAlone",
    "ShorteningReport",
    "Summary",
    "UndoReport",
    "count_compaction",
    "count_summaries",
    "do_count",
    "drop_count",
    "is_summary",
    "list_compactions",
    "make_scope",
    "preview_compaction",
    "purge_archives",
    "run_compaction",
    "start_compaction",
    "start_undo_compaction",
    "summarize_in_place",
    "summarize_older_than",
    "undo_compaction",
]
