"""Put jobs in, take them out: the only code that changes a job's state."""

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from core.jobs.models import Job

LEASE_SECONDS = 15
MAX_BACKOFF_SECONDS = 300
KEEP_DONE_DAYS = 7
# Set when a job was committed in this process; the embedded runner sleeps on it.
JOB_ADDED = threading.Event()


@dataclass(frozen=True)
class ClaimedJob:
    """A job this worker holds the lease of. `attempt` starts at 1 and tells stale holders from the current one."""

    id: int
    name: str
    payload: dict[str, Any]
    attempt: int


def enqueue(name: str, payload: dict[str, Any], *, run_at: datetime | None = None) -> int:
    """Add a job in the caller's transaction and return its id; it can run once that transaction commits."""
    job = Job.objects.create(name=name, payload=payload, run_at=run_at or timezone.now())
    transaction.on_commit(JOB_ADDED.set)
    return job.pk


def enqueue_once(name: str, *, run_at: datetime | None = None) -> None:
    """Make sure that a job of that name, which needs no payload, starts at `run_at` (default: now) or before.

    A job that is queued already serves, moved forward if need be; one that runs does not, since it may have passed
    by what the caller has just added.
    """
    run_at = run_at or timezone.now()
    with transaction.atomic():
        queued = Job.objects.filter(name=name, state=Job.State.QUEUED).order_by("run_at").first()
        if queued is None:
            Job.objects.create(name=name, run_at=run_at)
        elif queued.run_at > run_at:
            Job.objects.filter(pk=queued.pk, state=Job.State.QUEUED).update(run_at=run_at)
        transaction.on_commit(JOB_ADDED.set)


def claim_next() -> ClaimedJob | None:
    """Take the oldest job that is due or whose worker died, or None. Safe between threads and processes."""
    while True:
        now = timezone.now()
        due = Q(state=Job.State.QUEUED, run_at__lte=now) | Q(state=Job.State.RUNNING, lease_until__lt=now)
        job = Job.objects.filter(due).order_by("run_at", "id").first()
        if job is None:
            return None
        # The update names the state that was read: whoever changes it first has the job, the other looks again.
        unchanged = Job.objects.filter(pk=job.pk, state=job.state, attempts=job.attempts)
        if job.attempts >= job.max_attempts:
            unchanged.update(
                state=Job.State.DEAD,
                finished_at=now,
                error=job.error or f"its worker died {job.attempts} times while doing it",
            )
            continue
        lease_until = now + timedelta(seconds=LEASE_SECONDS)
        if unchanged.update(state=Job.State.RUNNING, attempts=job.attempts + 1, lease_until=lease_until):
            return ClaimedJob(job.pk, job.name, job.payload, job.attempts + 1)


def renew_lease(job: ClaimedJob) -> bool:
    """Keep the job another while; False when somebody else has it by now."""
    lease_until = timezone.now() + timedelta(seconds=LEASE_SECONDS)
    return bool(_held(job).update(lease_until=lease_until))


def finish(job: ClaimedJob) -> None:
    """Mark the job done. Its payload is emptied: it may hold what people said."""
    _held(job).update(state=Job.State.DONE, payload={}, error="", lease_until=None, finished_at=timezone.now())


def fail(job: ClaimedJob, reason: str) -> None:
    """Put the job back for a later try, or end it as dead, visibly, when its tries are used up."""
    row = Job.objects.filter(pk=job.id).first()
    if row is None:
        return
    if row.attempts >= row.max_attempts:
        _held(job).update(state=Job.State.DEAD, error=reason, lease_until=None, finished_at=timezone.now())
        return
    wait_seconds = min(2**job.attempt, MAX_BACKOFF_SECONDS)
    _held(job).update(
        state=Job.State.QUEUED,
        error=reason,
        lease_until=None,
        run_at=timezone.now() + timedelta(seconds=wait_seconds),
    )


def retry(job_ids: list[int]) -> int:
    """Queue dead jobs anew and return how many there were."""
    dead = Job.objects.filter(pk__in=job_ids, state=Job.State.DEAD)
    count = dead.update(state=Job.State.QUEUED, attempts=0, run_at=timezone.now(), finished_at=None)
    JOB_ADDED.set()
    return count


def count_waiting() -> int:
    return Job.objects.filter(state__in=(Job.State.QUEUED, Job.State.RUNNING)).count()


def forget_done() -> int:
    """Delete jobs that were done some days ago and return how many."""
    cutoff = timezone.now() - timedelta(days=KEEP_DONE_DAYS)
    return Job.objects.filter(state=Job.State.DONE, finished_at__lt=cutoff).delete()[0]


def _held(job: ClaimedJob) -> Any:
    return Job.objects.filter(pk=job.id, state=Job.State.RUNNING, attempts=job.attempt)
