"""REST doors of the undo of imports, compactions and what operators corrected; and of jobs that doors leave work to."""

from typing import Any, Final

from rest_framework.request import Request
from rest_framework.response import Response

from core.fields import validate_body
from core.json_body import read_json_object
from core.rest_view import RestView
from memory.backends.archive import KeptCompaction
from memory.background import Work, read_known_work
from memory.bulk_changes import start_undo
from memory.corrections import list_corrections
from memory.summarize_serializers import UndoBody, render_kept
from memory.work_serializers import answer_work, render_undone, render_work

LISTED: Final = 100


class UndoView(RestView):
    """/api/memory/undo: what can be undone, and its undo."""

    def get(self, request: Request) -> Response:
        return Response({"changes": [_render_change(kept) for kept in list_corrections(LISTED)]})

    def post(self, request: Request) -> Response:
        values = validate_body(UndoBody, read_json_object(request))
        undone = start_undo(values["undoId"].lower(), is_forced=values["force"])
        return answer_work(undone) if isinstance(undone, Work) else Response(render_undone(undone))


class JobView(RestView):
    """/api/memory/jobs/{id}: how far it is, with what a door has left to a job."""

    def get(self, request: Request, job_id: str) -> Response:
        return Response({"job": render_work(read_known_work(job_id.lower()))})


def _render_change(kept: KeptCompaction) -> dict[str, Any]:
    return {**render_kept(kept), "kind": kept.kind, "label": kept.label}
