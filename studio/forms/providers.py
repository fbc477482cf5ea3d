"""The form of a provider. Keys go in and never come out."""

from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from core.errors import InvalidFieldsError
from core.providers.configuration import ProviderChanges, normalise_base_url, normalise_key, normalise_name
from core.providers.listing import ListedProvider
from core.providers.models import SYSTEM_ROLES
from core.providers.registry import PROVIDERS, find_provider
from core.words import translate

MAX_URL_CHARS: Final = 2000


class ProviderForm(forms.Form):
    """`name` is fixed for a provider that is being changed: it is what stands before the slash of a model."""

    name = forms.CharField(max_length=64)
    base_url = forms.CharField(required=False, max_length=MAX_URL_CHARS)
    api_key = forms.CharField(required=False)
    remove_key = forms.BooleanField(required=False)
    is_default = forms.BooleanField(required=False)
    system_role = forms.ChoiceField(required=False, choices=SYSTEM_ROLES)

    def clean_name(self) -> str:
        try:
            return normalise_name(self.cleaned_data["name"])
        except InvalidFieldsError as error:
            raise forms.ValidationError(translate(error.message)) from None

    def clean_base_url(self) -> str:
        name = self.cleaned_data.get("name", "")
        if not name:
            return str(self.cleaned_data["base_url"])
        try:
            return normalise_base_url(name, self.cleaned_data["base_url"])
        except InvalidFieldsError as error:
            raise forms.ValidationError(translate(error.message)) from None

    def clean_api_key(self) -> str:
        try:
            return normalise_key(self.cleaned_data["api_key"])
        except InvalidFieldsError as error:
            raise forms.ValidationError(translate(error.message)) from None

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if values.get("api_key") and values.get("remove_key"):
            self.add_error("remove_key", _("Either give a new key or remove the stored one."))
        return values

    def read_changes(self) -> ProviderChanges:
        """Return what a valid form asks for; an empty key keeps the stored one."""
        values = self.cleaned_data
        return ProviderChanges(
            base_url=values["base_url"],
            api_key="" if values["remove_key"] else values["api_key"] or None,
            is_default=values["is_default"],
            system_role=values["system_role"],
        )

    def read_address(self) -> str:
        """Return the base URL that a valid form stands for: its own, else the one that the name is known for."""
        known = find_provider(self.cleaned_data["name"])
        return self.cleaned_data["base_url"] or (known.base_url if known else "")


def fill_provider_form(provider: ListedProvider) -> ProviderForm:
    """Return the form with what is stored."""
    initial = {
        "name": provider.name,
        "base_url": provider.stored_base_url,
        "is_default": provider.is_default and provider.is_stored,
        "system_role": provider.system_role,
    }
    return ProviderForm(initial=initial)


def list_known_choices(taken: set[str]) -> list[tuple[str, str]]:
    """Return id and name of the providers that are known by name and not among `taken`, by name."""
    known = [(it.id, it.name) for it in PROVIDERS if it.id not in taken and it.base_url]
    return sorted(known, key=lambda choice: choice[1].casefold())
