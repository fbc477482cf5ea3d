"""Jobs in the admin: what waits, what failed and why, and a way to try again."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from core.jobs import periodic_admin, queue
from core.jobs.models import Job

__all__ = ["JobAdmin", "periodic_admin"]


@admin.register(Job)
class JobAdmin(admin.ModelAdmin[Job]):
    list_display = ("id", "name", "state", "attempts", "created_at", "run_at", "finished_at", "short_error")
    list_filter = ("state", "name", "created_at")
    search_fields = ("name", "error")
    # How many jobs there are in each state, of each name.
    show_facets = admin.ShowFacets.ALWAYS
    ordering = ("-id",)
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

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @admin.display(description="error")
    def short_error(self, job: Job) -> str:
        return job.error[:120]

    @admin.action(description="Try the selected failed jobs again")
    def retry_jobs(self, request: HttpRequest, jobs: QuerySet[Job]) -> None:
        count = queue.retry([job.pk for job in jobs])
        self.message_user(request, f"{count} failed jobs were queued again.", messages.SUCCESS)
