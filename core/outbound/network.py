"""The network underneath the HTTP clients: names are resolved, judged and dialled here, in one go.

The clients hand down a host name and get a connection to an address that was judged for that very connection, so
a name that answers differently the second time gains nothing. The HTTP `Host` and the TLS server name stay the
name's. Of several addresses only the permitted ones are tried; with none left the connection is refused.
"""

import asyncio
import socket
import time
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Final

import httpcore

from core.errors import OutboundRefusedError
from core.outbound.addresses import Address, choose_permitted, normalise_host, read_literal
from core.outbound.urls import BLOCKED, check_host, permitted_reach

NOT_RESOLVED: Final = "The host name could not be resolved"
NO_ADDRESS_ANSWERED: Final = "No address of the host accepted the connection"
SocketOption = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]


class JudgingBackend(httpcore.NetworkBackend):
    """Blocking connections to judged addresses. The resolver itself can't be timed out, only what follows it."""

    def __init__(self) -> None:
        self._dialler = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> httpcore.NetworkStream:
        deadline = _Deadline(timeout)
        addresses = find_literal(host)
        if addresses is None:
            addresses = look_up(host, port)
        failure: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for address, seconds in deadline.share_out(permit(addresses)):
            try:
                return self._dialler.connect_tcp(str(address), port, seconds, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore.ConnectTimeout(NO_ADDRESS_ANSWERED)

    def sleep(self, seconds: float) -> None:
        self._dialler.sleep(seconds)


class AsyncJudgingBackend(httpcore.AsyncNetworkBackend):
    """Connections of an event loop to judged addresses."""

    def __init__(self) -> None:
        self._dialler = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[SocketOption] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        deadline = _Deadline(timeout)
        addresses = find_literal(host)
        if addresses is None:
            try:
                addresses = await asyncio.wait_for(asyncio.to_thread(look_up, host, port), timeout)
            except TimeoutError:
                raise httpcore.ConnectTimeout(NOT_RESOLVED) from None
        failure: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
        for address, seconds in deadline.share_out(permit(addresses)):
            try:
                return await self._dialler.connect_tcp(str(address), port, seconds, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore.ConnectTimeout(NO_ADDRESS_ANSWERED)

    async def sleep(self, seconds: float) -> None:
        await self._dialler.sleep(seconds)


def find_literal(host: str) -> list[Address] | None:
    """Judge the text of `host`; return the address that it spells, or None when it is a name to be resolved."""
    check_host(host)
    literal = read_literal(normalise_host(host))
    return None if literal is None else [literal]


def look_up(host: str, port: int) -> list[Address]:
    """Ask the resolver, which blocks; raises `httpcore.ConnectError` without the resolver's own words."""
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise httpcore.ConnectError(NOT_RESOLVED) from None
    return [ip_address(str(answer[4][0])) for answer in answers]


def permit(addresses: Iterable[Address]) -> list[Address]:
    """Return the addresses that may be dialled now; raises `OutboundRefusedError` when there is none."""
    permitted = choose_permitted(addresses, permitted_reach())
    if not permitted:
        raise OutboundRefusedError(BLOCKED)
    return permitted


class _Deadline:
    """What is left of a time limit, shared out so that one silent address can't eat the turn of the next."""

    def __init__(self, timeout_seconds: float | None) -> None:
        self._ends_at = None if timeout_seconds is None else time.monotonic() + timeout_seconds

    def share_out(self, addresses: list[Address]) -> Iterator[tuple[Address, float | None]]:
        for index, address in enumerate(addresses):
            if self._ends_at is None:
                yield address, None
                continue
            left = self._ends_at - time.monotonic()
            if left <= 0:
                return
            yield address, left / (len(addresses) - index)
