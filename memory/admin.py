"""A plain look at the memories for operators. Changes and deletions go through services, as everywhere."""

from datetime import datetime
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from core.errors import ConflictError, NotFoundError
from memory import services
from memory.backends.base import MemoryChanges
from memory.backends.manager import get_primary
from memory.models import Compaction, Memory
from memory.records import MemoryType
from memory.serializers import MAX_CONTENT_LENGTH, MAX_KEY_LENGTH
from memory.summarization import undo_compaction

SHOWN_CONTENT_CHARACTERS = 80
IDENTITY = ["uuid", "memory_id", "api_key_id", "session_id"]
CHANGEABLE = ["type", "key", "content"]
READ_ONLY = ["metadata", "created_at", "updated_at", "expires_at", "needs_reindex"]


class MemoryForm(forms.ModelForm[Memory]):
    key = forms.CharField(max_length=MAX_KEY_LENGTH, strip=False)
    content = forms.CharField(max_length=MAX_CONTENT_LENGTH, strip=False, widget=forms.Textarea)

    class Meta:
        model = Memory
        fields = CHANGEABLE

    def clean_key(self) -> str:
        """Django leaves the constraint out, since the owner is not part of the form."""
        key: str = self.cleaned_data["key"]
        holder = get_primary().find_by_key(self.instance.api_key_id, key)
        if holder is not None and holder.id != self.instance.uuid:
            raise forms.ValidationError("Another memory of this owner has this key.")
        return key


@admin.register(Memory)
class MemoryAdmin(admin.ModelAdmin[Memory]):
    form = MemoryForm
    list_display = ["key", "type", "owner", "session_id", "beginning", "updated_at"]
    list_filter = ["type"]
    search_fields = ["key", "content"]
    ordering = ["-created_at", "-memory_id"]
    list_per_page = 50
    # The count of all rows beside the count of those found would be a second walk through the table.
    show_full_result_count = False
    fields = [*IDENTITY, *CHANGEABLE, *READ_ONLY]
    readonly_fields = [*IDENTITY, *READ_ONLY]

    @admin.display(ordering="api_key_id")
    def owner(self, memory: Memory) -> str:
        return memory.api_key_id or "(none)"

    @admin.display(description="content")
    def beginning(self, memory: Memory) -> str:
        text = memory.content
        return text if len(text) <= SHOWN_CONTENT_CHARACTERS else f"{text[:SHOWN_CONTENT_CHARACTERS]}..."

    def has_add_permission(self, request: HttpRequest) -> bool:
        """A memory needs an owner and a source; the API asks for them."""
        return False

    def save_model(self, request: HttpRequest, obj: Memory, form: Any, change: bool) -> None:
        services.update(obj.uuid, MemoryChanges(type=cast(MemoryType, obj.type), key=obj.key, content=obj.content))

    def delete_model(self, request: HttpRequest, obj: Memory) -> None:
        _delete(obj.uuid)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Memory]) -> None:
        for memory_id in list(queryset.values_list("uuid", flat=True)):
            _delete(memory_id)


def _delete(memory_id: str) -> None:
    try:
        services.delete(memory_id)
    except NotFoundError:
        return  # somebody else was quicker


@admin.register(Compaction)
class CompactionAdmin(admin.ModelAdmin[Compaction]):
    """Compactions and their undo. Deleting one gives up its undo and forgets at once what it kept."""

    list_display = ["uuid", "created_at", "memories", "undo_until", "undone_at"]
    ordering = ["-pk"]
    fields = ["uuid", "created_at", "memories", "undo_until", "undone_at"]
    readonly_fields = ["uuid", "created_at", "memories", "undo_until", "undone_at"]
    actions = ["undo_compactions", "undo_around_newer"]

    @admin.display(description="memories kept")
    def memories(self, compaction: Compaction) -> int:
        return compaction.originals.count()

    @admin.display(ordering="expires_at")
    def undo_until(self, compaction: Compaction) -> datetime:
        return compaction.expires_at

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @admin.action(description="Undo the selected compactions", permissions=["change"])
    def undo_compactions(self, request: HttpRequest, compactions: QuerySet[Compaction]) -> None:
        self._undo(request, compactions, is_forced=False)

    @admin.action(description="Undo the selected compactions, keeping what is newer", permissions=["change"])
    def undo_around_newer(self, request: HttpRequest, compactions: QuerySet[Compaction]) -> None:
        self._undo(request, compactions, is_forced=True)

    def _undo(self, request: HttpRequest, compactions: QuerySet[Compaction], *, is_forced: bool) -> None:
        # The newest first: a later one may have replaced what an earlier one left.
        for undo_id in list(compactions.order_by("-pk").values_list("uuid", flat=True)):
            try:
                report = undo_compaction(undo_id, is_forced=is_forced)
            except (ConflictError, NotFoundError) as error:
                self.message_user(request, f"Compaction {undo_id}: {error.message}", messages.ERROR)
            else:
                told = f"Compaction {undo_id}: memories put back: {report.restored_count}"
                self.message_user(request, told, messages.SUCCESS)
