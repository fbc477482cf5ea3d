"""Many memories at once, on purpose: compact old ones, erase what must be gone for good."""

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from memory import corrections
from memory.background import AT_ONCE_THINGS
from memory.bulk_changes import BulkChange, start_bulk_change
from memory.inspection import list_memory_ids
from memory.summarization import CompactionFigures, drop_count, preview_compaction, start_compaction
from studio.access import StudioRequest, staff_page
from studio.addresses import read_next
from studio.answers import finish, finish_with_warning, show_dialog
from studio.finished_work import tell_compacted, tell_erased
from studio.forms.memories import CompactForm
from studio.memory_list import NO_OWNER, read_origin
from studio.memory_selection import Selection, read_selection
from studio.owners import list_owner_choices, name_owner
from studio.wording import write_number, write_percent, write_short_number


@require_http_methods(["GET", "HEAD", "POST"])
@staff_page
def compact(request: StudioRequest) -> HttpResponseBase:
    """Show what compaction would do (a dry run at every change of a field), then do it."""
    if request.method == "POST":
        return _compact(request)
    _drop_left_count(request)
    owner = request.GET.get("owner", read_origin(request).values.get("key", ""))
    form = CompactForm({"days": request.GET.get("days", 30), "owner": owner})
    return _show_compact(request, form, is_anew="again" in request.GET)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_page
def erase(request: StudioRequest) -> HttpResponseBase:
    """Count, have the count typed, and delete all that the list shows: without undo."""
    selection = read_selection(request)
    if request.method != "POST":
        return _show_erase(request, selection)
    if request.POST.get("typed", "").strip() != _write_phrase(selection):
        problem = _("This is not what was asked for; the number may be another by now")
        return _show_erase(request, selection, problem=problem, status=422)
    if selection.count > AT_ONCE_THINGS and corrections.can_undo():
        change = BulkChange("erase", list_memory_ids(selection.filter))
        start_bulk_change(change, asked_by=request.user.get_username())
        told = _("%(count)s memories are being erased in the background. A message tells when it is done")
        return finish(request, told % {"count": write_number(selection.count)})
    return finish(request, tell_erased(corrections.erase_matching(selection.filter)))


def _compact(request: StudioRequest) -> HttpResponseBase:
    form = CompactForm(request.POST)
    if not form.is_valid() or "count" in request.POST:
        return _show_compact(request, form)
    started = start_compaction(form.read_owner(), form.cleaned_data["days"], asked_by=request.user.get_username())
    if started.is_queued:
        told = _("%(count)s memories are being compacted in the background. When that is done, it can be undone here")
        return finish(request, told % {"count": write_number(started.count)})
    if not started.count:
        return finish_with_warning(
            request, _("Nothing was compacted: no memory is old enough, or no summary would be shorter")
        )
    return finish(request, tell_compacted(started.count, started.figures.summaries), undo_id=started.undo_id)


def _drop_left_count(request: StudioRequest) -> None:
    """A field was changed while it was still counted what the old value would do: nobody waits for that any more."""
    days, found, owner = request.GET.get("counting", "").partition(":")
    left = CompactForm({"days": days, "owner": owner})
    if found and left.is_valid():
        drop_count(left.read_owner(), left.cleaned_data["days"])


def _show_compact(request: StudioRequest, form: CompactForm, *, is_anew: bool = False) -> HttpResponseBase:
    is_valid = form.is_valid()
    owner = form["owner"].value()
    address = reverse("studio:memory-compact")
    asked = urlencode({"days": form["days"].value(), "owner": owner, "next": read_next(request)})
    context: dict[str, Any] = {
        "title": _("Compact old memories"),
        "action": address,
        "count_address": f"{address}?{asked}",
        "form": form,
        "owners": list_owner_choices(None if owner in ("", NO_OWNER) else owner),
        "no_owner": NO_OWNER,
        "undo_days": settings.MEMORY_UNDO_DAYS,
    }
    if is_valid:
        count = preview_compaction(form.read_owner(), form.cleaned_data["days"], is_anew=is_anew)
        context |= {"count": count, **(_build_figures(count.figures) if count.figures is not None else {})}
    return show_dialog(request, "studio/memory_compact.html", context, status=200 if is_valid else 422)


def _build_figures(figures: CompactionFigures) -> dict[str, Any]:
    return {
        "candidates": figures.memories,
        "candidate_tokens": write_short_number(figures.tokens),
        "summaries": figures.summaries,
        "summary_tokens": write_short_number(max(0, figures.tokens - figures.tokens_saved)),
        "saved": write_short_number(figures.tokens_saved),
        "saved_share": write_percent(figures.tokens_saved, figures.tokens),
        "left_alone": figures.left_alone,
    }


def _show_erase(
    request: StudioRequest, selection: Selection, *, problem: str = "", status: int = 200
) -> HttpResponseBase:
    asked = ngettext("Erase %(count)s memory for good", "Erase %(count)s memories for good", selection.count)
    context = {
        "title": asked % {"count": write_number(selection.count)},
        "action": reverse("studio:memory-erase"),
        "selection": selection,
        "phrase": _write_phrase(selection),
        "owner_name": name_owner(selection.filter.owner) if selection.filter.owner is not None else "",
        "problem": problem,
    }
    return show_dialog(request, "studio/memory_erase.html", context, status=status)


def _write_phrase(selection: Selection) -> str:
    """What has to be typed. The number is plain: nobody should have to know our separators."""
    return f"erase {selection.count}"
