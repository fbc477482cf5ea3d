"""Memories to a file, and from one: nothing of an upload is written before its preview was seen."""

import json
from datetime import UTC
from typing import Any, Final

from django.http import HttpResponseBase, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import InvalidRequestError, NotFoundError
from core.words import translate
from memory import corrections
from memory.background import IMPORT, find_last_work, take_telling
from memory.rendering import render_memory
from memory.transfer import (
    ImportOptions,
    ImportPlan,
    ImportReport,
    ImportTicket,
    export_array,
    export_jsonl,
    list_formats,
    open_ticket,
    plan_import,
    read_import_progress,
    run_import,
    stage_upload,
    start_import,
)
from studio.access import StudioRequest, staff_page
from studio.answers import finish, finish_with_warning, go_on, show_dialog
from studio.downloads import stream_download
from studio.finished_work import tell_imported
from studio.forms.memories import ImportOptionsForm
from studio.memory_list import FILTERS, NO_OWNER, read_list_query, read_origin
from studio.memory_selection import load_selected
from studio.owners import list_owner_choices, name_owner
from studio.pages import render_fragment, wants_fragment

# More rows than this are imported in the background, so that no browser waits for them.
AT_ONCE: Final = 2000
PROGRESS_TARGET: Final = "import-progress"


@require_GET
@staff_page
def export(request: StudioRequest) -> HttpResponseBase:
    """Download the memories that are ticked, or all that the filter of the address shows, as JSON."""
    stamp = timezone.now().astimezone(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    ids = request.GET.getlist("id")
    if ids and request.GET.get("whole") != "1":
        pieces = iter([_write_array(ids)])
        return stream_download(request, pieces, f"memory-export-{stamp}.json", "application/json")
    parameters = QueryDict(mutable=True)
    for name in (name for name in FILTERS if name in request.GET):
        parameters[name] = request.GET[name]
    filter = read_list_query(parameters).filter
    if request.GET.get("format") == "jsonl":
        return stream_download(request, export_jsonl(filter), f"memory-export-{stamp}.jsonl", "application/x-ndjson")
    return stream_download(request, export_array(filter), f"memory-export-{stamp}.json", "application/json")


@require_http_methods(["GET", "HEAD", "POST"])
@staff_page
def start(request: StudioRequest) -> HttpResponseBase:
    """Ask for a file, keep it for an hour, and show what importing it would do."""
    if request.method != "POST":
        return _ask_file(request)
    upload = request.FILES.get("file")
    if upload is None or upload.file is None:
        return _ask_file(request, problem=_("Choose a file first"), status=422)
    try:
        ticket = stage_upload(upload.file, upload.name or "")
        return _show_preview(request, ticket)
    except InvalidRequestError as error:
        return _ask_file(request, problem=f"{translate(error.message)}.", status=422)


@require_POST
@staff_page
def preview(request: StudioRequest, ticket_id: str) -> HttpResponseBase:
    """Show again what importing an upload would do, with other options."""
    ticket = open_ticket(ticket_id)
    try:
        return _show_preview(request, ticket)
    except InvalidRequestError as error:
        return _ask_file(request, problem=f"{translate(error.message)}.", status=422)


@require_POST
@staff_page
def run(request: StudioRequest, ticket_id: str) -> HttpResponseBase:
    """Import an upload: a small one at once, a large one in the background."""
    ticket, options = open_ticket(ticket_id), _read_options(request)
    plan = plan_import(ticket, options)
    if plan.total > AT_ONCE:
        start_import(ticket.id, options, rows=plan.total, asked_by=request.user.get_username())
        context = {**_build_progress(ticket.id), "has_open_work": True}
        return show_dialog(request, "studio/memory_import_progress.html", context)
    return _tell_imported(request, run_import(ticket, options))


@require_GET
@staff_page
def progress(request: StudioRequest, ticket_id: str) -> HttpResponseBase:
    """How far an import in the background is; at its end, what it did."""
    context = _build_progress(ticket_id)
    state = context["progress"]
    if state.state in ("done", "failed") and _is_told(request, ticket_id):
        return _close_progress(go_on(request))
    if state.state == "done" and state.report is not None:
        return _close_progress(_tell_imported(request, state.report))
    if state.state == "failed":
        told = _("The import failed: %(reason)s") % {"reason": translate(state.error)}
        return _close_progress(finish_with_warning(request, told))
    if wants_fragment(request) and request.htmx.target == PROGRESS_TARGET:
        return render_fragment(request, "studio/_import_progress.html", context)
    return show_dialog(request, "studio/memory_import_progress.html", context)


def _is_told(request: StudioRequest, ticket_id: str) -> bool:
    """Whether the operator was told its end on another page; if not, that is done now."""
    work = find_last_work(IMPORT, {"ticketId": ticket_id})
    return work is not None and work.asked_by == request.user.get_username() and not take_telling(work.id)


def _close_progress(response: HttpResponseBase) -> HttpResponseBase:
    """What has ended takes the dialog with it, not only the bar in it."""
    response.headers["HX-Retarget"] = "#dialog-slot"
    response.headers["HX-Reswap"] = "innerHTML"
    return response


def _ask_file(request: StudioRequest, *, problem: str = "", status: int = 200) -> HttpResponseBase:
    owner = request.POST.get("owner") or read_origin(request).values.get("key", "")
    context = {
        "title": _("Import memories"),
        "action": reverse("studio:memory-import"),
        "is_multipart": True,
        "problem": problem,
        **_build_options(ImportOptionsForm({"owner": owner})),
    }
    return show_dialog(request, "studio/memory_import.html", context, status=status)


def _show_preview(request: StudioRequest, ticket: ImportTicket) -> HttpResponseBase:
    options = _read_options(request)
    plan = plan_import(ticket, options)
    context = {
        "title": _("Import preview: %(file)s") % {"file": ticket.filename},
        "action": reverse("studio:memory-import-run", args=[ticket.id]),
        "preview_address": reverse("studio:memory-import-preview", args=[ticket.id]),
        "is_wide": True,
        "ticket": ticket,
        "plan": plan,
        "written": plan.new + plan.updates,
        "owner_name": name_owner(options.owner),
        "can_undo": corrections.can_undo(),
        "groups": _group(plan),
        "more_problems": max(0, plan.not_imported - len(plan.problems)),
        **_build_options(ImportOptionsForm(request.POST)),
    }
    return show_dialog(request, "studio/memory_import_preview.html", context)


def _group(plan: ImportPlan) -> dict[str, list[Any]]:
    """What stays out, with the reason, and samples of what would be changed or made."""
    return {
        "problems": list(plan.problems),
        "updates": [sample for sample in plan.samples if sample.outcome == "update"],
        "new": [sample for sample in plan.samples if sample.outcome == "new"],
    }


def _build_options(form: ImportOptionsForm) -> dict[str, Any]:
    chosen = form["owner"].value()
    owners = list_owner_choices(None if chosen in ("", None, NO_OWNER) else chosen)
    return {"options": form, "owners": owners, "no_owner": NO_OWNER, "formats": list_formats()}


def _read_options(request: StudioRequest) -> ImportOptions:
    form = ImportOptionsForm(request.POST)
    if not form.is_valid():
        raise InvalidRequestError(_("These options can't be read"))
    values = form.cleaned_data
    if not values["owner"] and not values["keeps_owners"]:
        raise InvalidRequestError(_("Choose the API key that gets the memories"))
    return ImportOptions(
        owner="" if values["owner"] == NO_OWNER else values["owner"],
        format=values["format"] or "auto",
        keeps_owners=values["keeps_owners"],
        overwrites=values["overwrites"],
        reads_conversations=values["reads_conversations"],
    )


def _build_progress(ticket_id: str) -> dict[str, Any]:
    return {
        "title": _("Importing"),
        "action": "",
        "progress": read_import_progress(ticket_id),
        "progress_address": reverse("studio:memory-import-progress", args=[ticket_id]),
    }


def _tell_imported(request: StudioRequest, report: ImportReport) -> HttpResponseBase:
    count = report.plan.new + report.plan.updates
    if not count:
        return finish_with_warning(request, _("Nothing was imported: no entry is new or changed"))
    return finish(request, tell_imported(count, report.plan.not_imported), undo_id=report.undo_id or "")


def _write_array(ids: list[str]) -> bytes:
    """Read before the answer begins, so that memories that are gone are a 404 and not a broken file."""
    records = load_selected(ids)
    if not records:
        raise NotFoundError(_("The memories are not there any more"))
    return json.dumps([render_memory(record) for record in records], ensure_ascii=False, indent=1).encode()
