"""Bodies and answers of the compaction doors (contract 3 and B3)."""

from typing import Any

from core.fields import StrictBooleanField, StrictIntegerField, StrictSerializer, StrictTextField
from memory.backends.archive import KeptCompaction
from memory.rendering import render_memory, render_moment
from memory.serializers import MAX_ID_LENGTH
from memory.summarization import DEFAULT_OLDER_THAN_DAYS, CompactionReport, LeftAlone, Summary, UndoReport


class SummarizeBody(StrictSerializer):
    """Body of POST /api/memory/summarize. No `apiKeyId` means all owners; an empty one is refused as a slip."""

    olderThanDays = StrictIntegerField(minimum=1, maximum=365, default=DEFAULT_OLDER_THAN_DAYS)
    apiKeyId = StrictTextField(max_length=MAX_ID_LENGTH, required=False)
    dryRun = StrictBooleanField(default=False)


class UndoBody(StrictSerializer):
    """Body of both doors of undo; `force` leaves what is newer as it is and undoes the rest."""

    undoId = StrictTextField(max_length=MAX_ID_LENGTH)
    force = StrictBooleanField(default=False)


def render_compaction(report: CompactionReport) -> dict[str, Any]:
    """Return the contract's answer; ours beside it: `undoId`, `summaries`, `leftAlone`."""
    return {
        "candidates": [render_memory(record) for record in report.candidates],
        "totalTokens": report.total_tokens,
        "tokensSaved": report.tokens_saved,
        "deletedCount": report.deleted_count,
        "summaryId": report.summaries[0].id if report.summaries else None,
        "dryRun": report.is_dry_run,
        "undoId": report.undo_id,
        "summaries": [_render_summary(summary) for summary in report.summaries],
        "leftAlone": [_render_left_alone(group) for group in report.left_alone],
    }


def render_kept(kept: KeptCompaction) -> dict[str, Any]:
    """Return one compaction of the list; the counts are of what an undo would put back."""
    return {
        "undoId": kept.undo_id,
        "createdAt": render_moment(kept.created_at),
        "undoableUntil": render_moment(kept.expires_at),
        "undoneAt": None if kept.undone_at is None else render_moment(kept.undone_at),
        "memories": kept.memories,
        "owners": kept.owners,
    }


def render_undo(report: UndoReport) -> dict[str, Any]:
    return {
        "success": True,
        "undoId": report.undo_id,
        "restoredCount": report.restored_count,
        "removedSummaries": list(report.removed_summaries),
        "keptNewer": list(report.kept_newer),
        "wasUndoneBefore": report.was_undone_before,
    }


def _render_summary(summary: Summary) -> dict[str, Any]:
    return {
        "summaryId": summary.id,
        "apiKeyId": summary.owner,
        "sessionId": summary.session_id,
        "content": summary.content,
        "count": summary.count,
        "tokensSaved": summary.tokens_saved,
    }


def _render_left_alone(group: LeftAlone) -> dict[str, Any]:
    return {
        "apiKeyId": group.owner,
        "sessionId": group.session_id,
        "count": group.count,
        "reason": group.reason,
    }
