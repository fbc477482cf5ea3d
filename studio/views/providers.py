"""Providers: the list, and the form of one."""

from typing import Any

import structlog
from django.http import HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from core.providers.configuration import save_provider
from core.providers.connection import forget_test, read_tests
from core.providers.listing import ListedProvider, list_providers, read_provider
from core.providers.registry import ECHO, find_provider
from studio.access import StudioRequest, staff_page
from studio.forms.providers import ProviderForm, fill_provider_form, list_known_choices
from studio.pages import render_page
from studio.toasts import add_toast
from studio.views.settings import build_tabs

log = structlog.get_logger(__name__)


@require_safe
@staff_page
def show_page(request: StudioRequest) -> HttpResponseBase:
    tests = read_tests()
    rows = [(provider, tests.get(provider.name)) for provider in list_providers()]
    context = {"rows": rows, "tabs": build_tabs("providers"), "echo": ECHO}
    return render_page(request, "studio/providers.html", context, place="settings")


@require_http_methods(["GET", "HEAD", "POST"])
@staff_page
def add_provider(request: StudioRequest) -> HttpResponseBase:
    """A new provider: one that is known by name (`?name=`), or any that speaks the protocol."""
    if request.method == "POST":
        return _save(request, ProviderForm(request.POST), None)
    name = request.GET.get("name", "").strip()
    return render_form(request, ProviderForm(initial={"name": name}), None)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_page
def edit_provider(request: StudioRequest, name: str) -> HttpResponseBase:
    provider = read_provider(name)
    if request.method == "POST":
        return _save(request, ProviderForm({**request.POST.dict(), "name": name}), provider)
    return render_form(request, fill_provider_form(provider), provider)


def render_form(
    request: StudioRequest,
    form: ProviderForm,
    provider: ListedProvider | None,
    *,
    extra: dict[str, Any] | None = None,
    status: int = 200,
) -> HttpResponseBase:
    """Return the page with the form; `provider` is None for a new one."""
    name = str(form["name"].value() or "")
    context = {
        "form": form,
        "provider": provider,
        "known": find_provider(name),
        "chosen": name,
        "choices": [] if provider else list_known_choices({it.name for it in list_providers() if it.is_stored}),
        "tabs": build_tabs("providers"),
        **(extra or {}),
    }
    return render_page(request, "studio/providers_form.html", context, place="settings", status=status)


def _save(request: StudioRequest, form: ProviderForm, provider: ListedProvider | None) -> HttpResponseBase:
    if form.is_valid() and provider is None and _is_taken(form.cleaned_data["name"]):
        form.add_error("name", _("There is a provider of this name already. Open it in the list to change it."))
    if not form.is_valid():
        return render_form(request, form, provider, status=422)
    saved, is_new = save_provider(form.cleaned_data["name"], form.read_changes())
    # What the old address or key answered says nothing of the new one.
    forget_test(saved.name)
    log.info("studio.provider.saved", provider=saved.name, is_new=is_new)
    told = _("{name} is added") if is_new else _("{name} is saved")
    add_toast(request, told.format(name=saved.name))
    return HttpResponseRedirect(reverse("studio:settings-providers"))


def _is_taken(name: str) -> bool:
    return any(provider.name == name and provider.is_stored for provider in list_providers())
