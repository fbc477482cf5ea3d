"""The log of requests in the admin: to read, to filter, to look things up. Time deletes it, nobody else."""

from typing import Any, ClassVar, Final

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from core.admin_labels import label_model
from core.paging import KeyFirstPaginator
from gateway.models import RequestLog
from gateway.request_log import begins_with, list_models, list_owners, select_of_memory

SHOWN: Final = (
    "created_at", "key_name", "model", "status", "outcome", "duration_ms", "memories_injected", "memory_tokens", "tier",
    "error_code",
)  # fmt: skip
LONG: Final = ("carried", "user_text", "answer_text")


class ChoiceFilter(admin.SimpleListFilter):
    """By one column, its values read out of its index."""

    column: ClassVar[str]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset if self.value() is None else queryset.filter(**{self.column: self.value()})


class ModelFilter(ChoiceFilter):
    title = _("model")
    parameter_name = column = "model"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> list[tuple[str, Any]]:
        return [(model, model) for model in list_models()]


class KeyFilter(ChoiceFilter):
    title = _("API key")
    parameter_name = "owner"
    column = "api_key_id"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> list[tuple[str, Any]]:
        return [(owner, name or owner) for owner, name in list_owners()]


class MemoryFilter(admin.SimpleListFilter):
    """Requests that carried or taught a memory; the memory's own page leads here."""

    title = _("memory")
    parameter_name = "memory"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> list[tuple[str, Any]]:
        return [(self.value() or "", self.value() or "")] if self.value() else []

    def has_output(self) -> bool:
        return self.value() is not None

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        value = self.value()
        return queryset if value is None else select_of_memory(queryset, value)


label_model(RequestLog, _("request"), _("requests"), id=_("ID"), carried=_("carried"))


@admin.register(RequestLog)
class RequestLogAdmin(admin.ModelAdmin[RequestLog]):
    list_display = SHOWN
    list_display_links = ("created_at",)
    list_filter = ("outcome", "memory_state", "is_stream", ModelFilter, KeyFilter, MemoryFilter)
    # The search is our own; Django only asks whether there is one.
    search_fields = ("request_id",)
    search_help_text = _("How the id of a request or a session begins.")
    ordering = ("-created_at", "-id")
    list_per_page = 50
    paginator = KeyFirstPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    def get_fields(self, request: HttpRequest, obj: RequestLog | None = None) -> Any:
        return ["in_studio", *(field.name for field in RequestLog._meta.fields)]

    def get_readonly_fields(self, request: HttpRequest, obj: RequestLog | None = None) -> Any:
        return self.get_fields(request, obj)

    def get_queryset(self, request: HttpRequest) -> QuerySet[RequestLog]:
        return super().get_queryset(request).defer(*LONG)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[RequestLog], search_term: str
    ) -> tuple[QuerySet[RequestLog], bool]:
        text = search_term.strip()
        found: Q = begins_with("request_id", text) | begins_with("session_id", text)
        return (queryset.filter(found) if text else queryset), False

    @admin.display(description=_("memories and facts"))
    def in_studio(self, row: RequestLog) -> str:
        address = reverse("studio:request", args=[row.request_id])
        return format_html('<a href="{}?open={}">{}</a>', address, row.pk, _("in the studio"))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: RequestLog | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: RequestLog | None = None) -> bool:
        return False
