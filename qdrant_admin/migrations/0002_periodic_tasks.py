"""The periodic jobs of Qdrant as rows that an operator edits in the admin. Both do nothing while it is off."""

from typing import Any

from django.db import migrations

TASKS = (
    (
        "Write changes to Qdrant",
        "memory.sync_qdrant",
        60,
        "Writes what has changed and was not announced, such as rows deleted with SQL. Does nothing while Qdrant is off.",
    ),
    (
        "Compare Qdrant with the memories",
        "memory.reconcile_qdrant",
        3600,
        "Finds points that are missing or of no memory and mends both. Does nothing while Qdrant is off.",
    ),
)


def add_tasks(apps: Any, schema_editor: Any) -> None:
    task_model = apps.get_model("django_celery_beat", "PeriodicTask")
    interval_model = apps.get_model("django_celery_beat", "IntervalSchedule")
    for name, job, seconds, description in TASKS:
        interval, _ = interval_model.objects.get_or_create(every=seconds, period="seconds")
        values = {"task": job, "enabled": True, "description": description, "interval": interval}
        task_model.objects.get_or_create(name=name, defaults=values)


def remove_tasks(apps: Any, schema_editor: Any) -> None:
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name__in=[row[0] for row in TASKS]).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("qdrant_admin", "0001_initial"),
        ("jobs", "0002_periodic_tasks"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [migrations.RunPython(add_tasks, remove_tasks)]
