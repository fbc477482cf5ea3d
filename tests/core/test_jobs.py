"""Background jobs: durable, taken once, given back when their worker dies, visibly dead in the end."""

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from core.jobs import queue, runner
from core.jobs.models import Job

DONE: list[int] = []


def remember(payload) -> None:
    DONE.append(payload["number"])


def explode(payload) -> None:
    raise ValueError("no such luck")


@pytest.fixture(autouse=True)
def handlers(settings):
    DONE.clear()
    settings.JOB_HANDLERS = {"remember": f"{__name__}.remember", "explode": f"{__name__}.explode"}


@pytest.mark.django_db
def test_jobs_are_done_in_order_and_forget_their_payload():
    for number in range(3):
        queue.enqueue("remember", {"number": number})
    assert runner.run_waiting_jobs() == 3
    assert DONE == [0, 1, 2]
    assert {(job.state, str(job.payload)) for job in Job.objects.all()} == {("done", "{}")}


@pytest.mark.django_db
def test_a_job_that_is_not_due_waits():
    queue.enqueue("remember", {"number": 1}, run_at=timezone.now() + timedelta(hours=1))
    assert runner.run_waiting_jobs() == 0


@pytest.mark.django_db
def test_a_failing_job_waits_longer_each_time_then_ends_dead_with_its_reason_and_can_be_retried():
    job_id = queue.enqueue("explode", {})
    queue.enqueue("remember", {"number": 7})
    waits = []
    for _ in range(6):
        Job.objects.filter(pk=job_id).update(run_at=timezone.now())
        runner.run_waiting_jobs()
        waits.append((Job.objects.get(pk=job_id).run_at - timezone.now()).total_seconds())
    job = Job.objects.get(pk=job_id)
    assert DONE == [7], "a poison job blocked the next one"
    assert (job.state, job.error) == ("dead", "ValueError: no such luck")
    assert waits[:5] == sorted(waits[:5])
    assert queue.retry([job_id]) == 1
    assert Job.objects.get(pk=job_id).state == "queued"


@pytest.mark.django_db
def test_a_job_without_a_handler_fails_with_a_reason():
    job_id = queue.enqueue("unheard.of", {})
    runner.run_waiting_jobs()
    assert "unheard.of" in Job.objects.get(pk=job_id).error


@pytest.mark.django_db
def test_a_job_whose_worker_died_is_taken_up_again_and_the_dead_worker_can_no_longer_end_it():
    job_id = queue.enqueue("remember", {"number": 1})
    lost = queue.claim_next()
    assert queue.claim_next() is None, "a leased job was given out twice"
    Job.objects.filter(pk=job_id).update(lease_until=timezone.now() - timedelta(seconds=1))
    again = queue.claim_next()
    assert again is not None and again.attempt == 2
    queue.finish(lost)
    assert queue.renew_lease(lost) is False
    assert Job.objects.get(pk=job_id).state == "running"
    queue.finish(again)
    assert Job.objects.get(pk=job_id).state == "done"


@pytest.mark.django_db
def test_a_job_that_keeps_killing_its_worker_ends_dead():
    job_id = queue.enqueue("remember", {"number": 1})
    Job.objects.filter(pk=job_id).update(state="running", attempts=6, lease_until=timezone.now() - timedelta(seconds=1))
    assert queue.claim_next() is None
    job = Job.objects.get(pk=job_id)
    assert (job.state, job.error) == ("dead", "its worker died 6 times while doing it")


@pytest.mark.django_db(transaction=True)
def test_a_job_of_a_rolled_back_transaction_never_existed():
    with pytest.raises(RuntimeError), transaction.atomic():
        queue.enqueue("remember", {"number": 1})
        raise RuntimeError
    assert Job.objects.count() == 0


@pytest.mark.django_db
def test_old_finished_jobs_are_forgotten_and_failed_ones_kept():
    old = timezone.now() - timedelta(days=30)
    Job.objects.create(name="remember", state="done", finished_at=old)
    Job.objects.create(name="remember", state="dead", finished_at=old)
    assert queue.forget_done() == 1
    assert [job.state for job in Job.objects.all()] == ["dead"]


@pytest.mark.django_db(transaction=True)
def test_several_runners_share_the_work_and_do_each_job_once():
    for number in range(40):
        queue.enqueue("remember", {"number": number})
    runners = [runner.Runner(worker_count=2) for _ in range(2)]
    for item in runners:
        item.start()
    finished = threading.Event()
    for _ in range(200):
        if not queue.count_waiting():
            break
        finished.wait(0.05)
    for item in runners:
        item.stop(timeout_seconds=5)
    connection.close()
    assert sorted(DONE) == list(range(40))
