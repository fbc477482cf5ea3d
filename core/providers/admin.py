"""Providers in the admin. Keys go in and never come out: a page shows their last characters at most."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.admin_labels import label_model
from core.errors import InvalidFieldsError
from core.providers.configuration import (
    ProviderChanges,
    normalise_base_url,
    normalise_key,
    normalise_name,
    save_provider,
)
from core.providers.models import Provider
from core.words import translate


class ProviderForm(forms.ModelForm[Provider]):
    use_as_default = forms.BooleanField(
        required=False,
        label=_("Default"),
        help_text=_("Takes the models that name no provider, in place of the one that does so now."),
    )
    new_api_key = forms.CharField(
        required=False,
        label=_("API key"),
        strip=True,
        widget=forms.PasswordInput(render_value=False, attrs={"autocomplete": "new-password"}),
        help_text=_("Stored encrypted and never shown again. Empty keeps the stored one."),
    )
    remove_api_key = forms.BooleanField(required=False, label=_("Remove the stored key"))

    class Meta:
        model = Provider
        fields = ["name", "base_url", "system_role"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["use_as_default"].initial = self.instance.is_default

    def clean_name(self) -> str:
        try:
            return normalise_name(self.cleaned_data["name"])
        except InvalidFieldsError as error:
            raise ValidationError(translate(error.message)) from None

    def clean_base_url(self) -> str:
        name = self.cleaned_data.get("name") or self.instance.name
        try:
            return normalise_base_url(name, self.cleaned_data["base_url"])
        except InvalidFieldsError as error:
            raise ValidationError(translate(error.message)) from None

    def clean_new_api_key(self) -> str:
        try:
            return normalise_key(self.cleaned_data["new_api_key"])
        except InvalidFieldsError as error:
            raise ValidationError(translate(error.message)) from None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("new_api_key") and cleaned.get("remove_api_key"):
            self.add_error("remove_api_key", _("Either give a new key or remove the stored one"))
        return cleaned

    def read_changes(self) -> ProviderChanges:
        """Return what a valid form asks for."""
        cleaned = self.cleaned_data
        return ProviderChanges(
            base_url=cleaned["base_url"],
            api_key="" if cleaned["remove_api_key"] else cleaned["new_api_key"] or None,
            is_default=cleaned["use_as_default"],
            system_role=cleaned["system_role"],
        )


label_model(
    Provider,
    _("provider"),
    _("providers"),
    name=_("name"),
    base_url=_("base url"),
    is_default=_("is default"),
    system_role=_("system role"),
    created_at=_("created at"),
    updated_at=_("updated at"),
)


@admin.register(Provider)
class ProviderAdmin(admin.ModelAdmin[Provider]):
    form = ProviderForm
    list_display = ["name", "base_url", "key", "is_default", "system_role", "updated_at"]
    search_fields = ["name", "base_url"]
    fields = [
        "name",
        "base_url",
        "key",
        "new_api_key",
        "remove_api_key",
        "use_as_default",
        "system_role",
        "created_at",
        "updated_at",
    ]

    def get_readonly_fields(self, request: HttpRequest, obj: Provider | None = None) -> list[str]:
        return ["key", "created_at", "updated_at", *(["name"] if obj else [])]

    @admin.display(description=_("stored key"))
    def key(self, provider: Provider) -> str:
        if not provider.has_key:
            return gettext("none")
        return f"…{provider.api_key_hint}" if provider.api_key_hint else gettext("stored")

    def save_model(self, request: HttpRequest, obj: Provider, form: Any, change: bool) -> None:
        obj.pk = save_provider(obj.name, form.read_changes())[0].pk
