"""The periodic job that asks backends how they are. Made once: a row that is deleted stays deleted."""

from typing import Any

from django.db import migrations

NAME = "Check backends"


def add_task(apps: Any, schema_editor: Any) -> None:
    interval_model = apps.get_model("django_celery_beat", "IntervalSchedule")
    interval, _ = interval_model.objects.get_or_create(every=60, period="seconds")
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name=NAME,
        defaults={
            "task": "memory.check_backends",
            "enabled": True,
            "description": "Asks the primary and the fallback backends how they are. Does nothing while only SQLite is used.",
            "interval": interval,
        },
    )


def remove_task(apps: Any, schema_editor: Any) -> None:
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name=NAME).delete()


class Migration(migrations.Migration):
    dependencies = [("jobs", "0002_periodic_tasks")]

    operations = [migrations.RunPython(add_task, remove_task)]
