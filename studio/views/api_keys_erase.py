"""Erasing all that an API key has, everywhere: counts first, the exact number typed, then the receipt."""

import json
from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from core.accounts.keys import ENV_KEY_ID, list_keys
from core.errors import ConflictError, NotFoundError
from memory.background import KEEP_DAYS, Work, read_known_work, take_telling
from memory.erasing import plan_erase, start_erase
from memory.records import EraseScope
from studio.access import StudioRequest, staff_page
from studio.owners import name_owner
from studio.pages import render_fragment, render_page, wants_fragment
from studio.views.settings import build_tabs

MAX_DIGITS: Final = 12


@require_http_methods(["GET", "HEAD", "POST"])
@staff_page
def erase(request: StudioRequest, key_id: str) -> HttpResponseBase:
    """The key itself stays. What a place could not erase now is tried again by a job."""
    if key_id != ENV_KEY_ID and not list_keys(ids=[key_id]):
        raise NotFoundError(_("There is no such API key"))
    scope = EraseScope(key_id)
    if request.method != "POST":
        return _show_plan(request, scope)
    confirmed = _read_typed(request.POST.get("typed", ""))
    if confirmed is None:
        return _show_plan(request, scope, problem=_("This is not what was asked for. Nothing was erased."))
    name = request.user.get_username()
    try:
        erased = start_erase(scope, confirmed=confirmed, erased_by=name, asked_by=name)
    except ConflictError as error:
        return _show_plan(request, scope, problem=error.message)
    if isinstance(erased, Work):
        return HttpResponseRedirect(reverse("studio:settings-key-erasure", args=[key_id, erased.id]))
    return _show_receipt(request, key_id, erased.tell())


@require_GET
@staff_page
def show_erasure(request: StudioRequest, key_id: str, work_id: str) -> HttpResponseBase:
    """How far an erasure is that a job does; at its end the receipt, which is kept for some days."""
    work = read_known_work(work_id)
    if work.notes.get("owner") != key_id:
        raise NotFoundError(_("There is no such erasure, or it was days ago"))
    address = reverse("studio:settings-key-erasure", args=[key_id, work_id])
    context = {"work": work, "address": address, "name": name_owner(key_id), "tabs": build_tabs("keys")}
    if wants_fragment(request):
        response = render_fragment(request, "studio/_api_keys_erasing.html", context)
        if not work.is_open:
            response.headers["HX-Refresh"] = "true"
        return response
    if work.answer is None:
        return render_page(request, "studio/api_keys_erasing.html", context, place="settings")
    if work.asked_by == request.user.get_username():
        take_telling(work_id)
    return _show_receipt(request, key_id, work.answer["receipt"], kept_days=KEEP_DAYS)


def write_phrase(memories: int) -> str:
    """What has to be typed. The number is plain: nobody should have to know our separators."""
    return f"erase {memories}"


def _read_typed(text: str) -> int | None:
    word, _space, digits = text.strip().partition(" ")
    is_meant = word == "erase" and digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS
    return int(digits) if is_meant else None


def _show_plan(request: StudioRequest, scope: EraseScope, *, problem: str = "") -> HttpResponseBase:
    plan = plan_erase(scope)
    context = {
        "plan": plan,
        "phrase": write_phrase(plan.memories),
        "name": name_owner(scope.owner),
        "problem": problem,
        "is_anything_there": any(place.count or place.error for place in plan.places),
        "tabs": build_tabs("keys"),
    }
    status = 422 if problem else 200
    return render_page(request, "studio/api_keys_erase.html", context, place="settings", status=status)


def _show_receipt(
    request: StudioRequest, key_id: str, told: Mapping[str, Any], *, kept_days: int = 0
) -> HttpResponseBase:
    context = {
        "receipt": told,
        "kept_days": kept_days,
        "text": json.dumps(told, indent=2, ensure_ascii=False),
        "name": name_owner(key_id),
        "tabs": build_tabs("keys"),
    }
    return render_page(request, "studio/api_keys_erased.html", context, place="settings")
