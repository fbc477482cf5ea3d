"""What is done with an API key: giving it another name, and taking it away."""

import structlog
from django.http import HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from core.accounts.keys import list_keys, rename_key, revoke_keys
from core.accounts.models import ApiKey
from core.errors import ConflictError, NotFoundError
from memory.coverage import count_by_owner
from studio.access import StudioRequest, staff_page
from studio.forms.api_keys import KeyNameForm
from studio.pages import render_fragment, render_page, wants_fragment
from studio.toasts import add_toast
from studio.views.settings import build_tabs

log = structlog.get_logger(__name__)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_page
def rename(request: StudioRequest, key_id: str) -> HttpResponseBase:
    key = _find_key(key_id)
    form = KeyNameForm(request.POST) if request.method == "POST" else KeyNameForm(initial={"name": key.name})
    if request.method == "POST" and form.is_valid():
        rename_key(key.id, form.cleaned_data["name"])
        add_toast(request, _("The key is called {name} now").format(name=form.cleaned_data["name"].strip()))
        return _go_to_keys()
    status = 422 if form.errors else 200
    context = {"key": key, "form": form, "tabs": build_tabs("keys")}
    return render_page(request, "studio/api_keys_rename.html", context, place="settings", status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_page
def revoke(request: StudioRequest, key_id: str) -> HttpResponseBase:
    """Ask, telling what goes and what stays; then revoke it, which can't be undone."""
    key = _find_key(key_id)
    if key.is_revoked:
        raise ConflictError(_("This key is revoked already"))
    if request.method != "POST":
        context = {"key": key, "memories": count_by_owner([key.id]).get(key.id, 0), "tabs": build_tabs("keys")}
        if wants_fragment(request):
            return render_fragment(request, "studio/_api_keys_revoke_dialog.html", context)
        return render_page(request, "studio/api_keys_revoke.html", context, place="settings")
    revoke_keys([key.id])
    add_toast(request, _("{name} is revoked").format(name=key.name))
    return _go_to_keys()


def _find_key(key_id: str) -> ApiKey:
    found = list_keys(ids=[key_id])
    if not found:
        raise NotFoundError(_("There is no such API key"))
    return found[0]


def _go_to_keys() -> HttpResponseBase:
    return HttpResponseRedirect(reverse("studio:settings-keys"))
