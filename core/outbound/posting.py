"""One request with a limit on its whole time and its size, for callers that wait: embeddings, reranking, backends."""

import time
import zlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Final

from django.conf import settings
from httpx import Client, Response

from core.errors import UpstreamError, UpstreamTimeoutError
from core.outbound.clients import build_timeout, sync_client, telling_upstream_errors
from core.words import gettext as _

MAX_ANSWER_BYTES: Final = 10 * 1024 * 1024
# Of a refusal only the words matter that tell a text that is too long from other faults.
MAX_REFUSAL_BYTES: Final = 64 * 1024
MAX_REQUESTS_AT_ONCE: Final = 32
MIN_SECONDS: Final = 0.001


class Deadline:
    """A point in time that several steps share."""

    def __init__(self, seconds: float) -> None:
        self._ends_at = time.monotonic() + seconds

    def seconds_left(self) -> float:
        return max(self._ends_at - time.monotonic(), 0.0)


@dataclass(frozen=True)
class Answer:
    """`body` is whole for a success, at most its first 64 KiB for a refusal, empty for any other status."""

    status: int
    retry_after: str
    body: bytes


def post(url: str, headers: Mapping[str, str], body: bytes, *, deadline: Deadline, peer: str) -> Answer:
    """Return what `url` answered to a POST before `deadline`; see `send`."""
    return send("POST", url, headers, body, deadline=deadline, peer=peer)


def send(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    deadline: Deadline,
    peer: str,
    max_bytes: int = MAX_ANSWER_BYTES,
) -> Answer:
    """Return what `url` answered before `deadline`; `peer` is how error messages call it.

    Raises `UpstreamTimeoutError`, `OutboundRefusedError` or another `UpstreamError`. The request runs in a thread
    of its own, because neither a resolver nor a server that sends a byte a second can be hurried from outside.
    """
    if deadline.seconds_left() <= 0:
        raise UpstreamTimeoutError(_("%(peer)s did not answer in time") % {"peer": peer})
    future = _get_pool().submit(_send, method, url, headers, body, deadline, peer, max_bytes)
    try:
        return future.result(deadline.seconds_left())
    except TimeoutError:
        future.cancel()
        raise UpstreamTimeoutError(_("%(peer)s did not answer in time") % {"peer": peer}) from None


def _send(
    method: str, url: str, headers: Mapping[str, str], body: bytes, deadline: Deadline, peer: str, max_bytes: int
) -> Answer:
    seconds = max(deadline.seconds_left(), MIN_SECONDS)
    timeout = build_timeout(min(seconds, settings.UPSTREAM_CONNECT_TIMEOUT_SECONDS), seconds)
    with (
        telling_upstream_errors(peer),
        _get_client().stream(method, url, headers=dict(headers), content=body, timeout=timeout) as response,
    ):
        return Answer(
            status=response.status_code,
            retry_after=response.headers.get("retry-after", ""),
            body=_read_body(response, deadline, peer, max_bytes),
        )


def _read_body(response: Response, deadline: Deadline, peer: str, max_bytes: int) -> bytes:
    if response.is_success:
        return inflate(
            read_chunks(response.iter_raw(), max_bytes, deadline, peer),
            response.headers.get("content-encoding", ""),
            peer,
        )
    if response.status_code in (400, 413, 422):
        return b"".join(_take(response.iter_raw(), MAX_REFUSAL_BYTES, deadline, peer))
    return b""


def read_chunks(chunks: Iterable[bytes], max_bytes: int, deadline: Deadline, peer: str) -> bytes:
    """Return all of `chunks`; raises `UpstreamError` once they are longer than `max_bytes` or the time is over."""
    body = bytearray()
    for chunk in _take(chunks, max_bytes + 1, deadline, peer):
        body += chunk
    if len(body) > max_bytes:
        raise UpstreamError(
            _("%(peer)s answered more than can be read") % {"peer": peer}, code="upstream_answer_too_large"
        )
    return bytes(body)


def inflate(body: bytes, encoding: str, peer: str) -> bytes:
    """Undo the compression that nobody asked for, within the same size limit."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise UpstreamError(
            _("%(peer)s answered in an encoding that was not asked for") % {"peer": peer}, code="upstream_bad_answer"
        )
    decompressor = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    try:
        inflated = decompressor.decompress(body, MAX_ANSWER_BYTES + 1)
    except zlib.error:
        raise UpstreamError(
            _("%(peer)s answered what can't be unpacked") % {"peer": peer}, code="upstream_bad_answer"
        ) from None
    if len(inflated) > MAX_ANSWER_BYTES:
        raise UpstreamError(
            _("%(peer)s answered more than can be read") % {"peer": peer}, code="upstream_answer_too_large"
        )
    return inflated


def _take(chunks: Iterable[bytes], max_bytes: int, deadline: Deadline, peer: str) -> Iterable[bytes]:
    taken = 0
    for chunk in chunks:
        if deadline.seconds_left() <= 0:
            raise UpstreamTimeoutError(_("%(peer)s did not answer in time") % {"peer": peer})
        yield chunk
        taken += len(chunk)
        if taken >= max_bytes:
            return


@cache
def _get_client() -> Client:
    return sync_client(
        connect_timeout_seconds=settings.UPSTREAM_CONNECT_TIMEOUT_SECONDS,
        read_timeout_seconds=settings.UPSTREAM_READ_TIMEOUT_SECONDS,
    )


@cache
def _get_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MAX_REQUESTS_AT_ONCE, thread_name_prefix="outbound")
