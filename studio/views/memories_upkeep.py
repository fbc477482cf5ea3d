"""Many memories at once, on purpose: compact old ones, erase what must be gone for good."""

from typing import Any

from django.conf import settings
from django.http import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from memory import corrections
from memory.summarization import CompactionReport, summarize_older_than
from studio.access import StudioRequest, staff_page
from studio.answers import finish, finish_with_warning, show_dialog
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
    owner = request.GET.get("owner", read_origin(request).values.get("key", ""))
    form = CompactForm({"days": request.GET.get("days", 30), "owner": owner})
    if not form.is_valid():
        return _show_compact(request, form, None, status=422)
    return _show_compact(request, form, _run_compaction(form, is_dry_run=True))


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
    count = corrections.erase_matching(selection.filter)
    told = ngettext("Erased %(count)s memory for good", "Erased %(count)s memories for good", count)
    return finish(request, told % {"count": write_number(count)})


def _compact(request: StudioRequest) -> HttpResponseBase:
    form = CompactForm(request.POST)
    if not form.is_valid():
        return _show_compact(request, form, None, status=422)
    report = _run_compaction(form, is_dry_run=False)
    if not report.deleted_count:
        return finish_with_warning(
            request, _("Nothing was compacted: no memory is old enough, or no summary would be shorter")
        )
    told = ngettext(
        "Compacted %(count)s memory into %(summaries)s",
        "Compacted %(count)s memories into %(summaries)s",
        report.deleted_count,
    )
    numbers = {"count": write_number(report.deleted_count), "summaries": write_number(len(report.summaries))}
    return finish(request, told % numbers, undo_id=report.undo_id or "")


def _run_compaction(form: CompactForm, *, is_dry_run: bool) -> CompactionReport:
    owner = form.cleaned_data["owner"] or None
    return summarize_older_than("" if owner == NO_OWNER else owner, form.cleaned_data["days"], is_dry_run=is_dry_run)


def _show_compact(
    request: StudioRequest, form: CompactForm, report: CompactionReport | None, *, status: int = 200
) -> HttpResponseBase:
    owner = form["owner"].value()
    context: dict[str, Any] = {
        "title": _("Compact old memories"),
        "action": reverse("studio:memory-compact"),
        "form": form,
        "owners": list_owner_choices(None if owner in ("", NO_OWNER) else owner),
        "no_owner": NO_OWNER,
        "undo_days": settings.MEMORY_UNDO_DAYS,
        "report": report,
    }
    if report is not None:
        context |= {
            "candidates": len(report.candidates),
            "candidate_tokens": write_short_number(report.total_tokens),
            "summaries": len(report.summaries),
            "summary_tokens": write_short_number(max(0, report.total_tokens - report.tokens_saved)),
            "saved": write_short_number(report.tokens_saved),
            "saved_share": write_percent(report.tokens_saved, report.total_tokens),
            "left_alone": sum(group.count for group in report.left_alone),
        }
    return show_dialog(request, "studio/memory_compact.html", context, status=status)


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
