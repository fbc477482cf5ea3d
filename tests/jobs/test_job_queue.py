"""Claims by id, what a sweep finds, and who is told of a job."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from core.jobs import execution, queue
from core.jobs.models import Job

told_ids: list[int] = []


def tell(job_id: int) -> None:
    told_ids.append(job_id)


def fail_to_tell(job_id: int) -> None:
    raise RuntimeError("the nudge failed")


@pytest.fixture(autouse=True)
def announcer(settings):
    told_ids.clear()
    settings.JOB_ANNOUNCER = f"{__name__}.tell"


@pytest.mark.django_db(transaction=True)
def test_workers_are_told_when_the_transaction_is_committed_and_never_of_one_that_is_rolled_back():
    with transaction.atomic():
        job_id = queue.enqueue("work", {"number": 1})
        assert told_ids == []
    assert told_ids == [job_id]
    with pytest.raises(RuntimeError), transaction.atomic():
        queue.enqueue("work", {"number": 2})
        raise RuntimeError
    assert told_ids == [job_id]


@pytest.mark.django_db(transaction=True)
def test_a_nudge_that_fails_does_not_fail_the_caller(settings):
    settings.JOB_ANNOUNCER = f"{__name__}.fail_to_tell"
    job_id = queue.enqueue("work", {"number": 1})
    assert Job.objects.get(pk=job_id).state == "queued"


@pytest.mark.django_db(transaction=True)
def test_nobody_is_told_of_a_job_before_its_time():
    queue.enqueue("work", {"number": 1}, run_at=timezone.now() + timedelta(hours=1))
    queue.enqueue_once("sweep", run_at=timezone.now() + timedelta(hours=1))
    assert told_ids == []
    queue.enqueue_once("sweep")
    assert told_ids == [Job.objects.get(name="sweep").pk]


@pytest.mark.django_db
def test_a_job_is_claimed_by_its_id_once():
    job_id = queue.enqueue("work", {"number": 1})
    claimed = queue.claim(job_id)
    assert claimed is not None and claimed.payload == {"number": 1}
    assert queue.claim(job_id) is None, "a second message got the job too"
    queue.finish(claimed)
    assert queue.claim(job_id) is None
    assert queue.claim(job_id + 1000) is None
    assert queue.claim(queue.enqueue("work", {"n": 1}, run_at=timezone.now() + timedelta(minutes=1))) is None


@pytest.mark.django_db
def test_a_job_of_a_dead_worker_is_claimed_by_its_id_until_its_tries_are_used_up():
    job_id = queue.enqueue("work", {"number": 1})
    for attempt in range(1, 7):
        claimed = queue.claim(job_id)
        assert claimed is not None and claimed.attempt == attempt
        Job.objects.filter(pk=job_id).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert queue.claim(job_id) is None
    job = Job.objects.get(pk=job_id)
    assert (job.state, job.lease_until) == ("dead", None)
    assert "died 6 times" in job.error


@pytest.mark.django_db(transaction=True)
def test_the_end_of_a_job_that_is_done_one_at_a_time_tells_of_the_next():
    queue.enqueue_once("sweep")
    first = queue.claim_next()
    queue.enqueue_once("sweep")
    second_id = Job.objects.get(state="queued").pk
    assert queue.claim(second_id) is None, "two of a kind ran at once"
    told_ids.clear()
    queue.finish(first)
    assert told_ids == [second_id]
    assert queue.claim(second_id) is not None


@pytest.mark.django_db
def test_the_sweep_tells_apart_what_was_announced_and_what_never_was():
    now = timezone.now()
    announced = queue.enqueue("work", {"number": 1})
    put_off = queue.enqueue("work", {"number": 2}, run_at=now + timedelta(seconds=1))
    failed = queue.enqueue("work", {"number": 3})
    orphan = queue.enqueue("work", {"number": 4})
    Job.objects.filter(pk=put_off).update(run_at=now - timedelta(seconds=1))
    Job.objects.filter(pk=failed).update(attempts=1)
    Job.objects.filter(pk=orphan).update(state="running", attempts=1, lease_until=now - timedelta(seconds=1))
    assert set(queue.find_never_announced(10)) == {put_off, failed, orphan}
    assert queue.find_announced(10, created_before=timezone.now()) == [announced]
    assert queue.find_announced(10, created_before=now) == []


@pytest.mark.django_db
def test_the_queue_tells_how_full_it_is():
    for number in range(3):
        queue.enqueue("work", {"number": number})
    Job.objects.filter(state="queued").update(run_at=timezone.now() - timedelta(seconds=30))
    queue.enqueue("work", {"number": 9}, run_at=timezone.now() + timedelta(hours=1))
    claimed = queue.claim_next()
    Job.objects.create(name="work", state="dead")
    measures = queue.measure()
    assert (measures.queued, measures.running, measures.dead) == (3, 1, 1)
    assert 30 <= measures.oldest_waiting_seconds < 60
    queue.finish(claimed)


@pytest.mark.django_db(transaction=True)
def test_a_long_job_keeps_its_lease(monkeypatch):
    monkeypatch.setattr(queue, "LEASE_SECONDS", 0.3)
    job_id = queue.enqueue("work", {"number": 1})
    job = queue.claim(job_id)
    keeper = execution.LeaseKeeper()
    with keeper.hold(job):
        first = Job.objects.get(pk=job_id).lease_until
        deadline = timezone.now() + timedelta(seconds=10)
        while Job.objects.get(pk=job_id).lease_until <= first + timedelta(seconds=0.3):
            assert timezone.now() < deadline, "the lease was not renewed"
        assert queue.claim(job_id) is None
    keeper.stop()
