"""manage.py mcp [--key KEY]: the tools over standard input and output."""

import signal
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections
from django.utils.module_loading import import_string

from core.accounts.keys import Caller, find_caller, find_caller_by_id, find_keys
from core.accounts.last_use import RECORDER
from core.db.migrations import ensure_migrated, ensure_writable
from core.errors import UnauthenticatedError
from core.jobs.runner import Runner

STOP_SECONDS = 5.0


class Command(BaseCommand):
    help = "Serve the memory tools over standard input and output, for an agent that starts this command itself."
    # They would look at the tables before they are made.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--key",
            help="whose memories: an API key by its id, prefix or name, as list_api_keys shows them "
            "(default: the key in OMNIROUTE_MCP_KEY)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # Waiting for a line can't be interrupted otherwise; a write that is cut off leaves nothing half done.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        ensure_migrated()
        ensure_writable()
        identify = choose_identity(options["key"])
        connections.close_all()
        runner = Runner() if settings.EMBEDDED_WORKER else None
        RECORDER.start()
        if runner is not None:
            runner.start()
        try:
            # Only here: whoever lists or runs another command need not wait for the SDK.
            anyio.run(import_string("memory.mcp.stdio.serve_stdio"), identify)
        finally:
            if runner is not None:
                runner.stop(STOP_SECONDS)
            RECORDER.stop(STOP_SECONDS)


def choose_identity(reference: str | None) -> Callable[[], Caller]:
    """Return what tells the caller at every request, so that a revoked key ends at once. CommandError without one."""
    if reference:
        identify = partial(_require, find_caller_by_id, _find_key_id(reference))
    elif settings.OMNIROUTE_MCP_KEY:
        identify = partial(_require, find_caller, settings.OMNIROUTE_MCP_KEY)
    else:
        raise CommandError("say whose memories: set OMNIROUTE_MCP_KEY to an API key, or name one with --key")
    try:
        identify()
    except UnauthenticatedError as error:
        raise CommandError(error.message) from None
    return identify


def _require(find: Callable[[str], Caller | None], name: str) -> Caller:
    caller = find(name)
    if caller is None:
        raise UnauthenticatedError("The API key is unknown or revoked", code="invalid_api_key")
    return caller


def _find_key_id(reference: str) -> str:
    matches = [row for row in find_keys(reference) if not row.is_revoked]
    if len(matches) != 1:
        told = "no such key" if not matches else f"{len(matches)} keys are called so; name one by its id"
        raise CommandError(f"{told}; list_api_keys shows them")
    return matches[0].id
