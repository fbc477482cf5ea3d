"""What can be done to many memories at once. Whatever changes them says first how many they are."""

from datetime import date
from typing import Any, Final, cast

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memory.admin.exporting import build_download
from memory.bulk_changes import AT_ONCE_ROWS, BulkChange, BulkKind, BulkStart, start_bulk_change
from memory.models import Memory
from memory.records import MEMORY_TYPES, MemoryType

SHOWN_MEMORIES: Final = 10
TITLES: Final[dict[BulkKind, str | Promise]] = {
    "delete": gettext_lazy("Delete memories"),
    "expire": gettext_lazy("Let memories expire now"),
    "retype": gettext_lazy("Give memories another type"),
    "reindex": gettext_lazy("Index memories anew"),
}
EFFECTS: Final[dict[BulkKind, str | Promise]] = {
    "delete": gettext_lazy("They are not found any more, by chats or here. Until its time is over this can be undone."),
    "expire": gettext_lazy("No chat is given them any more; they stay in this list. This can be undone."),
    "retype": gettext_lazy("Their text stays as it is. This can be undone."),
    "reindex": gettext_lazy("Their vectors are made anew in the background; the old ones answer until then."),
}


class BulkActions(admin.ModelAdmin[Memory]):
    actions = ["delete_selected", "expire_selected", "retype_selected", "reindex_selected", "export_selected"]

    @admin.action(description=gettext_lazy("Delete the selected memories"), permissions=["delete"])
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponseBase | None:
        return self._change(request, queryset, "delete")

    @admin.action(description=gettext_lazy("Let the selected memories expire now"), permissions=["change"])
    def expire_selected(self, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponseBase | None:
        return self._change(request, queryset, "expire")

    @admin.action(description=gettext_lazy("Give the selected memories another type"), permissions=["change"])
    def retype_selected(self, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponseBase | None:
        return self._change(request, queryset, "retype")

    @admin.action(description=gettext_lazy("Index the selected memories anew"), permissions=["change"])
    def reindex_selected(self, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponseBase | None:
        return self._change(request, queryset, "reindex")

    @admin.action(description=gettext_lazy("Export the selected memories (JSONL)"), permissions=["view"])
    def export_selected(self, request: HttpRequest, queryset: QuerySet[Memory]) -> HttpResponseBase:
        return build_download(_list_ids(queryset), f"memories-{date.today().isoformat()}.jsonl")

    def _change(self, request: HttpRequest, queryset: QuerySet[Memory], kind: BulkKind) -> HttpResponseBase | None:
        """Ask first, telling how many; the confirmed form comes back here."""
        ids = _list_ids(queryset)
        chosen_type = request.POST.get("new_type", "") if kind == "retype" else ""
        is_complete = kind != "retype" or chosen_type in MEMORY_TYPES
        # Others may have written meanwhile: what was not told must not be changed.
        is_as_told = request.POST.get("told_count", str(len(ids))) == str(len(ids))
        if request.POST.get("post") != "yes" or not is_complete or not is_as_told:
            return self._ask(request, queryset, kind, len(ids))
        start = start_bulk_change(BulkChange(kind, ids, cast(MemoryType, chosen_type) if chosen_type else None))
        self.message_user(request, _tell(start), messages.SUCCESS)
        return None

    def _ask(self, request: HttpRequest, queryset: QuerySet[Memory], kind: BulkKind, count: int) -> TemplateResponse:
        is_across = request.POST.get("select_across") == "1"
        selected = request.POST.getlist(ACTION_CHECKBOX_NAME)
        context: dict[str, Any] = {
            **self.admin_site.each_context(request),
            "title": TITLES[kind],
            "effect": EFFECTS[kind],
            "opts": self.model._meta,
            "kind": kind,
            "count": count,
            "is_queued": count > AT_ONCE_ROWS,
            "has_changed": "told_count" in request.POST and request.POST["told_count"] != str(count),
            "has_no_type": kind == "retype" and request.POST.get("post") == "yes",
            "shown": list(queryset.order_by("-created_at", "-memory_id")[:SHOWN_MEMORIES]),
            "more": max(count - SHOWN_MEMORIES, 0),
            "shown_count": number_format(count, force_grouping=True),
            "shown_more": number_format(max(count - SHOWN_MEMORIES, 0), force_grouping=True),
            "types": MEMORY_TYPES,
            "is_across": is_across,
            "selected": selected[:1] if is_across else selected,
            "action_checkbox_name": ACTION_CHECKBOX_NAME,
        }
        return TemplateResponse(request, "memory/bulk_change.html", context)


def _list_ids(queryset: QuerySet[Memory]) -> tuple[int, ...]:
    return tuple(queryset.order_by("memory_id").values_list("memory_id", flat=True))


def _tell(start: BulkStart) -> str:
    if start.is_queued:
        told = ngettext(
            "%(count)s memory is being changed in the background. <a href='{address}'>Watch the job</a>",
            "%(count)s memories are being changed in the background. <a href='{address}'>Watch the job</a>",
            start.count,
        )
        shown = {"count": number_format(start.count, force_grouping=True)}
        return format_html(told % shown, address=reverse("admin:jobs_job_changelist"))
    told = ngettext("%(count)d memory was changed.", "%(count)d memories were changed.", start.count)
    done = told % {"count": start.count}
    if not start.undo_id:
        return done
    address = f"{reverse('admin:memory_compaction_changelist')}?uuid={start.undo_id}"
    return format_html("{} <a href='{}'>{}</a>", done, address, _("Undo"))
