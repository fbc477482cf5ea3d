"""manage.py beat: starts periodic jobs and sends lost messages again; `make beat` calls it."""

import signal
import sys
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand
from django.db import connections

from core.db.migrations import ensure_migrated, ensure_writable
from omniroute.celery import app
from omniroute.management.commands.worker import check_broker


class Command(BaseCommand):
    help = "Start periodic jobs and find jobs whose message was lost; one is enough, several do no harm."
    # They would look at the tables before they are made.
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        check_broker()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _leave)
        ensure_migrated()
        ensure_writable()
        connections.close_all()
        # Nothing is written to a pid file or a schedule file: any number of beats may run.
        app.Beat(socket_timeout=30, pidfile=None, quiet=True).run()


def _leave(number: int, frame: FrameType | None) -> None:
    sys.exit(0)
