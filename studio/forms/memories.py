"""Forms of the Memories page. What they hold is checked by the same rules as the REST API's (memory.serializers)."""

import json
from datetime import datetime
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.backends.base import MemoryChanges
from memory.records import MEMORY_TYPES, MemoryDraft, MemoryRecord
from memory.serializers import MemoryChangesBody, MemoryDraftBody
from studio.forms.refusals import add_refusals
from studio.memory_list import NO_OWNER

TYPE_NAMES: Final = {
    "factual": gettext_lazy("Factual"),
    "episodic": gettext_lazy("Episodic"),
    "procedural": gettext_lazy("Procedural"),
    "semantic": gettext_lazy("Semantic"),
}
DRAFT_FIELDS: Final = {
    "apiKeyId": "owner",
    "key": "key",
    "content": "content",
    "type": "type",
    "sessionId": "session",
    "metadata": "metadata",
    "expiresAt": "expires",
}
CHANGES_FIELDS: Final = {"type": "type", "key": "key", "content": "content"}


class MomentField(forms.Field):
    """What an input of type datetime-local sends, in the operator's zone; None when empty."""

    def to_python(self, value: Any) -> datetime | None:
        if value in self.empty_values:
            return None
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            raise ValidationError(_("Write a date and a time")) from None
        return timezone.make_aware(moment) if timezone.is_naive(moment) else moment


class ObjectField(forms.CharField):
    """A JSON object, {} when empty."""

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        if not text:
            return {}
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise ValidationError(_('Write a JSON object, such as {"project": "billing"}')) from None


class AddForm(forms.Form):
    """A new memory."""

    type = forms.ChoiceField(choices=[(name, TYPE_NAMES[name]) for name in MEMORY_TYPES], initial="factual")
    owner = forms.CharField(required=False)
    key = forms.CharField()
    content = forms.CharField(strip=False)
    session = forms.CharField(required=False)
    metadata = ObjectField(required=False)
    expires = MomentField(required=False)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if self.errors:
            return values
        if values["owner"] == NO_OWNER:
            values["owner"] = ""
        expires = values["expires"]
        body = {wire: values[name] for wire, name in DRAFT_FIELDS.items() if name != "expires"}
        body["expiresAt"] = None if expires is None else expires.isoformat()
        add_refusals(self, MemoryDraftBody(data=body), DRAFT_FIELDS)
        if expires is not None and expires <= timezone.now():
            self.add_error("expires", _("This moment is past: the memory would never be used"))
        return values

    def make_draft(self) -> MemoryDraft:
        values = self.cleaned_data
        # Written by a person: a prompt is told its content as it stands.
        metadata = {"source": "operator", **values["metadata"]}
        return MemoryDraft(
            owner=values["owner"],
            key=values["key"],
            content=values["content"],
            type=values["type"],
            session_id=values["session"],
            metadata=metadata,
            expires_at=values["expires"],
        )


class EditForm(forms.Form):
    """Type, key and content of a memory that is there; `seen` is when it was changed last before it was opened."""

    type = forms.ChoiceField(choices=[(name, TYPE_NAMES[name]) for name in MEMORY_TYPES])
    key = forms.CharField(required=False)
    content = forms.CharField(strip=False)
    seen = forms.CharField(required=False)

    def __init__(self, record: MemoryRecord, data: Any = None) -> None:
        initial = {"type": record.type, "key": record.key, "content": record.content}
        super().__init__(data, initial={**initial, "seen": record.updated_at.isoformat()})
        self.record = record

    def clean_seen(self) -> datetime | None:
        try:
            return datetime.fromisoformat(self.cleaned_data["seen"])
        except ValueError:
            return None

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if self.errors:
            return values
        if not values["key"] and self.record.key:
            self.add_error("key", _("A key is missing"))
        # Browsers send line ends as CR LF, whatever they were.
        values["content"] = values["content"].replace("\r\n", "\n")
        body = {name: values[name] for name in ("type", "content")}
        if values["key"]:
            body["key"] = values["key"]
        add_refusals(self, MemoryChangesBody(data=body), CHANGES_FIELDS)
        return values

    def make_changes(self) -> MemoryChanges:
        values = self.cleaned_data
        return MemoryChanges(type=values["type"], key=values["key"] or None, content=values["content"])


class CompactForm(forms.Form):
    """Which memories are old enough to be compacted."""

    days = forms.IntegerField(min_value=1, max_value=365, initial=30)
    owner = forms.CharField(required=False)

    def read_owner(self) -> str | None:
        """The owner whose memories are meant, "" for those that have none, None for all."""
        owner: str = self.cleaned_data["owner"]
        return "" if owner == NO_OWNER else owner or None


class ImportForm(forms.Form):
    """A file, how it is read, and for whom."""

    file = forms.FileField(allow_empty_file=True)


class ImportOptionsForm(forms.Form):
    """How an upload is read, and for whom."""

    owner = forms.CharField(required=False)
    format = forms.CharField(required=False)
    keeps_owners = forms.BooleanField(required=False)
    overwrites = forms.BooleanField(required=False)
    reads_conversations = forms.BooleanField(required=False)
