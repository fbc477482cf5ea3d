"""Celery's part: messages that carry the id of a job row, and a worker that claims that row.

A message is a nudge. Lost, it is sent again by beat's sweep; delivered twice, the second claim gets nothing.
"""

import queue as queues
import threading
import time
from datetime import timedelta
from typing import Any, Final

import structlog
from celery import shared_task
from django.db import Error as DatabaseError
from django.utils import timezone
from kombu.exceptions import OperationalError

from core.jobs import queue
from core.jobs.execution import LeaseKeeper, run_job

logger = structlog.get_logger(__name__)

# Ids beyond this are not kept for sending: the rows are there, and the sweep finds them.
MAX_UNSENT: Final = 10_000
RETRY_SECONDS: Final = 2.0
SWEEP_ROWS: Final = 500
# A row this young has a message of its own on the way.
GRACE_SECONDS: Final = 3.0
RESEND_SECONDS: Final = 30.0
SEND_TIMEOUT_SECONDS: Final = 2.0
LEASES: Final = LeaseKeeper()


@shared_task(name="jobs.run", ignore_result=True)  # type: ignore[untyped-decorator]
def run_row(job_id: int) -> None:
    """Do the job of that row, unless it is done, in other hands or not due."""
    try:
        job = queue.claim(job_id)
        if job is not None:
            with LEASES.hold(job):
                run_job(job)
    except DatabaseError:
        # The row is as it was, or leased to nobody who works on it: the sweep takes it up.
        logger.warning("jobs.database_unavailable", job=job_id, exc_info=True)


class Announcer:
    """Sends ids from a thread of its own, so that nobody who adds a job waits for the broker.

    While the broker can't be reached ids are dropped, and one log line tells of the outage.
    """

    def __init__(self) -> None:
        self._unsent: queues.Queue[int] = queues.Queue(MAX_UNSENT)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_down = False
        self._down_until = 0.0

    def announce(self, job_id: int) -> None:
        """Have a worker told of the job, soon; never blocks, never raises."""
        try:
            self._unsent.put_nowait(job_id)
        except queues.Full:
            return
        with self._lock:
            # A thread does not live on in a forked process; there a new one begins.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._send_all, name="jobs-announcer", daemon=True)
                self._thread.start()

    def _send_all(self) -> None:
        connection = open_connection()
        while True:
            job_id = self._unsent.get()
            if time.monotonic() < self._down_until:
                continue
            try:
                send(connection, job_id)
            except (OperationalError, *connection.connection_errors, *connection.channel_errors) as error:
                self._note_failure(error)
                connection.collect()
                connection = open_connection()
            else:
                if self._is_down:
                    self._is_down = False
                    logger.info("jobs.broker_reached_again")

    def _note_failure(self, error: Exception) -> None:
        self._down_until = time.monotonic() + RETRY_SECONDS
        if not self._is_down:
            self._is_down = True
            # The message could name the URL and with it the broker's password.
            logger.warning("jobs.broker_unreachable", error=type(error).__name__)


ANNOUNCER: Final = Announcer()


def announce(job_id: int) -> None:
    """Tell a Celery worker of a job that is committed; see `Announcer`."""
    ANNOUNCER.announce(job_id)


class Sweeper:
    """Sends messages for rows whose message was lost, and for those whose time has come since they were added."""

    def __init__(self) -> None:
        self._sent_at: dict[int, float] = {}

    def sweep(self, connection: Any) -> int:
        """Return how many messages were sent. Raises the connection's errors when the broker can't be reached."""
        now = time.monotonic()
        self._sent_at = {job_id: at for job_id, at in self._sent_at.items() if now - at < RESEND_SECONDS}
        unsent = [job_id for job_id in self._find_unsent(connection) if job_id not in self._sent_at]
        for job_id in unsent:
            send(connection, job_id)
            self._sent_at[job_id] = now
        return len(unsent)

    def _find_unsent(self, connection: Any) -> list[int]:
        told = queue.find_announced(SWEEP_ROWS, timezone.now() - timedelta(seconds=GRACE_SECONDS))
        # As many messages as rows: none is lost, the workers are behind. More of them would only be in the way.
        lost = len(told) - count_messages(connection) if told else 0
        return queue.find_never_announced(SWEEP_ROWS) + told[: max(lost, 0)]


def open_connection() -> Any:
    """A connection to the broker that gives up soon instead of trying again and again."""
    timeouts = {
        "socket_timeout": SEND_TIMEOUT_SECONDS,
        "socket_connect_timeout": SEND_TIMEOUT_SECONDS,
        "retry_on_timeout": False,
        "max_retries": 0,
    }
    app = run_row.app
    options = {**app.conf.broker_transport_options, **timeouts}
    return app.connection_for_write(connect_timeout=SEND_TIMEOUT_SECONDS, transport_options=options)


def send(connection: Any, job_id: int) -> None:
    """Send one message over the connection, without retries."""
    run_row.apply_async(args=(job_id,), connection=connection, retry=False)


def count_messages(connection: Any) -> int:
    """Messages that no worker has taken yet."""
    name = run_row.app.conf.task_default_queue
    with connection.channel() as channel:
        return int(channel.queue_declare(queue=name, passive=False, durable=True).message_count)
