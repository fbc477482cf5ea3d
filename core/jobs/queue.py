"""Put jobs in, take them out: the only code that changes a job's state."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, Min, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.module_loading import import_string

from core.jobs.models import Job

LEASE_SECONDS = 15
MAX_BACKOFF_SECONDS = 300
KEEP_DONE_DAYS = 7
OPEN_STATES = (Job.State.QUEUED, Job.State.RUNNING, Job.State.DEAD)
# Set when a job was committed in this process; the embedded runner sleeps on it.
JOB_ADDED = threading.Event()


@dataclass(frozen=True)
class ClaimedJob:
    """A job this worker holds the lease of. `attempt` starts at 1 and tells stale holders from the current one."""

    id: int
    name: str
    payload: dict[str, Any]
    attempt: int


@dataclass(frozen=True)
class QueueMeasures:
    """Jobs by state, and how long the oldest of those that could run has been waiting."""

    queued: int
    running: int
    dead: int
    oldest_waiting_seconds: float


@dataclass(frozen=True)
class JobState:
    """`next_run_at` is when the first waiting job starts, None when none waits; `reason` is what it waits for."""

    is_running: bool
    next_run_at: datetime | None = None
    reason: str = ""

    @property
    def is_due(self) -> bool:
        return self.next_run_at is not None and self.next_run_at <= timezone.now()


def enqueue(name: str, payload: dict[str, Any], *, run_at: datetime | None = None) -> int:
    """Add a job in the caller's transaction and return its id; it can run once that transaction commits."""
    now = timezone.now()
    job = Job.objects.create(name=name, payload=payload, created_at=now, run_at=run_at or now)
    _announce_on_commit(job.pk, job.run_at)
    return job.pk


def enqueue_once(name: str, *, run_at: datetime | None = None, reason: str = "") -> None:
    """Make sure that a job of that name, which needs no payload, starts at `run_at` (default: now) or before.

    A job that is queued already serves, moved forward if need be; one that runs does not, since it may have passed
    by what the caller has just added. `reason` is why it must wait, for whoever looks at it.
    """
    now = timezone.now()
    run_at = run_at or now
    with transaction.atomic():
        queued = Job.objects.filter(name=name, state=Job.State.QUEUED).order_by("run_at").first()
        if queued is None:
            queued = Job.objects.create(name=name, created_at=now, run_at=run_at, error=reason)
            _announce_on_commit(queued.pk, run_at)
        elif run_at < queued.run_at or reason:
            Job.objects.filter(pk=queued.pk, state=Job.State.QUEUED).update(
                run_at=min(run_at, queued.run_at), error=reason or queued.error
            )
            _announce_on_commit(queued.pk, run_at)


def claim_next(name: str | None = None) -> ClaimedJob | None:
    """Take the oldest job, of that name if one is given, that is due or whose worker died; None if there is none.

    Safe between threads and processes. Of the jobs that need no payload, which are the same work whoever does it, one
    of a name is done at a time.
    """
    while True:
        now = timezone.now()
        job = next(iter(_list_claimable(now, 1, name)), None)
        if job is None:
            return None
        claimed = _try_to_claim(job, now)
        if claimed is not None:
            return claimed


def claim(job_id: int) -> ClaimedJob | None:
    """Take this job if it is due or its worker died; None when it is done, dead, in other hands or not due yet."""
    now = timezone.now()
    for jobs in (_select_orphaned(now), _select_queued(now)):
        job = jobs.filter(pk=job_id).first()
        if job is not None:
            return _try_to_claim(job, now)
    return None


def renew_lease(job: ClaimedJob) -> bool:
    """Keep the job another while; False when somebody else has it by now."""
    lease_until = timezone.now() + timedelta(seconds=LEASE_SECONDS)
    return bool(_held(job).update(lease_until=lease_until))


def finish(job: ClaimedJob) -> None:
    """Mark the job done. Its payload is emptied: it may hold what people said."""
    _held(job).update(state=Job.State.DONE, payload={}, error="", lease_until=None, finished_at=timezone.now())
    if not job.payload:
        # Whoever was told of the next one while this one ran was turned away.
        for twin_id in find_due(1, name=job.name):
            _announce(twin_id)


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
    dead_ids = list(dead.values_list("pk", flat=True))
    count = dead.update(state=Job.State.QUEUED, attempts=0, run_at=timezone.now(), finished_at=None)
    for job_id in dead_ids:
        _announce_on_commit(job_id, timezone.now())
    return count


def read_state(*names: str) -> JobState:
    """Return how it stands with the jobs of those names."""
    now = timezone.now()
    jobs = Job.objects.filter(name__in=names)
    is_running = jobs.filter(state=Job.State.RUNNING, lease_until__gte=now).exists()
    orphaned = Q(state=Job.State.RUNNING, lease_until__lt=now)
    waiting = jobs.filter(Q(state=Job.State.QUEUED) | orphaned).order_by("run_at").first()
    return JobState(is_running) if waiting is None else JobState(is_running, waiting.run_at, waiting.error)


def find_due(limit: int, *, name: str) -> list[int]:
    """Return ids of jobs of that name that could be claimed now, those of dead workers first, then the oldest."""
    return [job.pk for job in _list_claimable(timezone.now(), limit, name)]


def find_never_announced(limit: int) -> list[int]:
    """Ids of jobs that could be claimed now and of which nobody was told: their time has come since, or again."""
    now = timezone.now()
    put_off = _select_queued(now).filter(Q(attempts__gt=0) | ~Q(run_at=F("created_at")))
    ids = [*_select_orphaned(now).values_list("pk", flat=True)[:limit]]
    return ids + list(put_off.order_by("run_at", "id").values_list("pk", flat=True)[: limit - len(ids)])


def find_announced(limit: int, created_before: datetime) -> list[int]:
    """Ids of jobs that could be claimed now and were announced when they were added, before the given time."""
    told = _select_queued(timezone.now()).filter(attempts=0, run_at=F("created_at"), run_at__lt=created_before)
    return list(told.order_by("run_at", "id").values_list("pk", flat=True)[:limit])


def measure() -> QueueMeasures:
    """Return how full the queue is; a few index look-ups, however long its history."""
    now = timezone.now()
    counts = {state: Job.objects.filter(state=state).count() for state in OPEN_STATES}
    oldest = Job.objects.filter(state=Job.State.QUEUED, run_at__lte=now).aggregate(first=Min("run_at"))["first"]
    return QueueMeasures(
        queued=counts[Job.State.QUEUED],
        running=counts[Job.State.RUNNING],
        dead=counts[Job.State.DEAD],
        oldest_waiting_seconds=0.0 if oldest is None else (now - oldest).total_seconds(),
    )


def count_waiting() -> int:
    return Job.objects.filter(state__in=(Job.State.QUEUED, Job.State.RUNNING)).count()


def forget_done() -> int:
    """Delete jobs that were done some days ago and return how many."""
    cutoff = timezone.now() - timedelta(days=KEEP_DONE_DAYS)
    return Job.objects.filter(state=Job.State.DONE, finished_at__lt=cutoff).delete()[0]


def count_payloads(is_meant: Callable[[str, dict[str, Any]], bool]) -> int:
    """How many jobs that are not done have a name and payload of which this is true."""
    jobs = Job.objects.filter(state__in=OPEN_STATES).exclude(payload={})
    return sum(is_meant(name, payload) for name, payload in jobs.values_list("name", "payload").iterator())


def rewrite_payloads(change: Callable[[str, dict[str, Any]], dict[str, Any] | None]) -> int:
    """Give every job that is not done the payload that `change` makes of its own; None deletes the job.

    Returns how many jobs that concerned. One that is being done goes on with what it was given.
    """
    count = 0
    for job in Job.objects.filter(state__in=OPEN_STATES).exclude(payload={}):
        payload = change(job.name, job.payload)
        if payload is None:
            count += Job.objects.filter(pk=job.pk).delete()[0]
        elif payload != job.payload:
            count += Job.objects.filter(pk=job.pk).update(payload=payload)
    return count


def _list_claimable(now: datetime, limit: int, name: str | None) -> list[Job]:
    """Two queries, each of which reads its index in order: together they would sort the whole queue every time."""
    jobs: list[Job] = []
    for selected in (_select_orphaned(now), _select_queued(now)):
        named = selected if name is None else selected.filter(name=name)
        jobs += named.order_by("run_at", "id")[: limit - len(jobs)]
        if len(jobs) == limit:
            break
    return jobs


def _select_orphaned(now: datetime) -> QuerySet[Job]:
    return Job.objects.filter(state=Job.State.RUNNING, lease_until__lt=now)


def _select_queued(now: datetime) -> QuerySet[Job]:
    twin = Job.objects.filter(name=OuterRef("name"), state=Job.State.RUNNING, lease_until__gte=now)
    return Job.objects.filter(~Q(payload={}) | ~Exists(twin), state=Job.State.QUEUED, run_at__lte=now)


def _try_to_claim(job: Job, now: datetime) -> ClaimedJob | None:
    """Take a job as it was read. Whoever changes it first has it; a job that used up its tries ends as dead."""
    unchanged = _select_queued(now) if job.state == Job.State.QUEUED else _select_orphaned(now)
    unchanged = unchanged.filter(pk=job.pk, attempts=job.attempts)
    if job.attempts >= job.max_attempts:
        unchanged.update(
            state=Job.State.DEAD,
            finished_at=now,
            lease_until=None,
            error=job.error or f"its worker died {job.attempts} times while doing it",
        )
        return None
    lease_until = now + timedelta(seconds=LEASE_SECONDS)
    if not unchanged.update(state=Job.State.RUNNING, attempts=job.attempts + 1, lease_until=lease_until):
        return None
    return ClaimedJob(job.pk, job.name, job.payload, job.attempts + 1)


def _announce_on_commit(job_id: int, run_at: datetime) -> None:
    """Robust, because the caller's work is committed by then and must not fail for a nudge that does."""
    if run_at <= timezone.now():
        # A lambda: Django tells of a failing callback by its __qualname__, which a partial lacks.
        transaction.on_commit(lambda: _announce(job_id), robust=True)


def _announce(job_id: int) -> None:
    JOB_ADDED.set()
    if settings.JOB_ANNOUNCER:
        import_string(settings.JOB_ANNOUNCER)(job_id)


def _held(job: ClaimedJob) -> QuerySet[Job]:
    return Job.objects.filter(pk=job.id, state=Job.State.RUNNING, attempts=job.attempt)
