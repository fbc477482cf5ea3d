"""manage.py serve: the whole product in one process; `make run` calls it."""

import signal
import socket
import sys
import threading
from types import FrameType
from typing import Any, Final

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import connections

from core.db.migrations import ensure_migrated, ensure_writable
from omniroute.asgi import application
from omniroute.first_start import FirstLogin, make_first_login
from omniroute.greeting import read_status, write_first_login, write_status
from omniroute.listeners import close_listeners, open_listeners

STOP_ASKED: Final = threading.Event()
# How long open streams may go on after Ctrl-C.
GRACE_SECONDS: Final = 5
# Chat clients keep connections open between turns; closing them early makes the next request fail or wait.
KEEP_ALIVE_SECONDS: Final = 75
# Threads that wait for the interpreter get it ten times sooner than by default: measured, that doubles the
# requests a second where each hops between the event loop and a thread.
SWITCH_INTERVAL_SECONDS: Final = 0.0005


class Command(BaseCommand):
    help = "Run the server: migrate, make the first login on the first start, then serve until Ctrl-C."
    # They would look at the tables before they are made; `make lint` and `manage.py check` run them.
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _leave)
        sockets = open_listeners(settings.HOST, settings.PORT)
        try:
            ensure_migrated()
            ensure_writable()
            self._greet()
            connections.close_all()
            _serve(sockets)
        finally:
            close_listeners(sockets)

    def _greet(self) -> None:
        status = read_status()
        greeting = "OmniRoute Memory\n\n" + write_status(status)

        def announce(login: FirstLogin) -> None:
            self._print(greeting + write_first_login(login, status))

        if not make_first_login(announce):
            self._print(greeting)

    def _print(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def _serve(sockets: list[socket.socket]) -> None:
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    config = uvicorn.Config(
        application,
        lifespan="on",
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    server = uvicorn.Server(config)
    # uvicorn takes the signals while it runs. One that comes before that moment ends it as well, and one that it
    # passes on when it has ended changes nothing any more.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, server.handle_exit)
    if not STOP_ASKED.is_set():
        server.run(sockets=sockets)


def _leave(number: int, frame: FrameType | None) -> None:
    """Told to stop while still starting: nothing is half done that the next start would not finish.

    Python drops an exception where nobody could catch it (a destructor, a callback of the database), so the wish is
    kept as well.
    """
    STOP_ASKED.set()
    sys.exit(0)
