"""The embedded runner: threads of the server process that do jobs when there is no broker."""

import threading
import time
from collections.abc import Callable
from typing import Any

import structlog
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import close_old_connections, connection
from django.utils.module_loading import import_string

from core.jobs import queue
from core.jobs.queue import ClaimedJob

logger = structlog.get_logger(__name__)

IDLE_SECONDS = 1.0
HOUSEKEEPING_SECONDS = 3600.0


def run_job(job: ClaimedJob) -> None:
    """Do one claimed job to its end. Whatever its handler raises is kept with the job, never raised on."""
    path = settings.JOB_HANDLERS.get(job.name)
    if path is None:
        queue.fail(job, f"no handler is registered for {job.name!r}")
        return
    handler: Callable[[dict[str, Any]], None] = import_string(path)
    try:
        handler(job.payload)
    except Exception as error:  # the task edge: the reason is stored with the job and logged
        logger.warning("jobs.failed", job=job.id, name=job.name, attempt=job.attempt, exc_info=True)
        queue.fail(job, f"{type(error).__name__}: {error}"[:2000])
    else:
        queue.finish(job)


def run_waiting_jobs(limit: int = 1000) -> int:
    """Do the jobs that are due now, in this thread, and return how many; for commands and tests."""
    count = 0
    while count < limit and (job := queue.claim_next()) is not None:
        run_job(job)
        count += 1
    return count


class Runner:
    """Claims and does jobs until stopped. Several runners, in one process or many, share the work safely."""

    def __init__(self, worker_count: int = 1) -> None:
        self._stopping = threading.Event()
        self._running: dict[int, ClaimedJob] = {}
        self._threads = [
            threading.Thread(target=self._work, name=f"jobs-{number}", daemon=True) for number in range(worker_count)
        ]
        self._threads.append(threading.Thread(target=self._keep_leases, name="jobs-leases", daemon=True))

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

    def _work(self) -> None:
        next_housekeeping = time.monotonic() + HOUSEKEEPING_SECONDS
        while not self._stopping.is_set():
            try:
                close_old_connections()
                if not self._run_one():
                    queue.JOB_ADDED.wait(IDLE_SECONDS)
                    queue.JOB_ADDED.clear()
                if time.monotonic() > next_housekeeping:
                    next_housekeeping = time.monotonic() + HOUSEKEEPING_SECONDS
                    queue.forget_done()
            except DatabaseError:
                logger.warning("jobs.database_unavailable", exc_info=True)
                self._stopping.wait(IDLE_SECONDS)
        connection.close()

    def _run_one(self) -> bool:
        job = queue.claim_next()
        if job is None:
            return False
        self._running[job.id] = job
        try:
            run_job(job)
        finally:
            self._running.pop(job.id, None)
        return True

    def _keep_leases(self) -> None:
        while not self._stopping.wait(queue.LEASE_SECONDS / 3):
            try:
                for job in list(self._running.values()):
                    queue.renew_lease(job)
            except DatabaseError:
                logger.warning("jobs.lease_not_renewed", exc_info=True)
        connection.close()
