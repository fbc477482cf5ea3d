"""Undo of a compaction, as long as what it replaced is kept aside."""

from typing import Final

import structlog

from core.errors import NotFoundError
from core.words import gettext as _
from memory import corrections
from memory.backends import archive
from memory.backends.archive import KeptCompaction, Kind
from memory.background import Work
from memory.bulk_changes import start_undo
from memory.corrections import UndoReport

logger = structlog.get_logger(__name__)

LISTED: Final = 100
_NO_COMPACTION: Final = _("There is no such compaction, or the time to undo it is over")


def list_compactions() -> list[KeptCompaction]:
    """The newest compactions, also those that were undone."""
    return archive.list_kept(LISTED, [Kind.COMPACTION])


def count_summaries(undo_id: str) -> int:
    """How many summaries that compaction has made."""
    return archive.count_replacements(undo_id)


def undo_compaction(undo_id: str, *, is_forced: bool = False) -> UndoReport:
    """Put the memories back exactly as they were and remove the summaries. Safe to run twice.

    NotFoundError when there is no such compaction or its time is over; ConflictError, with nothing changed, when
    something newer is in the way. With `is_forced` what is newer stays and the rest is put back.
    """
    try:
        return corrections.undo(undo_id, is_forced=is_forced, kinds=[Kind.COMPACTION])
    except NotFoundError:
        raise NotFoundError(_NO_COMPACTION) from None


def start_undo_compaction(undo_id: str, *, is_forced: bool = False) -> UndoReport | Work:
    """The same, of many memories by a job: then return the work."""
    try:
        return start_undo(undo_id, is_forced=is_forced, kinds=[Kind.COMPACTION])
    except NotFoundError:
        raise NotFoundError(_NO_COMPACTION) from None


def purge_archives() -> int:
    """Delete for good what can't be undone any more; return how many memories that were."""
    count = archive.forget_expired()
    if count:
        logger.info("memory.archives_purged", memories=count)
    return count
