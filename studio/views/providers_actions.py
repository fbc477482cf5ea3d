"""What is done with a provider beside saving it: trying it out, and removing it."""

import structlog
from django.http import HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from core.errors import NotFoundError
from core.providers.configuration import remove_provider
from core.providers.connection import ConnectionTest, forget_test, keep_test, try_provider
from core.providers.listing import ListedProvider, list_providers, read_provider
from studio.access import StudioRequest, staff_page
from studio.forms.providers import ProviderForm
from studio.pages import render_fragment, render_page, wants_fragment
from studio.provider_uses import DAYS_LOOKED_BACK, count_recent_calls, list_provider_uses
from studio.toasts import add_toast
from studio.views.providers import render_form
from studio.views.settings import build_tabs

log = structlog.get_logger(__name__)


@require_POST
@staff_page
def test_provider(request: StudioRequest) -> HttpResponseBase:
    """Try the values on the screen, saved or not, and say what came of it."""
    form = ProviderForm(request.POST)
    context = {"test": _run_test(form)} if form.is_valid() else {}
    if wants_fragment(request):
        return render_fragment(request, "studio/_providers_test.html", {**context, "form": form})
    provider = _find_stored(str(form["name"].value() or ""))
    return render_form(request, form, provider, extra=context, status=200 if form.is_valid() else 422)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_page
def remove(request: StudioRequest, name: str) -> HttpResponseBase:
    """Ask, telling what goes with it; then remove it."""
    provider = read_provider(name)
    if not provider.is_stored:
        raise NotFoundError(_("Nothing is stored of this provider; it comes from the environment"))
    if request.method != "POST":
        context = {
            "provider": provider,
            "tabs": build_tabs("providers"),
            "uses": list_provider_uses(name),
            "calls": count_recent_calls(name),
            "days": DAYS_LOOKED_BACK,
        }
        if wants_fragment(request):
            return render_fragment(request, "studio/_providers_remove_dialog.html", context)
        return render_page(request, "studio/providers_remove.html", context, place="settings")
    remove_provider(name)
    forget_test(name)
    log.info("studio.provider.removed", provider=name)
    add_toast(request, _("{name} is removed").format(name=name))
    return HttpResponseRedirect(reverse("studio:settings-providers"))


def _run_test(form: ProviderForm) -> ConnectionTest:
    """What came of a try is kept for the list if it was of what is saved."""
    name, address, api_key = form.cleaned_data["name"], form.read_address(), form.cleaned_data["api_key"]
    test = try_provider(name, address, api_key)
    if not api_key and any(it.name == name and it.base_url == address for it in list_providers()):
        keep_test(name, test)
    return test


def _find_stored(name: str) -> ListedProvider | None:
    return next((it for it in list_providers() if it.name == name and it.is_stored), None)
