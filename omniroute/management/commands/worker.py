"""manage.py worker: a Celery worker that does jobs; `make worker` calls it."""

import os
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from core.db.migrations import ensure_migrated, ensure_writable
from omniroute.celery import app


class Command(BaseCommand):
    help = "Do background jobs in processes of their own; needs CELERY_BROKER_URL or REDIS_URL, and `manage.py beat`."
    # They would look at the tables before they are made.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--concurrency", type=int, default=2, help="processes that do jobs; SQLite has one writer, few are enough"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        check_broker()
        if options["concurrency"] < 1:
            raise CommandError("--concurrency must be 1 or more")
        ensure_migrated()
        ensure_writable()
        # The worker forks, and SQLite connections must not be carried over into another process.
        connections.close_all()
        words = ["worker", f"--concurrency={options['concurrency']}", f"--hostname=omniroute-{os.getpid()}@%h"]
        # Workers need not know each other: rows say what is done.
        words += ["--without-gossip", "--without-mingle", f"--loglevel={settings.LOG_LEVEL}"]
        app.worker_main(words)


def check_broker() -> None:
    """Raise ImproperlyConfigured with one line when there is no broker to work with."""
    if not settings.CELERY_BROKER_URL:
        raise ImproperlyConfigured(
            "set CELERY_BROKER_URL or REDIS_URL; without a broker the server does its jobs itself"
        )
