"""Start the periodic jobs, whose rows django-celery-beat keeps and the admin edits.

The embedded runner and Celery's beat both ask here. A run is claimed by a conditional update in the transaction that
adds its job, so any number of servers and beats start it once, and a run that was started can't be lost.
"""

from datetime import datetime, timedelta
from typing import Final

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django_celery_beat.models import PeriodicTask

from core.jobs.queue import enqueue_once

logger = structlog.get_logger(__name__)

# A change made in the admin takes effect after this long at the latest.
MAX_WAIT_SECONDS: Final = 5.0
MIN_WAIT_SECONDS: Final = 0.2
LONG_AGO: Final = timedelta(days=365 * 30)


def start_due_jobs() -> float:
    """Add the job of every periodic task that is due; return the seconds after which to ask again."""
    now = timezone.now()
    wait_seconds = MAX_WAIT_SECONDS
    tasks = PeriodicTask.objects.filter(enabled=True, task__in=settings.JOB_HANDLERS)
    for task in tasks.select_related("interval", "crontab", "solar", "clocked"):
        if _is_over(task, now):
            _disable(task)
        elif task.start_time is None or task.start_time <= now:
            is_due, next_seconds = task.schedule.is_due(_read_last_run(task))
            if is_due and start_job(task, now):
                logger.info("jobs.periodic_started", name=task.task, task=task.name)
            wait_seconds = min(wait_seconds, next_seconds)
    return max(wait_seconds, MIN_WAIT_SECONDS)


def start_job(task: PeriodicTask, now: datetime) -> bool:
    """Add the task's job unless somebody else did so since `task` was read; tell whether it was us."""
    as_read = PeriodicTask.objects.filter(pk=task.pk, total_run_count=task.total_run_count)
    if task.last_run_at is None:
        as_read = as_read.filter(last_run_at=None)
    else:
        as_read = as_read.filter(last_run_at=task.last_run_at)
    with transaction.atomic():
        is_ours = bool(as_read.update(last_run_at=now, total_run_count=F("total_run_count") + 1))
        if is_ours:
            enqueue_once(task.task)
    return is_ours


def _is_over(task: PeriodicTask, now: datetime) -> bool:
    has_run = bool(task.one_off and task.total_run_count)
    return has_run or (task.expires is not None and bool(task.expires <= now))


def _disable(task: PeriodicTask) -> None:
    PeriodicTask.objects.filter(pk=task.pk).update(enabled=False, last_run_at=None, total_run_count=0)


def _read_last_run(task: PeriodicTask) -> datetime:
    """A task that never ran counts from when it was saved, one with a start time from long before that."""
    if task.last_run_at is not None:
        last_run_at: datetime = task.last_run_at
        return last_run_at
    saved_at: datetime = task.date_changed
    return saved_at if task.start_time is None else saved_at - LONG_AGO
