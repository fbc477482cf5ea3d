"""Changes of many memories that a job makes or takes back, as lines above the list until they are done."""

from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from memory.background import is_told
from memory.bulk_changes import OpenChange, find_open, list_open_changes
from studio.access import StudioRequest, staff_page
from studio.answers import finish_with_warning, go_on
from studio.finished_work import describe_change, tell_ending, tell_finished
from studio.pages import render_fragment
from studio.wording import write_number


@require_GET
@staff_page
def show_change(request: StudioRequest, undo_id: str) -> HttpResponseBase:
    """The line of a change anew; when it is done, a message instead, which offers the undo, and the list anew.

    Whoever watches is told; who has asked for it once only, on this page or another.
    """
    change = find_open(undo_id)
    if change is not None and not change.is_dead:
        return render_fragment(request, "studio/_memory_change.html", {"change": change})
    tell_finished(request)
    if not is_told(undo_id, request.user.get_username()):
        if change is not None:
            return _tell_given_up(request, change)
        tell_ending(request, describe_change(undo_id))
    return go_on(request)


def list_shown() -> list[OpenChange]:
    """Changes that go on."""
    return [change for change in list_open_changes() if not change.is_dead]


def _tell_given_up(request: StudioRequest, change: OpenChange) -> HttpResponseBase:
    told = _("This was given up after %(done)s of %(count)s memories. Django admin's jobs say why, and try again")
    return finish_with_warning(request, told % {"done": write_number(change.done), "count": write_number(change.count)})
