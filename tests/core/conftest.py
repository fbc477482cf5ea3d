"""Fixtures of the outbound and provider tests."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from stub_upstream import StubUpstream, run_upstream

from core.outbound import async_client, sync_client

Ask = Callable[..., httpx.Response]


@pytest.fixture
def upstream() -> Iterator[StubUpstream]:
    """An upstream that says yes to everything, until a test sets its `answer`."""
    with run_upstream() as stub:
        yield stub


def ask_sync(*urls: str, **options: Any) -> httpx.Response:
    with sync_client(connect_timeout_seconds=2, read_timeout_seconds=2) as client:
        for url in urls:
            response = client.get(url, **options)
    return response


def ask_async(*urls: str, **options: Any) -> httpx.Response:
    async def ask() -> httpx.Response:
        async with async_client(connect_timeout_seconds=2, read_timeout_seconds=2) as client:
            for url in urls:
                response = await client.get(url, **options)
        return response

    return asyncio.run(ask())


@pytest.fixture(params=[ask_sync, ask_async], ids=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Ask:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let a name answer with these addresses, one list a look-up, the last one for ever."""
    answers: dict[str, list[list[str]]] = {}
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *args: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name not in answers:
            return real(host, port, *args, **more)
        turns = answers[name]
        addresses = turns.pop(0) if len(turns) > 1 else turns[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    def add(name: str, *turns: list[str]) -> None:
        answers[name] = list(turns)

    return add
