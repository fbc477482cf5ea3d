"""Do one claimed job to its end and keep its lease meanwhile: the same for the embedded runner and Celery workers."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from django.utils.module_loading import import_string

from core.jobs import queue
from core.jobs.queue import ClaimedJob

logger = structlog.get_logger(__name__)


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


class LeaseKeeper:
    """Renews the leases of the jobs in hand from a thread of its own, which is started with the first of them."""

    def __init__(self) -> None:
        self._held: dict[int, ClaimedJob] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def hold(self, job: ClaimedJob) -> Iterator[None]:
        """Keep the job's lease as long as the block runs."""
        with self._lock:
            self._held[job.id] = job
            # A thread does not live on in a forked process; there a new one begins.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._keep, name="jobs-leases", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._held.pop(job.id, None)

    def stop(self) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(1.0)

    def _keep(self) -> None:
        while not self._stopping.wait(queue.LEASE_SECONDS / 3):
            with self._lock:
                jobs = list(self._held.values())
            try:
                for job in jobs:
                    if not queue.renew_lease(job) and job.id in self._held:
                        logger.warning("jobs.lease_lost", job=job.id, name=job.name)
            except DatabaseError:
                logger.warning("jobs.lease_not_renewed", exc_info=True)
            # An idle connection would hold back the clean-up of the write-ahead log.
            connection.close()
        connection.close()
