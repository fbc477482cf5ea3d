"""The periodic job that makes the log of requests forget. Made once: a row that is deleted stays deleted."""

from typing import Any

from django.db import migrations

NAME = "Forget old requests"


def add_task(apps: Any, schema_editor: Any) -> None:
    interval_model = apps.get_model("django_celery_beat", "IntervalSchedule")
    interval, _ = interval_model.objects.get_or_create(every=3600, period="seconds")
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name=NAME,
        defaults={
            "task": "gateway.purge_requests",
            "enabled": True,
            "description": "Deletes requests, their links to memories and kept texts once their time is over.",
            "interval": interval,
        },
    )


def remove_task(apps: Any, schema_editor: Any) -> None:
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name=NAME).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("gateway", "0001_request_log"),
        ("jobs", "0002_periodic_tasks"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [migrations.RunPython(add_task, remove_task)]
