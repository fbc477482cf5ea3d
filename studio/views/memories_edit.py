"""Add a memory, change one, bring an earlier version of one back."""

from typing import Any

from django.http import HttpResponseBase, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from core.errors import ConflictError, InvalidFieldsError, NotFoundError
from memory import corrections, services
from memory.backends.base import MemoryChanges
from memory.backends.manager import get_primary
from memory.records import MemoryRecord
from memory.search.ranking import estimate_tokens
from studio.access import StudioRequest, staff_page
from studio.answers import CHANGED, finish, show_dialog
from studio.forms.memories import AddForm, EditForm
from studio.forms.refusals import add_refusal
from studio.memory_list import NO_OWNER, read_list_query, read_origin
from studio.memory_rows import build_rows
from studio.memory_selection import load_memory
from studio.owners import list_owner_choices, name_owner
from studio.pages import render_fragment, wants_fragment
from studio.toasts import add_toast

ADD: str = "studio/memory_add.html"
EDIT: str = "studio/memory_edit.html"


@require_http_methods(["GET", "HEAD", "POST"])
@staff_page
def add(request: StudioRequest) -> HttpResponseBase:
    """Ask for a new memory and store it. A key that its owner already has is refused: an upsert would replace it."""
    if request.method != "POST":
        return _show_add(request, AddForm(initial={"owner": read_origin(request).values.get("key", "")}))
    form = AddForm(request.POST)
    if not form.is_valid():
        return _show_add(request, form, status=422)
    draft = form.make_draft()
    holder = get_primary().find_by_key(draft.owner, draft.key)
    if holder is not None:
        form.add_error("key", _("%(owner)s already has this key.") % {"owner": name_owner(draft.owner)})
        return _show_add(request, form, holder=holder, status=422)
    try:
        services.create(draft)
    except InvalidFieldsError as error:
        add_refusal(form, error)
        return _show_add(request, form, status=422)
    return finish(request, _("Added 1 memory"))


@require_http_methods(["GET", "HEAD", "POST"])
@staff_page
def edit(request: StudioRequest, memory_id: str) -> HttpResponseBase:
    """Change type, key or content in the row's own place; without htmx on a page."""
    record = load_memory(memory_id)
    if request.method != "POST":
        return _show_edit(request, EditForm(record))
    form = EditForm(record, request.POST)
    if not form.is_valid():
        return _show_edit(request, form, status=422)
    try:
        correction = corrections.edit(memory_id, form.make_changes(), seen_at=form.cleaned_data["seen"])
    except ConflictError as error:
        if error.param != "key":
            return _show_edit(request, form, theirs=load_memory(memory_id), status=409)
        form.add_error("key", _("Another memory of this API key has this key."))
        return _show_edit(request, form, status=409)
    if not wants_fragment(request):
        return finish(request, _("Saved 1 memory"), undo_id=correction.undo_id)
    return _show_saved(request, memory_id, correction)


@require_POST
@staff_page
def restore_version(request: StudioRequest, memory_id: str) -> HttpResponseBase:
    """Give a memory back what one of its kept versions said; itself a change that can be undone."""
    record = load_memory(memory_id)
    kept = corrections.list_versions(record.owner, memory_id)
    version = next((item for item in kept if str(item.archive_id) == request.POST.get("version")), None)
    if version is None:
        raise NotFoundError(_("This version is not kept any more"))
    changes = MemoryChanges(key=version.key or None, content=version.content)
    correction = corrections.edit(memory_id, changes)
    return finish(request, _("Brought an earlier version back"), undo_id=correction.undo_id)


def _show_add(
    request: StudioRequest, form: AddForm, *, holder: MemoryRecord | None = None, status: int = 200
) -> HttpResponseBase:
    chosen = form["owner"].value()
    context: dict[str, Any] = {
        "title": _("Add a memory"),
        "action": reverse("studio:memory-add"),
        "form": form,
        "owners": list_owner_choices(None if chosen == NO_OWNER else chosen),
        "no_owner": NO_OWNER,
        "holder_address": read_list_query(QueryDict()).address(id=holder.id) if holder else "",
    }
    return show_dialog(request, ADD, context, status=status)


def _show_edit(
    request: StudioRequest, form: EditForm, *, theirs: MemoryRecord | None = None, status: int = 200
) -> HttpResponseBase:
    """Show the form; over `theirs`, what somebody else has saved meanwhile, the next save goes knowingly."""
    content = form["content"].value() or ""
    context: dict[str, Any] = {
        "title": _("Edit a memory"),
        "action": reverse("studio:memory-edit", args=[form.record.id]),
        "form": form,
        "theirs": theirs,
        "seen": theirs.updated_at.isoformat() if theirs else form["seen"].value(),
        "record": form.record,
        "owner_name": name_owner(form.record.owner),
        "characters": len(content),
        "tokens": estimate_tokens(content),
        "can_undo": corrections.can_undo(),
    }
    if wants_fragment(request):
        return render_fragment(request, "studio/_memory_edit_row.html", context, status=status)
    return show_dialog(request, EDIT, context, status=status)


def _show_saved(request: StudioRequest, memory_id: str, correction: corrections.Correction) -> HttpResponseBase:
    if correction.count:
        add_toast(request, _("Saved 1 memory"), undo_id=correction.undo_id)
    row = build_rows([load_memory(memory_id)])[0]
    context = {"row": row, "listed": read_origin(request), "is_fresh": bool(correction.count)}
    response = render_fragment(request, "studio/_memory_row_saved.html", context)
    response.headers["HX-Trigger-After-Settle"] = f"{CHANGED}-elsewhere"
    return response
