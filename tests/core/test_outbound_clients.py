"""Requests through the one door: the address that was judged is the one that is dialled."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import httpcore
import httpx
import pytest
from pytest_django import Settings
from stub_upstream import SeenRequest, StubUpstream, answer_json, run_upstream

from core.errors import OutboundRefusedError, UpstreamError, UpstreamTimeoutError
from core.outbound import read_limited, sync_client, telling_upstream_errors

PUBLIC = "93.184.216.34"
Ask = Callable[..., httpx.Response]


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that were dialled; only loopback is let through to the real network."""
    seen: list[str] = []
    real_sync, real_async = httpcore.SyncBackend.connect_tcp, httpcore.AnyIOBackend.connect_tcp

    def connect(self: Any, host: str, *args: Any) -> Any:
        seen.append(host)
        if not host.startswith("127."):
            raise httpcore.ConnectError("offline")
        return real_sync(self, host, *args)

    async def connect_async(self: Any, host: str, *args: Any) -> Any:
        seen.append(host)
        if not host.startswith("127."):
            raise httpcore.ConnectError("offline")
        return await real_async(self, host, *args)

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)
    monkeypatch.setattr(httpcore.AnyIOBackend, "connect_tcp", connect_async)
    return seen


def test_a_local_address_answers_by_default(ask: Ask, upstream: StubUpstream) -> None:
    assert ask(f"{upstream.url}/models?limit=1").json() == {"ok": True}
    assert upstream.requests[0].path == "/v1/models?limit=1"


def test_rw_074_with_the_switch_off_no_private_address_is_dialled(
    ask: Ask, upstream: StubUpstream, settings: Settings, dialled: list[str], resolve: Callable[..., None]
) -> None:
    settings.OUTBOUND_ALLOW_PRIVATE_ADDRESSES = False
    resolve("inside.test", ["10.0.0.5"])
    hosts = [
        "127.0.0.1",
        "2130706433",
        "127.1",
        "localhost",
        "10.0.0.5",
        "[fd00::1]",
        "[::ffff:127.0.0.1]",
        "inside.test",
    ]
    for host in hosts:
        with pytest.raises(OutboundRefusedError) as refused:
            ask(f"http://{host}:{upstream.port}/")
        assert refused.value.message == "The address is blocked by the outbound policy"
    assert dialled == [] and upstream.requests == []


def test_rw_074_metadata_is_never_dialled(ask: Ask, dialled: list[str], resolve: Callable[..., None]) -> None:
    resolve("cloud.test", ["169.254.169.254"])
    resolve("zero.test", ["0.0.0.0"])
    for host in ("169.254.169.254", "metadata.google.internal", "cloud.test", "zero.test", "0.0.0.0", "[fe80::1]"):
        with pytest.raises(OutboundRefusedError):
            ask(f"http://{host}/latest/meta-data")
    assert dialled == []


@pytest.mark.parametrize("url", ["http://user:pw@127.0.0.1/", "ftp://127.0.0.1/", "http://127.0.0.1@evil.test/"])
def test_requests_with_credentials_or_other_schemes_are_refused(ask: Ask, url: str, dialled: list[str]) -> None:
    with pytest.raises((OutboundRefusedError, httpx.UnsupportedProtocol)):
        ask(url)
    assert dialled == []


def test_rw_073_a_name_that_turns_inwards_is_judged_again_for_each_connection(
    ask: Ask,
    upstream: StubUpstream,
    settings: Settings,
    dialled: list[str],
    resolve: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings.OUTBOUND_ALLOW_PRIVATE_ADDRESSES = False
    monkeypatch.setenv("HTTP_PROXY", upstream.url)
    monkeypatch.setenv("ALL_PROXY", upstream.url)
    resolve("rebind.test", [PUBLIC], ["127.0.0.1"])
    url = f"http://rebind.test:{upstream.port}/"
    with pytest.raises(httpx.ConnectError):
        ask(url)
    assert dialled == [PUBLIC]
    for _ in range(3):
        with pytest.raises(OutboundRefusedError):
            ask(url)
    assert dialled == [PUBLIC] and upstream.requests == []


def test_rw_073_of_several_addresses_only_the_permitted_are_dialled(
    ask: Ask, upstream: StubUpstream, settings: Settings, dialled: list[str], resolve: Callable[..., None]
) -> None:
    settings.OUTBOUND_ALLOW_PRIVATE_ADDRESSES = False
    resolve("multi.test", ["127.0.0.1", PUBLIC, "169.254.169.254"])
    with pytest.raises(httpx.ConnectError):
        ask(f"http://multi.test:{upstream.port}/")
    assert dialled == [PUBLIC] and upstream.requests == []


def test_the_next_address_is_tried_when_the_first_is_dead(
    ask: Ask, upstream: StubUpstream, dialled: list[str], resolve: Callable[..., None]
) -> None:
    resolve("two.test", ["127.0.0.2", "127.0.0.1"])
    assert ask(f"http://two.test:{upstream.port}/").status_code == 200
    assert dialled == ["127.0.0.2", "127.0.0.1"]
    assert upstream.requests[0].headers["host"] == f"two.test:{upstream.port}"


def test_a_proxy_of_the_environment_is_not_used(
    ask: Ask, upstream: StubUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    with run_upstream() as trap:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{trap.port}")
        assert ask(f"{upstream.url}/").status_code == 200
        assert trap.requests == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_rw_072_a_redirect_is_handed_back_and_not_followed(ask: Ask, upstream: StubUpstream, status: int) -> None:
    with run_upstream() as trap:

        async def redirect(request: SeenRequest, writer: asyncio.StreamWriter) -> None:
            more = f"location: http://127.0.0.1:{trap.port}/latest\r\nrefresh: 0; url=http://127.0.0.1:{trap.port}/\r\n"
            await answer_json(writer, {}, f"{status} Moved", more)

        upstream.answer = redirect
        response = ask(f"{upstream.url}/", headers={"authorization": "Bearer emb-KEY"})
        assert response.status_code == status
        assert len(upstream.requests) == 1 and trap.requests == []


def test_connections_are_kept_and_cookies_are_not(ask: Ask, upstream: StubUpstream) -> None:
    async def set_cookie(request: SeenRequest, writer: asyncio.StreamWriter) -> None:
        await answer_json(writer, {}, more="set-cookie: session=of-another-caller; Path=/\r\n")

    upstream.answer = set_cookie
    ask(f"{upstream.url}/1", f"{upstream.url}/2", f"{upstream.url}/3")
    assert upstream.connections == 1 and len(upstream.requests) == 3
    assert not any("cookie" in request.headers for request in upstream.requests)
    assert upstream.requests[0].headers["accept-encoding"] == "identity"


def find_closed_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def test_failures_are_told_without_url_and_resolver_talk(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **more: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    for url in (f"http://127.0.0.1:{find_closed_port()}/secret-path", "http://nowhere.test/secret-path"):
        with pytest.raises(UpstreamError) as told, telling_upstream_errors("The provider x"):
            ask(url)
        assert told.value.message == "The provider x could not be reached"
        assert (told.value.status, told.value.code) == (502, "upstream_unreachable")


def test_a_silent_server_runs_into_the_time_limit(upstream: StubUpstream) -> None:
    async def stay_silent(request: SeenRequest, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(30)

    upstream.answer = stay_silent
    client = sync_client(connect_timeout_seconds=5, read_timeout_seconds=0.1)
    with client, pytest.raises(UpstreamTimeoutError) as told, telling_upstream_errors("The provider x"):
        client.get(upstream.url)
    assert (told.value.status, told.value.message) == (504, "The provider x did not answer in time")


def test_an_answer_beyond_its_limit_is_not_read() -> None:
    async def give() -> Any:
        for _ in range(10):
            yield b"x" * 100

    assert len(asyncio.run(read_limited(give(), 1000))) == 1000
    with pytest.raises(UpstreamError, match="too large"):
        asyncio.run(read_limited(give(), 999))
