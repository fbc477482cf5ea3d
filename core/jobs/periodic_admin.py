"""Periodic jobs in the admin: django-celery-beat's pages, narrowed to what our schedulers know."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django_celery_beat.admin import PeriodicTaskAdmin
from django_celery_beat.models import PeriodicTask

from core.jobs.queue import enqueue_once


class PeriodicJobForm(forms.ModelForm[Any]):
    task = forms.ChoiceField(label=_("Job"))

    class Meta:
        model = PeriodicTask
        fields = ("name", "task", "enabled", "description")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = {*settings.JOB_HANDLERS, *filter(None, [self.instance.task])}
        self.fields["task"].choices = [(name, name) for name in sorted(names)]  # type: ignore[attr-defined]


class PeriodicJobAdmin(PeriodicTaskAdmin):  # type: ignore[misc]  # the library ships no types
    """A job takes no arguments and no queue: its row is all there is."""

    form = PeriodicJobForm
    change_form_template = None
    change_list_template = None
    date_hierarchy = None
    list_display = ("name", "task", "enabled", "scheduler", "last_run_at", "total_run_count")
    list_filter = ("enabled", "task")
    actions = ("enable_tasks", "disable_tasks", "run_tasks")
    fieldsets = (
        (None, {"fields": ("name", "task", "enabled", "description")}),
        (
            _("When: one of interval, crontab, clocked or solar"),
            {"fields": ("interval", "crontab", "clocked", "solar", "one_off", "start_time", "expires")},
        ),
        (_("What happened"), {"fields": ("last_run_at", "total_run_count")}),
    )
    readonly_fields = ("last_run_at", "total_run_count")

    @admin.action(description=_("Run the selected tasks now"))
    def run_tasks(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        names = sorted(set(queryset.values_list("task", flat=True)))
        for name in names:
            enqueue_once(name)
        told = gettext("Queued: %(names)s. See the background jobs.")
        self.message_user(request, told % {"names": ", ".join(names)}, messages.SUCCESS)


admin.site.unregister(PeriodicTask)
admin.site.register(PeriodicTask, PeriodicJobAdmin)
