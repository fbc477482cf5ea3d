"""Answers of doors whose work is left to a job: the job, and what came of it."""

from typing import Any

from rest_framework.response import Response

from memory.background import UNDO, Work
from memory.erasing import EraseReceipt
from memory.rendering import render_moment
from memory.undo import UndoReport


def answer_work(work: Work) -> Response:
    """202: where the job is, and how far."""
    return Response({"job": render_work(work)}, status=202, headers={"Location": f"/api/memory/jobs/{work.id}"})


def render_work(work: Work) -> dict[str, Any]:
    """Return a job; its `result` is what the door answers at once when there is little to do, None before its end."""
    return {
        "id": work.id,
        "kind": work.kind,
        "state": work.state,
        "done": work.done,
        "total": work.total,
        "error": work.error or None,
        "createdAt": render_moment(work.created_at),
        "result": _render_result(work) if work.state == "done" else None,
    }


def render_undone(report: UndoReport) -> dict[str, Any]:
    """Return what an undo answers."""
    return _render_undo(
        report.undo_id,
        report.kind,
        restored=report.restored_count,
        removed=len(report.removed),
        kept_newer=list(report.kept_newer),
        was_undone_before=report.was_undone_before,
    )


def render_receipt(receipt: EraseReceipt) -> dict[str, Any]:
    """Return what an erasure answers."""
    return {"dryRun": False, "receipt": receipt.tell()}


def _render_result(work: Work) -> dict[str, Any]:
    if work.kind == UNDO:
        restored, removed = work.notes.get("restored", 0), work.notes.get("removed", 0)
        return _render_undo(
            work.undo_id,
            work.notes["changeKind"],
            restored=restored,
            removed=removed,
            kept_newer=work.notes.get("kept", []),
            was_undone_before=not work.done,
        )
    if work.answer is not None:
        return {"dryRun": False, **work.answer}
    return {"undoId": work.undo_id}


def _render_undo(
    undo_id: str, kind: str, *, restored: int, removed: int, kept_newer: list[str], was_undone_before: bool
) -> dict[str, Any]:
    return {
        "success": True,
        "undoId": undo_id,
        "kind": kind,
        "restoredCount": restored,
        "removedCount": removed,
        "keptNewer": kept_newer,
        "wasUndoneBefore": was_undone_before,
    }
