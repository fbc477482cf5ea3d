"""The HTTP clients of the whole project, and the words in which they fail."""

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final

import certifi
import httpcore
import httpx

from core.errors import UpstreamError, UpstreamTimeoutError
from core.outbound.network import AsyncJudgingBackend, JudgingBackend
from core.outbound.urls import check_request_url
from core.words import gettext as _

MAX_CONNECTIONS: Final = 1000
MAX_IDLE_CONNECTIONS: Final = 100
IDLE_SECONDS: Final = 30.0
DEFAULT_HEADERS: Final = {"user-agent": "omniroute-memory", "accept-encoding": "identity"}


class JudgingTransport(httpx.HTTPTransport):
    """httpx's own transport over a network that dials judged addresses only."""

    def __init__(self) -> None:
        super().__init__(verify=build_tls_context(), trust_env=False)
        self._pool = httpcore.ConnectionPool(
            ssl_context=build_tls_context(),
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=MAX_IDLE_CONNECTIONS,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=JudgingBackend(),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        check_request_url(request.url)
        return super().handle_request(request)


class AsyncJudgingTransport(httpx.AsyncHTTPTransport):
    """The same for an event loop."""

    def __init__(self) -> None:
        super().__init__(verify=build_tls_context(), trust_env=False)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=build_tls_context(),
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=MAX_IDLE_CONNECTIONS,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=AsyncJudgingBackend(),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        check_request_url(request.url)
        return await super().handle_async_request(request)


def sync_client(*, connect_timeout_seconds: float, read_timeout_seconds: float) -> httpx.Client:
    """Return a pooled client that obeys the outbound policy: judged addresses, no redirects, no proxy from the
    environment, no cookies kept, nothing compressed asked for. Requests raise `OutboundRefusedError` when refused.
    """
    return httpx.Client(
        transport=JudgingTransport(),
        timeout=build_timeout(connect_timeout_seconds, read_timeout_seconds),
        headers=DEFAULT_HEADERS,
        cookies=_build_closed_jar(),
        follow_redirects=False,
        trust_env=False,
    )


def async_client(*, connect_timeout_seconds: float, read_timeout_seconds: float) -> httpx.AsyncClient:
    """Return the client of `sync_client` for one event loop."""
    return httpx.AsyncClient(
        transport=AsyncJudgingTransport(),
        timeout=build_timeout(connect_timeout_seconds, read_timeout_seconds),
        headers=DEFAULT_HEADERS,
        cookies=_build_closed_jar(),
        follow_redirects=False,
        trust_env=False,
    )


def build_timeout(connect_timeout_seconds: float, read_timeout_seconds: float) -> httpx.Timeout:
    """`read_timeout_seconds` is the longest silence, not the longest answer; waiting for a free connection is
    part of connecting."""
    return httpx.Timeout(
        connect=connect_timeout_seconds,
        read=read_timeout_seconds,
        write=read_timeout_seconds,
        pool=connect_timeout_seconds,
    )


@contextmanager
def telling_upstream_errors(peer: str) -> Iterator[None]:
    """Turn every failure of a request inside the block into `UpstreamError` or `UpstreamTimeoutError`.

    `peer` is how the message calls the other side, such as `The provider openai`; URL and key stay out of it.
    """
    try:
        yield
    except httpx.PoolTimeout:
        message = _("%(peer)s could not be asked: too many connections are open") % {"peer": peer}
        raise UpstreamError(message, code="upstream_busy") from None
    except httpx.ConnectTimeout:
        raise UpstreamTimeoutError(_("%(peer)s could not be reached in time") % {"peer": peer}) from None
    except httpx.TimeoutException:
        raise UpstreamTimeoutError(_("%(peer)s did not answer in time") % {"peer": peer}) from None
    except httpx.ConnectError as error:
        told = (
            _("%(peer)s could not be reached over a trusted TLS connection")
            if _is_about_tls(error)
            else _("%(peer)s could not be reached")
        )
        raise UpstreamError(told % {"peer": peer}) from None
    except (httpx.UnsupportedProtocol, httpx.InvalidURL, UnicodeError):
        raise UpstreamError(_("%(peer)s could not be reached") % {"peer": peer}) from None
    except (httpx.HTTPError, httpx.StreamError):
        raise UpstreamError(_("%(peer)s broke the connection off") % {"peer": peer}, code="upstream_broken") from None


async def read_limited(chunks: AsyncIterator[bytes], max_bytes: int) -> bytes:
    """Return all of `chunks` as one; raises `UpstreamError` as soon as they are longer than `max_bytes`."""
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > max_bytes:
            raise UpstreamError(_("The answer is too large"), code="upstream_answer_too_large")
    return bytes(body)


@cache
def build_tls_context() -> ssl.SSLContext:
    """Trust what the machine trusts, so that a private authority works, and the bundled roots beside it."""
    context = ssl.create_default_context()
    context.load_verify_locations(cafile=certifi.where())
    return context


def _is_about_tls(error: BaseException) -> bool:
    cause = error.__cause__ or error.__context__
    return isinstance(error, ssl.SSLError) or (cause is not None and _is_about_tls(cause))


def _build_closed_jar() -> CookieJar:
    """A jar that takes no cookie: one caller's must never travel with the next caller's request."""
    return CookieJar(policy=DefaultCookiePolicy(allowed_domains=[]))
