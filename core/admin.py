"""Settings in the admin: what is stored, what it means, what it would be otherwise. To be changed in the studio."""

import json
from functools import cache
from typing import Any, Final

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.admin_labels import label_model
from core.models import Setting
from core.runtime_settings import Section, SettingField
from core.words import translate

# Parts of names whose values are nobody's business, however deep they stand in an object.
SECRET_WORDS: Final = ("apikey", "api_key", "token", "secret", "password", "authorization", "credential", "header")
HIDDEN: Final = "***"
SHOWN_CHARACTERS: Final = 120


@cache
def list_fields() -> dict[str, SettingField]:
    """The fields of settings.SETTING_SECTIONS by the key of their row, and by the keys that older versions wrote."""
    sections: list[Section] = [import_string(path) for path in settings.SETTING_SECTIONS]
    return {key: field for section in sections for field in section.fields for key in (field.key, *field.aliases)}


def hide_secrets(name: str, value: Any) -> Any:
    """Return the value as it may be shown."""
    is_number = isinstance(value, int | float)  # such as a budget of tokens
    if value and not is_number and any(word in name.lower() for word in SECRET_WORDS):
        return HIDDEN
    if isinstance(value, dict):
        return {key: hide_secrets(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [hide_secrets("", inner) for inner in value]
    return value


label_model(
    Setting,
    gettext_lazy("setting"),
    gettext_lazy("settings"),
    key=gettext_lazy("key"),
    updated_at=gettext_lazy("updated at"),
)


@admin.register(Setting)
class SettingAdmin(admin.ModelAdmin[Setting]):
    list_display = ("key", "shown_value", "default", "meaning", "updated_at")
    search_fields = ("key",)
    ordering = ("key",)
    show_full_result_count = False
    change_list_template = "core/settings_list.html"
    fields = readonly_fields = ("key", "whole_value", "default", "meaning", "updated_at")

    @admin.display(description=gettext_lazy("value"))
    def shown_value(self, row: Setting) -> str:
        text = self.whole_value(row)
        return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"

    @admin.display(description=gettext_lazy("value"))
    def whole_value(self, row: Setting) -> str:
        """What no section describes the server keeps for itself: it may be anything."""
        if row.key not in list_fields():
            return HIDDEN
        return json.dumps(hide_secrets(row.key, row.value), ensure_ascii=False)

    @admin.display(description=gettext_lazy("default"))
    def default(self, row: Setting) -> str:
        field = list_fields().get(row.key)
        return "" if field is None else json.dumps(field.default)

    @admin.display(description=gettext_lazy("meaning"))
    def meaning(self, row: Setting) -> str:
        field = list_fields().get(row.key)
        return _("Kept by the server for itself.") if field is None else translate(field.help)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Setting | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Setting | None = None) -> bool:
        return False
