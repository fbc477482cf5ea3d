"""Erasing all that an API key has, everywhere: counts first, the exact number typed, then the receipt."""

import json
from typing import Final

from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from core.accounts.keys import ENV_KEY_ID, list_keys
from core.errors import ConflictError, NotFoundError
from memory.erasing import EraseReceipt, confirm_and_erase, plan_erase
from memory.records import EraseScope
from studio.access import StudioRequest, staff_page
from studio.owners import name_owner
from studio.pages import render_page
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
    try:
        receipt = confirm_and_erase(scope, confirmed=confirmed, erased_by=request.user.get_username())
    except ConflictError as error:
        return _show_plan(request, scope, problem=error.message)
    return _show_receipt(request, receipt)


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


def _show_receipt(request: StudioRequest, receipt: EraseReceipt) -> HttpResponseBase:
    told = receipt.tell()
    context = {
        "receipt": receipt,
        "kept": told["kept"],
        "text": json.dumps(told, indent=2, ensure_ascii=False),
        "name": name_owner(receipt.scope.owner),
        "tabs": build_tabs("keys"),
    }
    return render_page(request, "studio/api_keys_erased.html", context, place="settings")
