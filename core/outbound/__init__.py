"""The one door to the network. What a request may reach is told in `addresses`, how it gets there in `network`."""

from httpx import AsyncClient, Client, Response, Timeout

from core.outbound.clients import (
    JudgingTransport,
    async_client,
    build_timeout,
    read_limited,
    sync_client,
    telling_upstream_errors,
)
from core.outbound.posting import Answer, Deadline, post, send
from core.outbound.urls import check_url

__all__ = [
    "Answer",
    "AsyncClient",
    "Client",
    "Deadline",
    "JudgingTransport",
    "Response",
    "Timeout",
    "async_client",
    "build_timeout",
    "check_url",
    "post",
    "read_limited",
    "send",
    "sync_client",
    "telling_upstream_errors",
]
