"""Jobs in the admin: what waits, what failed and why, and a way to try again."""

from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from core.admin_labels import label_model
from core.jobs import periodic_admin, queue
from core.jobs.models import Job
from core.paging import KeyFirstPaginator

__all__ = ["JobAdmin", "periodic_admin"]

# SQLite bounds the number of parameters.
BATCH_ROWS = 500


class StateFilter(admin.SimpleListFilter):
    """By state, with how many jobs there are in each: one walk through an index, however long the history."""

    title = _("state")
    parameter_name = "state__exact"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> list[tuple[str, Any]]:
        counts = dict(Job.objects.order_by().values_list("state").annotate(number=Count("state")))
        return [(state.value, f"{state.label} ({counts.get(state.value, 0)})") for state in Job.State]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset if self.value() is None else queryset.filter(state=self.value())


class NameFilter(admin.SimpleListFilter):
    """By name: those of the jobs that there can be, so that the table need not be asked."""

    title = _("name")
    parameter_name = "name"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> list[tuple[str, Any]]:
        return [(name, name) for name in sorted(settings.JOB_HANDLERS)]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset if self.value() is None else queryset.filter(name=self.value())


label_model(
    Job,
    _("job"),
    _("jobs"),
    id=_("ID"),
    name=_("name"),
    state=_("state"),
    attempts=_("attempts"),
    max_attempts=_("max attempts"),
    run_at=_("run at"),
    lease_until=_("lease until"),
    error=_("error"),
    created_at=_("created at"),
    finished_at=_("finished at"),
)


@admin.register(Job)
class JobAdmin(admin.ModelAdmin[Job]):
    list_display = ("id", "name", "state", "attempts", "created_at", "run_at", "finished_at", "short_error")
    list_filter = (StateFilter, NameFilter, "created_at")
    search_fields = ("name", "error")
    show_facets = admin.ShowFacets.NEVER
    ordering = ("-id",)
    paginator = KeyFirstPaginator
    show_full_result_count = False
    actions = ("retry_jobs",)
    # The payload can hold what people said; it is not for reading here.
    fields = (
        "name",
        "state",
        "attempts",
        "max_attempts",
        "run_at",
        "lease_until",
        "created_at",
        "finished_at",
        "error",
    )
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        return super().get_queryset(request).defer("payload")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        """The number only: whoever deletes a long history does not read it first."""
        count = len(objs) if isinstance(objs, list) else objs.count()
        told = ngettext("%(count)d job", "%(count)d jobs", count) % {"count": count}
        return [told], {str(_("jobs")): count}, set(), []

    @admin.display(description=_("error"))
    def short_error(self, job: Job) -> str:
        return job.error[:120]

    @admin.action(description=_("Try the selected failed jobs again"))
    def retry_jobs(self, request: HttpRequest, jobs: QuerySet[Job]) -> None:
        ids = list(jobs.values_list("pk", flat=True))
        count = sum(queue.retry(ids[start : start + BATCH_ROWS]) for start in range(0, len(ids), BATCH_ROWS))
        told = ngettext("%(count)d failed job was queued again.", "%(count)d failed jobs were queued again.", count)
        self.message_user(request, told % {"count": count}, messages.SUCCESS)
