"""Compaction of memories and its undo. Other rooms import from here."""

from memory.corrections import UndoReport
from memory.summarization.plans import LeftAlone, is_summary
from memory.summarization.runs import (
    DEFAULT_MAX_TOKENS,
    DEFAULT_OLDER_THAN_DAYS,
    CompactionReport,
    ShorteningReport,
    Summary,
    summarize_in_place,
    summarize_older_than,
)
from memory.summarization.undoing import list_compactions, purge_archives, undo_compaction

__all__ = [
    "DEFAULT_MAX_TOKENS",
    "DEFAULT_OLDER_THAN_DAYS",
    "CompactionReport",
    "LeftAlone",
    "ShorteningReport",
    "Summary",
    "UndoReport",
    "is_summary",
    "list_compactions",
    "purge_archives",
    "summarize_in_place",
    "summarize_older_than",
    "undo_compaction",
]
