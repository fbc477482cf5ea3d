"""API keys in the admin: make one (shown once), see which are used, revoke them."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core.accounts import keys
from core.accounts.models import ApiKey
from core.admin_labels import label_model


class ApiKeyForm(forms.ModelForm[ApiKey]):
    scopes = forms.MultipleChoiceField(
        label=_("Scopes"),
        choices=[(scope, scope) for scope in keys.SCOPES],
        initial=["chat"],
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "chat: use models and its own memories. read:memory, write:memory: its own memories through MCP, no "
            "models. manage, admin: everything under /api/."
        ),
    )

    class Meta:
        model = ApiKey
        fields = ("name", "scopes")


label_model(
    ApiKey,
    _("API key"),
    _("API keys"),
    id=_("id"),
    name=_("name"),
    prefix=_("prefix"),
    scopes=_("scopes"),
    created_at=_("created at"),
    last_used_at=_("last used at"),
    revoked_at=_("revoked at"),
)


@admin.register(ApiKey)
class ApiKeyAdmin(admin.ModelAdmin[ApiKey]):
    form = ApiKeyForm
    list_display = ("name", "prefix", "scope_list", "created_at", "last_used_at", "state")
    search_fields = ("name", "prefix", "id")
    actions = ("revoke_selected",)
    show_full_result_count = False

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        if obj is None:
            return ("name", "scopes")
        return ("name", "scopes", "prefix", "id", "state", "created_at", "last_used_at", "revoked_at")

    def get_readonly_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        return () if obj is None else ("prefix", "id", "state", "created_at", "last_used_at", "revoked_at")

    def has_delete_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        """Only a revoked key can be deleted, one at a time: its memories would stay, with nobody to read them."""
        return obj is not None and obj.is_revoked and super().has_delete_permission(request, obj)

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        if change:
            super().save_model(request, obj, form, change)
            return
        bare_key = keys.issue_key(obj)
        told = gettext("This is the key. Copy it now, it is not shown again: {key}")
        self.message_user(request, format_html(told, key=format_html("<code>{}</code>", bare_key)), messages.WARNING)

    @admin.display(description=_("scopes"))
    def scope_list(self, key: ApiKey) -> str:
        return ", ".join(key.scopes)

    @admin.display(description=_("state"))
    def state(self, key: ApiKey) -> str:
        return gettext("revoked") if key.is_revoked else gettext("active")

    @admin.action(description=_("Revoke the selected keys"), permissions=["change"])
    def revoke_selected(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> TemplateResponse | None:
        """Ask first, telling how many; the confirmed form comes back here."""
        active = list(queryset.filter(revoked_at=None))
        if active and "confirmed" not in request.POST:
            context = {
                **self.admin_site.each_context(request),
                "title": gettext("Revoke API keys"),
                "keys": active,
                "opts": self.model._meta,
                "action_checkbox_name": ACTION_CHECKBOX_NAME,
            }
            return TemplateResponse(request, "accounts/revoke_keys.html", context)
        count = keys.revoke_keys([key.id for key in active])
        told = gettext("Revoked %(count)d of %(selected)d selected keys.")
        self.message_user(request, told % {"count": count, "selected": queryset.count()}, messages.SUCCESS)
        return None
