"""What is done to memories that are ticked, or to all that a list shows: delete, retype, merge. And the undo."""

from django.http import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from core.errors import InvalidRequestError
from memory import corrections
from memory.background import AT_ONCE_THINGS, Work
from memory.bulk_changes import BulkChange, start_bulk_change, start_undo
from memory.corrections import Correction, UndoReport
from memory.inspection import list_memory_ids
from memory.records import MEMORY_TYPES, MemoryType
from studio.access import StudioRequest, staff_page
from studio.answers import finish, finish_with_warning, show_dialog
from studio.finished_work import tell_undone
from studio.forms.memories import TYPE_NAMES
from studio.memory_selection import Selection, load_memory, load_selected, read_selection
from studio.wording import write_number

SHOWN: int = 3
AT_ONCE: int = AT_ONCE_THINGS


@require_http_methods(["GET", "HEAD", "POST"])
@staff_page
def delete(request: StudioRequest) -> HttpResponseBase:
    """Ask with the count, then delete; what is deleted is kept for a while, so that it can be undone."""
    selection = read_selection(request)
    if request.method != "POST":
        context = {
            "title": _ask_delete(selection.count),
            "action": reverse("studio:memory-delete"),
            "selection": selection,
            "shown": load_selected(selection.ids[:SHOWN]),
            "more": max(0, selection.count - SHOWN),
            "can_undo": corrections.can_undo(),
        }
        return show_dialog(request, "studio/memory_delete.html", context)
    if _is_for_a_job(selection):
        return _leave_to_a_job(request, BulkChange("delete", list_memory_ids(selection.filter)))
    if selection.is_whole:
        correction = corrections.delete_matching(selection.filter)
    else:
        correction = corrections.delete_memories(selection.ids)
    return finish(request, _tell_deleted(correction), undo_id=correction.undo_id)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_page
def retype(request: StudioRequest) -> HttpResponseBase:
    """Ask for a type, then make the memories ones of it."""
    selection = read_selection(request)
    if request.method != "POST":
        context = {
            "title": _ask_retype(selection.count),
            "action": reverse("studio:memory-retype"),
            "selection": selection,
            "types": [(name, TYPE_NAMES[name]) for name in MEMORY_TYPES],
        }
        return show_dialog(request, "studio/memory_retype.html", context)
    type = _read_type(request)
    if _is_for_a_job(selection):
        return _leave_to_a_job(request, BulkChange("retype", list_memory_ids(selection.filter), type))
    correction = _retype(selection, type)
    told = ngettext("Changed the type of %(count)s memory", "Changed the type of %(count)s memories", correction.count)
    return finish(request, told % {"count": write_number(correction.count)}, undo_id=correction.undo_id)


@require_POST
@staff_page
def merge(request: StudioRequest) -> HttpResponseBase:
    """Let one memory stand for duplicates of it."""
    kept = load_memory(request.POST.get("kept", ""))
    correction = corrections.merge(kept.id, request.POST.getlist("id"))
    if not correction.count:
        return finish_with_warning(request, _("Nothing was merged: the other memory is not there any more"))
    return finish(request, _("Merged %(count)d memories") % {"count": correction.count + 1}, undo_id=correction.undo_id)


@require_POST
@staff_page
def undo(request: StudioRequest, undo_id: str) -> HttpResponseBase:
    """Take a change back. What is newer stays, and is told."""
    report = start_undo(undo_id, is_forced=True, asked_by=request.user.get_username())
    if isinstance(report, Work):
        return finish(request, _("So many memories are put back in the background; a message tells when it is done"))
    text = _tell_undone(report)
    return finish_with_warning(request, text) if report.kept_newer else finish(request, text)


def _is_for_a_job(selection: Selection) -> bool:
    return selection.is_whole and selection.count > AT_ONCE and corrections.can_undo()


def _leave_to_a_job(request: StudioRequest, change: BulkChange) -> HttpResponseBase:
    started = start_bulk_change(change, asked_by=request.user.get_username())
    if not started.is_queued:
        return finish(request, _("Done"), undo_id=started.undo_id)
    told = _(
        "%(count)s memories are being changed in the background. A message tells when it is done, and offers the undo"
    )
    return finish(request, told % {"count": write_number(started.count)})


def _retype(selection: Selection, type: MemoryType) -> Correction:
    if selection.is_whole:
        return corrections.retype_matching(selection.filter, type)
    return corrections.retype(selection.ids, type)


def _read_type(request: StudioRequest) -> MemoryType:
    name = request.POST.get("to", "")
    if name not in MEMORY_TYPES:
        raise InvalidRequestError(_("Choose one of the four types"))
    return name


def _ask_delete(count: int) -> str:
    return ngettext("Delete %(count)s memory?", "Delete %(count)s memories?", count) % {"count": write_number(count)}


def _ask_retype(count: int) -> str:
    told = ngettext("Change the type of %(count)s memory", "Change the type of %(count)s memories", count)
    return told % {"count": write_number(count)}


def _tell_deleted(correction: Correction) -> str:
    if not correction.count:
        return _("Nothing was deleted: it was gone already")
    told = ngettext("Deleted %(count)s memory", "Deleted %(count)s memories", correction.count)
    return told % {"count": write_number(correction.count)}


def _tell_undone(report: UndoReport) -> str:
    if report.was_undone_before:
        return _("This was undone before")
    count = report.restored_count + (len(report.removed) if report.kind == "import" else 0)
    return tell_undone(count, report.kept_newer)
