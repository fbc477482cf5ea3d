"""The admin's page of the backends: how they are, which are used, what they are configured with."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from rest_framework.exceptions import ValidationError

from core.error_handler import flatten_details
from core.errors import FieldError, InvalidFieldsError
from core.fields import validate_body
from core.words import translate
from memory import services
from memory.backends.manager import MANAGER
from memory.backends.states import check_backends, list_backend_states
from memory.config import MEMORY_SECTION
from memory.models import Memory
from memory.serializers import MemorySettingsBody

PAGE = "memory_memory_backends"
NAMES = ("primaryBackend", "fallbackBackends", "backendConfigs")


class BackendsForm(forms.Form):
    """The three settings of backends, by their wire names; secrets are told masked, and stay where they still are."""

    primaryBackend = forms.ChoiceField(label=gettext_lazy("Primary"))  # noqa: N815
    fallbackBackends = forms.CharField(  # noqa: N815
        label=gettext_lazy("Fallbacks"),
        required=False,
        help_text=gettext_lazy("Ids, separated by commas, in the order in which they are asked."),
    )
    backendConfigs = forms.JSONField(  # noqa: N815
        label=gettext_lazy("Configurations"),
        required=False,
        help_text=gettext_lazy("By backend; see docs/backends.md for the fields of each."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(name, MANAGER.read_display_name(name)) for name in MANAGER.ids]
        self.fields["primaryBackend"].choices = choices  # type: ignore[attr-defined]

    def save(self) -> bool:
        """Save what a valid form holds; False, with errors at the fields, when it is refused."""
        cleaned = self.cleaned_data
        fallbacks = [name.strip() for name in cleaned["fallbackBackends"].split(",") if name.strip()]
        changes = {**cleaned, "fallbackBackends": fallbacks, "backendConfigs": cleaned["backendConfigs"] or {}}
        try:
            services.change_settings(validate_body(MemorySettingsBody, changes))
        except ValidationError as error:
            self._tell(flatten_details(error.detail))
        except InvalidFieldsError as error:
            self._tell(list(error.details))
        return self.is_valid()

    def _tell(self, errors: list[FieldError]) -> None:
        for error in errors:
            name, _dot, rest = error.field.partition(".")
            told = translate(error.message)
            if rest:
                told = _("%(field)s: %(fault)s") % {"field": rest, "fault": told}
            self.add_error(name if name in NAMES else None, told)


class BackendsPage(admin.ModelAdmin[Memory]):
    """Adds the page to the memories' admin."""

    change_list_template = "admin/memory/memory/change_list.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.show_backends)
        return [path("backends/", view, name=PAGE), *super().get_urls()]

    def show_backends(self, request: HttpRequest) -> HttpResponse:
        if not self.has_change_permission(request):
            raise PermissionDenied
        if request.method == "POST" and "check" in request.POST:
            check_backends(are_all=True)
            return redirect(f"admin:{PAGE}")
        form = BackendsForm(request.POST) if request.method == "POST" else BackendsForm(initial=_read_initial())
        if request.method == "POST" and form.is_valid() and form.save():
            self.message_user(request, _("The backends were changed."), messages.SUCCESS)
            return redirect(f"admin:{PAGE}")
        context = {
            **self.admin_site.each_context(request),
            "title": _("Backends"),
            "states": list_backend_states(),
            "form": form,
            "opts": self.model._meta,
        }
        return render(request, "admin/memory/memory/backends.html", context)


def _read_initial() -> dict[str, Any]:
    values = MEMORY_SECTION.read()
    return {
        "primaryBackend": values["primaryBackend"],
        "fallbackBackends": ", ".join(values["fallbackBackends"]),
        "backendConfigs": values["backendConfigs"],
    }
