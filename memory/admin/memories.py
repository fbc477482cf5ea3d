"""Memories in the admin: found, filtered, changed one by one, and many at once."""

import re
from typing import Any, Final, cast

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.timezone import localtime
from django.utils.translation import gettext_lazy as _

from core.admin_labels import label_model
from core.paging import KeyFirstPaginator
from memory import corrections, usage
from memory.admin.actions import BulkActions
from memory.admin.backends import BackendsPage
from memory.admin.filters import ExpiryFilter, IndexFilter, OwnerFilter, SourceFilter, name_owners
from memory.backends.base import MemoryChanges
from memory.backends.manager import get_primary
from memory.models import Memory, MemoryQuerySet
from memory.records import MemoryType
from memory.search.keyword import select_holding
from memory.serializers import MAX_CONTENT_LENGTH, MAX_KEY_LENGTH

SHOWN_CONTENT_CHARACTERS: Final = 80
UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
IDENTITY: Final = ["uuid", "memory_id", "api_key_id", "session_id"]
CHANGEABLE: Final = ["type", "key", "content"]
READ_ONLY: Final = ["metadata", "created_at", "updated_at", "expires_at", "needs_reindex", "uses"]


class MemoryForm(forms.ModelForm[Memory]):
    key = forms.CharField(label=_("Key"), max_length=MAX_KEY_LENGTH, strip=False)
    content = forms.CharField(label=_("Content"), max_length=MAX_CONTENT_LENGTH, strip=False, widget=forms.Textarea)

    class Meta:
        model = Memory
        fields = CHANGEABLE

    def clean_key(self) -> str:
        """Django leaves the constraint out, since the owner is not part of the form."""
        key: str = self.cleaned_data["key"]
        holder = get_primary().find_by_key(self.instance.api_key_id, key)
        if holder is not None and holder.id != self.instance.uuid:
            raise forms.ValidationError(_("Another memory of this owner has this key."))
        return key


label_model(
    Memory,
    _("memory"),
    _("memories"),
    memory_id=_("memory id"),
    uuid=_("uuid"),
    api_key_id=_("api key id"),
    session_id=_("session id"),
    type=_("type"),
    key=_("key"),
    content=_("content"),
    metadata=_("metadata"),
    created_at=_("created at"),
    updated_at=_("updated at"),
    expires_at=_("expires at"),
    needs_reindex=_("needs reindex"),
)


@admin.register(Memory)
class MemoryAdmin(BackendsPage, BulkActions):
    form = MemoryForm
    list_display = ["key", "beginning", "type", "owner", "source", "updated_at", "expires_at", "indexed"]
    list_filter = ["type", SourceFilter, ExpiryFilter, IndexFilter, OwnerFilter]
    # The search is our own; Django only asks whether there is one.
    search_fields = ["key"]
    search_help_text = _("Words of the text or the key, the last one perhaps only begun; or a memory's id.")
    ordering = ["-created_at", "-memory_id"]
    list_per_page = 50
    paginator = KeyFirstPaginator
    list_max_show_all = 200
    # The count of all rows beside the count of those found would be a second walk through the table.
    show_full_result_count = False
    # The numbers beside each choice of each filter would be a walk through the table each.
    show_facets = admin.ShowFacets.NEVER
    fields = [*IDENTITY, *CHANGEABLE, *READ_ONLY]
    readonly_fields = [*IDENTITY, *READ_ONLY]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Memory]:
        return super().get_queryset(request).defer("search_terms")

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Names of the page's owners in one query."""
        changelist = super().get_changelist_instance(request)
        rows = list(changelist.result_list)
        names = name_owners(sorted({row.api_key_id for row in rows}))
        for row in rows:
            row.owner_name = names[row.api_key_id]
        changelist.result_list = rows
        return changelist

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Memory], search_term: str
    ) -> tuple[QuerySet[Memory], bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        if UUID.fullmatch(text.lower()):
            return queryset.filter(uuid=text.lower()), False
        return select_holding(cast(MemoryQuerySet, queryset), text), False

    @admin.display(description=_("API key"), ordering="api_key_id")
    def owner(self, memory: Memory) -> str:
        return str(getattr(memory, "owner_name", memory.api_key_id))

    @admin.display(description=_("content"))
    def beginning(self, memory: Memory) -> str:
        text = memory.content
        return text if len(text) <= SHOWN_CONTENT_CHARACTERS else f"{text[:SHOWN_CONTENT_CHARACTERS]}..."

    @admin.display(description=_("source"))
    def source(self, memory: Memory) -> str:
        metadata = memory.metadata if isinstance(memory.metadata, dict) else {}
        return str(metadata.get("source") or "")

    @admin.display(description=_("indexed"), boolean=True)
    def indexed(self, memory: Memory) -> bool:
        return not memory.needs_reindex

    @admin.display(description=_("used by chats"))
    def uses(self, memory: Memory) -> str:
        use = usage.read_uses([memory.uuid]).get(memory.uuid)
        told = str(_("never"))
        if use is not None:
            moment = date_format(localtime(use.last_injected_at), "DATETIME_FORMAT")
            told = _("%(count)d x, last %(moment)s") % {"count": use.count, "moment": moment}
        address = f"{reverse('admin:gateway_requestlog_changelist')}?memory={memory.uuid}"
        return format_html('{} (<a href="{}">{}</a>)', told, address, _("requests"))

    def has_add_permission(self, request: HttpRequest) -> bool:
        """A memory needs an owner and a source; the API asks for them."""
        return False

    def save_model(self, request: HttpRequest, obj: Memory, form: Any, change: bool) -> None:
        changes = MemoryChanges(type=cast(MemoryType, obj.type), key=obj.key, content=obj.content)
        corrections.edit(obj.uuid, changes)

    def delete_model(self, request: HttpRequest, obj: Memory) -> None:
        corrections.delete_memories([obj.uuid])
