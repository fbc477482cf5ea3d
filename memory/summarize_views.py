"""REST doors of compaction and its undo."""

from rest_framework.request import Request
from rest_framework.response import Response

from core.fields import validate_body
from core.json_body import read_json_object
from core.rest_view import RestView
from memory.background import Work
from memory.summarization import list_compactions, start_undo_compaction, summarize_older_than
from memory.summarize_serializers import SummarizeBody, UndoBody, render_compaction, render_kept, render_undo
from memory.work_serializers import answer_work


class SummarizeView(RestView):
    """/api/memory/summarize"""

    def post(self, request: Request) -> Response:
        values = validate_body(SummarizeBody, read_json_object(request))
        report = summarize_older_than(values.get("apiKeyId"), values["olderThanDays"], is_dry_run=values["dryRun"])
        return Response(render_compaction(report))


class SummarizeUndoView(RestView):
    """/api/memory/summarize/undo: what can be undone, and its undo."""

    def get(self, request: Request) -> Response:
        return Response({"compactions": [render_kept(kept) for kept in list_compactions()]})

    def post(self, request: Request) -> Response:
        values = validate_body(UndoBody, read_json_object(request))
        undone = start_undo_compaction(values["undoId"].lower(), is_forced=values["force"])
        return answer_work(undone) if isinstance(undone, Work) else Response(render_undo(undone))
