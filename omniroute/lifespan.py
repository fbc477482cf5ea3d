"""What begins and ends with the server: the check of the database, background work, connections to providers."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connections
from starlette.types import Receive, Send

from core import metrics
from core.accounts.last_use import RECORDER
from core.db.migrations import has_pending_migrations
from core.db.presence import PRESENCE
from core.jobs.runner import Runner
from core.providers.client import close_clients
from gateway.recording import RECORDER as REQUEST_RECORDER

# Longer than a job in hand usually takes; one that is cut off is done again after the restart.
STOP_SECONDS: Final = 5.0


async def run_lifespan(receive: Receive, send: Send, stop_door: Callable[[], Awaitable[None]]) -> None:
    """Speak the ASGI lifespan protocol from the server's start to its end, which ends a door's own tasks first."""
    await receive()
    fault = await asyncio.to_thread(_find_fault)
    if fault:
        await send({"type": "lifespan.startup.failed", "message": fault})
        return
    runner = Runner() if settings.EMBEDDED_WORKER else None
    RECORDER.start()
    REQUEST_RECORDER.start()
    if runner is not None:
        runner.start()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await stop_door()
    if runner is not None:
        await asyncio.to_thread(runner.stop, STOP_SECONDS)
    await asyncio.to_thread(RECORDER.stop, STOP_SECONDS)
    await asyncio.to_thread(REQUEST_RECORDER.stop, STOP_SECONDS)
    await close_clients()
    PRESENCE.leave()
    await send({"type": "lifespan.shutdown.complete"})


def _find_fault() -> str:
    try:
        if has_pending_migrations():
            return "migrations are not applied; run manage.py migrate"
        if PRESENCE.announce():
            metrics.clear_files()
    except DatabaseError as error:
        return f"the database can't be used: {error}"
    except ImproperlyConfigured as error:
        return str(error)
    else:
        return ""
    finally:
        connections.close_all()
