"""The forms of an API key."""

from typing import Final

from django import forms
from django.utils.translation import gettext_lazy as _

from core.accounts.keys import NAME_MAX_CHARACTERS, SCOPES

SCOPE_HELP: Final = {
    "chat": _("Use models, with memories of its own."),
    "read:memory": _("Search its own memories, as an agent does through MCP; no models."),
    "write:memory": _("Add and clear its own memories, as an agent does through MCP; no models."),
    "manage": _("Everything under /api/: all memories, all settings."),
    "admin": _("The same as manage."),
}


class KeyNameForm(forms.Form):
    name = forms.CharField(max_length=NAME_MAX_CHARACTERS)

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if not name.isprintable():
            raise forms.ValidationError(_("A name holds printable characters only."))
        return name


class NewKeyForm(KeyNameForm):
    scopes = forms.MultipleChoiceField(
        choices=[(scope, scope) for scope in SCOPES],
        initial=["chat"],
        error_messages={"required": _("Choose what the key may do.")},
    )

    def list_scopes(self) -> list[tuple[str, object, bool]]:
        """Return each scope with what it allows and whether it is ticked."""
        chosen = self["scopes"].value() or []
        return [(scope, SCOPE_HELP.get(scope, ""), scope in chosen) for scope in SCOPES]
