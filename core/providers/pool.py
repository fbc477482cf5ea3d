"""The pooled HTTP client of each event loop: connections can't be shared between loops."""

import asyncio
from typing import Final
from weakref import WeakKeyDictionary

from django.conf import settings

from core.outbound import AsyncClient, Timeout, async_client, build_timeout

_CLIENTS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncClient]] = WeakKeyDictionary()


def get_client() -> AsyncClient:
    """Return the client of the running event loop, made on first use."""
    loop = asyncio.get_running_loop()
    client = _CLIENTS.get(loop)
    if client is None:
        client = _CLIENTS[loop] = async_client(
            connect_timeout_seconds=settings.UPSTREAM_CONNECT_TIMEOUT_SECONDS,
            read_timeout_seconds=settings.UPSTREAM_READ_TIMEOUT_SECONDS,
        )
    return client


def read_timeout() -> Timeout:
    """Return the time limits that hold for a chat that starts now."""
    return build_timeout(settings.UPSTREAM_CONNECT_TIMEOUT_SECONDS, settings.UPSTREAM_READ_TIMEOUT_SECONDS)


async def close_clients() -> None:
    """Close every connection of the running event loop, for its end; a later call starts afresh."""
    client = _CLIENTS.pop(asyncio.get_running_loop(), None)
    if client is not None:
        await client.aclose()
