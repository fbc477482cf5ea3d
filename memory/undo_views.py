"""REST doors of the undo of everything that can be undone: imports, compactions, what operators corrected."""

from typing import Any, Final

from rest_framework.request import Request
from rest_framework.response import Response

from core.fields import validate_body
from core.json_body import read_json_object
from core.rest_view import RestView
from memory.backends.archive import KeptCompaction
from memory.corrections import UndoReport, list_corrections, undo
from memory.summarize_serializers import UndoBody, render_kept

LISTED: Final = 100


class UndoView(RestView):
    """/api/memory/undo: what can be undone, and its undo."""

    def get(self, request: Request) -> Response:
        return Response({"changes": [_render_change(kept) for kept in list_corrections(LISTED)]})

    def post(self, request: Request) -> Response:
        values = validate_body(UndoBody, read_json_object(request))
        return Response(_render_undone(undo(values["undoId"].lower(), is_forced=values["force"])))


def _render_change(kept: KeptCompaction) -> dict[str, Any]:
    return {**render_kept(kept), "kind": kept.kind, "label": kept.label}


def _render_undone(report: UndoReport) -> dict[str, Any]:
    return {
        "success": True,
        "undoId": report.undo_id,
        "kind": report.kind,
        "restoredCount": report.restored_count,
        "removedCount": len(report.removed),
        "keptNewer": list(report.kept_newer),
        "wasUndoneBefore": report.was_undone_before,
    }
