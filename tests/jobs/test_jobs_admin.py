"""Background work in the admin: what waits, what failed and why, when what runs, and what can be done about it."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from core.jobs.models import Job


@pytest.fixture
def staff(client, db):
    client.force_login(User.objects.create_superuser("operator"))
    return client


@pytest.fixture
def task(db):
    interval = IntervalSchedule.objects.create(every=1, period="hours")
    return PeriodicTask.objects.create(name="Sweep the house", task="memory.index_pending", interval=interval)


def make_dead_job() -> Job:
    return Job.objects.create(
        name="memory.extract_facts",
        payload={"userText": "my secret is tea"},
        state="dead",
        attempts=6,
        error="ValueError: no such luck",
        finished_at=timezone.now(),
    )


def test_a_failed_job_shows_its_reason_but_not_what_people_said(staff):
    job = make_dead_job()
    pages = [staff.get("/admin/jobs/job/"), staff.get(f"/admin/jobs/job/{job.pk}/change/")]
    for page in pages:
        assert page.status_code == 200
        assert "no such luck" in page.content.decode()
        assert "tea" not in page.content.decode()


def test_jobs_are_filtered_by_state_and_each_state_tells_how_many_it_has(staff):
    make_dead_job()
    for _ in range(2):
        Job.objects.create(name="memory.upkeep", state="done")
    everything = staff.get("/admin/jobs/job/").content.decode()
    assert "Done (2)" in everything and "Dead (1)" in everything
    dead = staff.get("/admin/jobs/job/", {"state__exact": "dead"}).context["cl"].result_list
    assert [job.state for job in dead] == ["dead"]


def test_a_failed_job_can_be_tried_again(staff):
    job = make_dead_job()
    staff.post("/admin/jobs/job/", {"action": "retry_jobs", "_selected_action": [job.pk]})
    job.refresh_from_db()
    assert (job.state, job.attempts, job.payload) == ("queued", 0, {"userText": "my secret is tea"})


def test_a_periodic_task_is_listed_and_its_time_can_be_changed(staff, task):
    assert "Sweep the house" in staff.get("/admin/django_celery_beat/periodictask/").content.decode()
    daily = IntervalSchedule.objects.create(every=1, period="days")
    form = {"name": task.name, "task": task.task, "interval": daily.pk, "enabled": "on", "description": "d"}
    answer = staff.post(f"/admin/django_celery_beat/periodictask/{task.pk}/change/", form)
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    task.refresh_from_db()
    assert task.interval == daily


def test_a_periodic_task_names_a_job_that_exists(staff, task):
    form = {"name": "x", "task": "os.system", "interval": task.interval.pk, "enabled": "on"}
    assert staff.post("/admin/django_celery_beat/periodictask/add/", form).status_code == 200
    assert PeriodicTask.objects.filter(name="x").count() == 0
    assert (
        staff.post("/admin/django_celery_beat/periodictask/add/", {**form, "task": "memory.purge_expired"}).status_code
        == 302
    )


def test_periodic_tasks_can_be_switched_off_and_run_now(staff, task):
    page = "/admin/django_celery_beat/periodictask/"
    staff.post(page, {"action": "run_tasks", "_selected_action": [task.pk]})
    assert [job.name for job in Job.objects.all()] == ["memory.index_pending"]
    staff.post(page, {"action": "disable_tasks", "_selected_action": [task.pk]})
    task.refresh_from_db()
    assert not task.enabled


def test_schedules_have_their_pages(staff):
    for model in ("intervalschedule", "crontabschedule", "clockedschedule", "solarschedule"):
        assert staff.get(f"/admin/django_celery_beat/{model}/").status_code == 200
        assert staff.get(f"/admin/django_celery_beat/{model}/add/").status_code == 200
