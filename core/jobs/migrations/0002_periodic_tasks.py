"""The periodic jobs as rows that an operator edits in the admin. Made once: a row that is deleted stays deleted."""

from typing import Any

from django.db import migrations

# name, job, (minute, hour) or seconds between two runs, enabled, description
TASKS: tuple[tuple[str, str, tuple[str, str] | int, bool, str], ...] = (
    (
        "Index what is pending",
        "memory.index_pending",
        300,
        True,
        "Makes vectors for memories that are flagged and have no job, whatever the reason.",
    ),
    (
        "Forget finished jobs",
        "jobs.forget_done",
        3600,
        True,
        "Deletes rows of jobs done a week ago. Failed jobs stay until an operator deals with them.",
    ),
    (
        "Keep the database in shape",
        "memory.upkeep",
        ("30", "3"),
        True,
        "Merges the full-text index, refreshes the query planner's statistics, closes holes in the vector table.",
    ),
    (
        "Compact old memories",
        "memory.compact_old",
        ("0", "3"),
        True,
        "Summarizes old memories; does nothing while the setting autoSummarize is off. The hour is set here.",
    ),
    (
        "Forget old originals",
        "memory.purge_archives",
        ("30", "4"),
        True,
        "Deletes what compactions kept aside, once their undo has run out.",
    ),
    (
        "Delete expired memories",
        "memory.purge_expired",
        ("0", "4"),
        False,
        "Deletes memories past their expiry for good. `manage.py memory_purge --expired --dry-run` counts them first.",
    ),
    (
        "Delete memories beyond retention",
        "memory.purge_beyond_retention",
        ("15", "4"),
        False,
        "Deletes memories that retention keeps out of every prompt, for good. "
        "`manage.py memory_purge --beyond-retention --dry-run` counts them first.",
    ),
)


def add_tasks(apps: Any, schema_editor: Any) -> None:
    task_model = apps.get_model("django_celery_beat", "PeriodicTask")
    interval_model = apps.get_model("django_celery_beat", "IntervalSchedule")
    crontab_model = apps.get_model("django_celery_beat", "CrontabSchedule")
    for name, job, schedule, is_enabled, description in TASKS:
        if isinstance(schedule, int):
            interval, _ = interval_model.objects.get_or_create(every=schedule, period="seconds")
            fields = {"interval": interval}
        else:
            minute, hour = schedule
            crontab, _ = crontab_model.objects.get_or_create(
                minute=minute, hour=hour, day_of_week="*", day_of_month="*", month_of_year="*", timezone="UTC"
            )
            fields = {"crontab": crontab}
        values = {"task": job, "enabled": is_enabled, "description": description, **fields}
        task_model.objects.get_or_create(name=name, defaults=values)


def remove_tasks(apps: Any, schema_editor: Any) -> None:
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name__in=[row[0] for row in TASKS]).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("jobs", "0001_initial"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]

    operations = [migrations.RunPython(add_tasks, remove_tasks)]
