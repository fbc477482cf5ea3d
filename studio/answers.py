"""What a page answers when something was done: a message, and the list anew. And how it asks: in a dialog."""

from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpResponse, HttpResponseBase, HttpResponseRedirect

from studio.access import StudioRequest
from studio.addresses import read_next
from studio.finished_work import tell_finished
from studio.pages import render_fragment, render_page, wants_fragment
from studio.toasts import add_toast, add_warning

# Lists and figures listen for it.
CHANGED: Final = "memories-changed"


def finish(request: StudioRequest, text: str, *, undo_id: str = "") -> HttpResponseBase:
    """Say what was done and have the list shown anew; the dialog that asked for it closes."""
    add_toast(request, text, undo_id=undo_id or None)
    return go_on(request)


def finish_with_warning(request: StudioRequest, text: str) -> HttpResponseBase:
    """Say what was not done, or not wholly, and why."""
    add_warning(request, text)
    return go_on(request)


def go_on(request: StudioRequest) -> HttpResponseBase:
    """Say what there is to say, and have the list shown anew."""
    if not wants_fragment(request):
        return HttpResponseRedirect(read_next(request))
    response = render_fragment(request, "studio/_oob_toasts.html", {"has_open_work": tell_finished(request).goes_on})
    response.headers["HX-Trigger-After-Settle"] = CHANGED
    return response


def show_dialog(
    request: StudioRequest, template: str, context: Mapping[str, Any], *, status: int = 200
) -> HttpResponse:
    """Show a dialog: to htmx as one, else as a page of its own.

    `template` extends `frame` and fills the blocks dialog_body and dialog_foot; the context has `title` and `action`.
    """
    values = {**context, "next": read_next(request)}
    if wants_fragment(request):
        return render_fragment(request, template, {**values, "frame": "studio/_dialog.html"}, status=status)
    values = {**values, "frame": "studio/dialog_page.html"}
    return render_page(request, template, values, place="memory", status=status)
