"""Changes of many memories that a job makes or takes back, as lines above the list until they are done."""

from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET

from memory.bulk_changes import OpenChange, find_open, list_open_changes
from memory.corrections import find_correction
from studio.access import StudioRequest, staff_page
from studio.answers import finish, finish_with_warning
from studio.pages import render_fragment
from studio.wording import write_number


@require_GET
@staff_page
def show_change(request: StudioRequest, undo_id: str) -> HttpResponseBase:
    """The line of a change anew; when it is done, a message instead, which offers the undo, and the list anew."""
    change = find_open(undo_id)
    if change is not None and not change.is_dead:
        return render_fragment(request, "studio/_memory_change.html", {"change": change})
    if change is not None:
        told = _("This was given up after %(done)s of %(count)s memories. Django admin's jobs say why, and try again")
        figures = {"done": write_number(change.done), "count": write_number(change.count)}
        return finish_with_warning(request, told % figures)
    kept = find_correction(undo_id)
    if kept is None:
        return finish(request, _("Nothing was changed"))
    if kept.undone_at is not None:
        return finish(request, _("Undone: the memories are as they were. What is newer stays"))
    return finish(request, _tell_done(kept.kind, kept.memories), undo_id=undo_id)


def list_shown() -> list[OpenChange]:
    """Changes that go on."""
    return [change for change in list_open_changes() if not change.is_dead]


def _tell_done(kind: str, count: int) -> str:
    if kind == "delete":
        told = ngettext("Deleted %(count)s memory", "Deleted %(count)s memories", count)
    elif kind == "retype":
        told = ngettext("Changed the type of %(count)s memory", "Changed the type of %(count)s memories", count)
    else:
        told = ngettext("Changed %(count)s memory", "Changed %(count)s memories", count)
    return told % {"count": write_number(count)}
