"""Periodic jobs: started when due, by one process, from rows that the admin edits."""

from datetime import timedelta
from importlib import import_module
from threading import Barrier, Event, Thread
from zoneinfo import ZoneInfo

import pytest
from django.apps import apps as django_apps
from django.conf import settings
from django.db import connection, connections
from django.utils import timezone
from django.utils.module_loading import import_string
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask

from core.jobs import periodic, runner
from core.jobs.models import Job
from core.jobs.periodic import start_due_jobs

DONE: list[str] = []
IS_DONE = Event()
JOB = "test.periodic"
JOBS = dict(settings.JOB_HANDLERS)


def note(payload) -> None:
    DONE.append("done")
    IS_DONE.set()


@pytest.fixture(autouse=True)
def handlers(settings):
    DONE.clear()
    IS_DONE.clear()
    settings.JOB_HANDLERS = {JOB: f"{__name__}.note"}


@pytest.fixture
def no_tasks(transactional_db):
    PeriodicTask.objects.all().delete()


def make_task(**fields) -> PeriodicTask:
    if not {"crontab", "clocked", "interval"} & fields.keys():
        fields["interval"] = IntervalSchedule.objects.get_or_create(every=60, period="seconds")[0]
    return PeriodicTask.objects.create(name=f"task {PeriodicTask.objects.count()}", task=JOB, **fields)


def was_run(task: PeriodicTask, **ago) -> None:
    PeriodicTask.objects.filter(pk=task.pk).update(last_run_at=timezone.now() - timedelta(**ago))


def test_a_task_runs_when_its_interval_is_over_and_not_before(no_tasks):
    task = make_task()
    start_due_jobs()
    assert Job.objects.count() == 0, "a new task ran at once instead of after its interval"
    was_run(task, seconds=30)
    assert start_due_jobs() == periodic.MAX_WAIT_SECONDS
    assert Job.objects.count() == 0
    was_run(task, seconds=61)
    start_due_jobs()
    start_due_jobs()
    assert [job.name for job in Job.objects.all()] == [JOB]
    task.refresh_from_db()
    assert task.total_run_count == 1
    assert timezone.now() - task.last_run_at < timedelta(seconds=30)


def test_a_set_hour_that_passed_while_nothing_ran_is_made_up_for_once(no_tasks):
    hour_ago = timezone.now() - timedelta(hours=1)
    crontab = CrontabSchedule.objects.create(minute=str(hour_ago.minute), hour=str(hour_ago.hour), timezone="UTC")
    task = make_task(crontab=crontab)
    was_run(task, days=3)
    start_due_jobs()
    runner.run_waiting_jobs()
    start_due_jobs()
    assert runner.run_waiting_jobs() == 0
    assert DONE == ["done"]


@pytest.mark.parametrize(("zone", "is_due"), [("Asia/Tokyo", True), ("UTC", False)])
def test_a_set_hour_counts_in_its_own_time_zone(no_tasks, zone, is_due):
    there = (timezone.now() - timedelta(hours=1)).astimezone(ZoneInfo("Asia/Tokyo"))
    crontab = CrontabSchedule.objects.create(minute=str(there.minute), hour=str(there.hour), timezone=zone)
    task = make_task(crontab=crontab)
    was_run(task, hours=2)
    start_due_jobs()
    assert Job.objects.count() == is_due


def test_tasks_that_are_off_unknown_not_begun_or_over_do_not_run(no_tasks):
    now = timezone.now()
    off = make_task(enabled=False)
    unknown = make_task()
    PeriodicTask.objects.filter(pk=unknown.pk).update(task="nobody.knows")
    not_begun = make_task(start_time=now + timedelta(hours=1))
    over = make_task(expires=now - timedelta(seconds=1))
    for task in (off, unknown, not_begun, over):
        was_run(task, days=1)
    start_due_jobs()
    assert Job.objects.count() == 0
    over.refresh_from_db()
    assert not over.enabled


def test_a_task_for_one_moment_runs_once_then_is_off(no_tasks):
    clocked = ClockedSchedule.objects.create(clocked_time=timezone.now() - timedelta(seconds=1))
    task = make_task(clocked=clocked, one_off=True)
    start_due_jobs()
    start_due_jobs()
    task.refresh_from_db()
    assert (Job.objects.count(), task.enabled) == (1, False)


def test_many_schedulers_at_once_start_a_task_once(no_tasks):
    task = make_task()
    was_run(task, minutes=5)
    start = Barrier(8)

    def look() -> None:
        start.wait()
        for _ in range(5):
            start_due_jobs()
        connections.close_all()

    threads = [Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    task.refresh_from_db()
    assert (task.total_run_count, Job.objects.count()) == (1, 1)


def test_the_embedded_runner_starts_and_does_periodic_jobs(no_tasks):
    task = make_task()
    was_run(task, minutes=5)
    embedded = runner.Runner()
    embedded.start()
    assert IS_DONE.wait(15)
    embedded.stop(timeout_seconds=5)
    connection.close()
    assert DONE == ["done"]


@pytest.mark.parametrize("job", JOBS)
def test_every_job_has_a_handler_that_exists(job):
    assert callable(import_string(JOBS[job]))


def test_the_first_rows_are_all_known_jobs_and_what_deletes_memories_is_off(db):
    migration = import_module("core.jobs.migrations.0002_periodic_tasks")
    migration.remove_tasks(django_apps, None)
    PeriodicTask.objects.all().delete()
    migration.add_tasks(django_apps, None)
    enabled = dict(PeriodicTask.objects.values_list("task", "enabled"))
    assert {name for name, is_enabled in enabled.items() if not is_enabled} == {
        "memory.purge_expired",
        "memory.purge_beyond_retention",
    }
    assert set(enabled) <= set(JOBS)
    assert enabled["memory.index_pending"] and enabled["memory.compact_old"]
