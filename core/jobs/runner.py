"""The embedded runner: threads of the server process that do jobs and start periodic ones, without a broker."""

import threading
import time

import structlog
from django.db import Error as DatabaseError
from django.db import connection

from core.jobs import periodic, queue
from core.jobs.execution import LeaseKeeper, run_job

logger = structlog.get_logger(__name__)

IDLE_SECONDS = 1.0
# A job is added just before an answer leaves; begun at once, it would compete with that answer for the interpreter.
SETTLE_SECONDS = 0.01


def run_waiting_jobs(limit: int = 1000) -> int:
    """Do the jobs that are due now, in this thread, and return how many; for commands and tests."""
    count = 0
    while count < limit and (job := queue.claim_next()) is not None:
        run_job(job)
        count += 1
    return count


class Runner:
    """Claims and does jobs until stopped. Several runners, in one process or many, share the work safely.

    With `only`, it does the jobs of that name alone, and starts no periodic ones.
    """

    def __init__(self, worker_count: int = 1, *, only: str | None = None) -> None:
        self._only = only
        self._stopping = threading.Event()
        self._leases = LeaseKeeper()
        self._threads = [
            threading.Thread(target=self._work, name=f"jobs-{number}", daemon=True) for number in range(worker_count)
        ]
        if only is None:
            self._threads.append(threading.Thread(target=self._keep_schedule, name="jobs-schedule", daemon=True))

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, timeout_seconds: float) -> None:
        """Let the jobs in hand end. One that takes longer loses its lease later and is done after the restart."""
        self._stopping.set()
        queue.JOB_ADDED.set()
        deadline = time.monotonic() + timeout_seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._leases.stop()

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                # Kept from job to job: opening one costs as much as a small job. An idle thread keeps none.
                connection.close_at = None
                connection.close_if_unusable_or_obsolete()
                if not self._run_one():
                    if queue.JOB_ADDED.wait(IDLE_SECONDS):
                        self._stopping.wait(SETTLE_SECONDS)
                    else:
                        connection.close()
                    queue.JOB_ADDED.clear()
            except DatabaseError:
                logger.warning("jobs.database_unavailable", exc_info=True)
                self._stopping.wait(IDLE_SECONDS)
        connection.close()

    def _run_one(self) -> bool:
        job = queue.claim_next(self._only)
        if job is None:
            return False
        with self._leases.hold(job):
            run_job(job)
        return True

    def _keep_schedule(self) -> None:
        wait_seconds = 0.0
        while not self._stopping.wait(wait_seconds):
            try:
                wait_seconds = periodic.start_due_jobs()
            except DatabaseError:
                logger.warning("jobs.schedule_unavailable", exc_info=True)
                wait_seconds = periodic.MAX_WAIT_SECONDS
            connection.close()
