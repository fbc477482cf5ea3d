"""Celery beat on the same rows and the same code as the embedded runner, and the sweep of lost messages."""

from typing import Any, Final

import structlog
from django.db import Error as DatabaseError
from django.db import connection as database
from django_celery_beat.schedulers import DatabaseScheduler
from kombu.exceptions import OperationalError

from core.jobs import bridge, periodic

logger = structlog.get_logger(__name__)

SWEEP_INTERVAL_SECONDS: Final = 1.0


class JobScheduler(DatabaseScheduler):  # type: ignore[misc]  # the library ships no types
    """Starts a due task by adding its job row, where the original would send a message that can get lost.

    Nothing is kept in memory between two looks: another server or beat may have started a task meanwhile.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sweeper = bridge.Sweeper()
        self._broker: Any = None
        self._is_broker_down = False

    def setup_schedule(self) -> None:
        """The rows are made by a migration and edited in the admin; Celery's own defaults are not wanted."""

    def sync(self) -> None:
        """There is nothing to write back."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Start what is due, send what was lost; return the seconds until the next look."""
        try:
            wait_seconds = periodic.start_due_jobs()
            self._sweep()
        except DatabaseError:
            logger.warning("jobs.schedule_unavailable", exc_info=True)
            wait_seconds = periodic.MAX_WAIT_SECONDS
        finally:
            database.close()
        return min(wait_seconds, SWEEP_INTERVAL_SECONDS)

    def _sweep(self) -> None:
        broker = self._broker or bridge.open_connection()
        self._broker = broker
        try:
            count = self._sweeper.sweep(broker)
        except (OperationalError, *broker.connection_errors, *broker.channel_errors) as error:
            broker.collect()
            self._broker = None
            if not self._is_broker_down:
                self._is_broker_down = True
                logger.warning("jobs.broker_unreachable", error=type(error).__name__)
            return
        if self._is_broker_down:
            self._is_broker_down = False
            logger.info("jobs.broker_reached_again")
        if count:
            logger.info("jobs.swept", messages=count)
