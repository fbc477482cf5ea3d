"""The async half of the provider client: it opens chats and hands their bytes on as they come."""

import re
from collections.abc import AsyncIterator, Mapping
from typing import Final

from core.errors import UpstreamError
from core.outbound import Response, telling_upstream_errors
from core.providers.catalog import ModelInfo, list_models
from core.providers.echo import answer_chat
from core.providers.pool import close_clients, get_client, read_timeout
from core.providers.registry import ECHO
from core.providers.replies import UpstreamReply
from core.providers.routing import Route
from core.words import gettext as _

__all__ = ["ModelInfo", "UpstreamReply", "close_clients", "list_models", "open_chat"]

# What a provider may learn from the caller's headers, and a caller from the provider's. Anything else stays here:
# credentials, cookies, addresses, our own headers, and whatever belongs to one of the two connections alone.
SENT_HEADERS: Final = frozenset(
    {"accept", "http-referer", "idempotency-key", "traceparent", "user-agent", "x-client-request-id", "x-title"}
)
SENT_PREFIXES: Final = ("anthropic-", "openai-", "x-openrouter-", "x-stainless-")
RELAYED_HEADERS: Final = frozenset(
    {
        "content-encoding",
        "content-language",
        "content-type",
        "request-id",
        "retry-after",
        "retry-after-ms",
        "x-request-id",
        "x-should-retry",
    }
)
RELAYED_PREFIXES: Final = ("anthropic-", "openai-", "ratelimit-", "x-openrouter-", "x-ratelimit-")
_SENDABLE: Final = re.compile(r"[\t\x20-\x7e]*")


async def open_chat(route: Route, body: bytes, headers: Mapping[str, str]) -> UpstreamReply:
    """Post `body` to the route's chat completions and return as soon as the head of the answer is there.

    `headers` are the caller's, of which the harmless ones go along. Whatever status a provider answers with comes
    back in the reply, except redirects, which nobody follows. Raises `UpstreamTimeoutError` (connecting or waiting
    took too long), `OutboundRefusedError` or another `UpstreamError` before the first byte.
    """
    if route.provider == ECHO:
        return answer_chat(route.model, body)
    peer = _("The provider %(name)s") % {"name": route.provider}
    client = get_client()
    with telling_upstream_errors(peer):
        request = client.build_request(
            "POST",
            f"{route.base_url}/chat/completions",
            content=body,
            headers=_build_headers(route, headers),
            timeout=read_timeout(),
        )
        response = await client.send(request, stream=True)
    if not (200 <= response.status_code < 300 or 400 <= response.status_code < 600):
        await response.aclose()
        raise UpstreamError(
            _("%(peer)s answered with a redirect or an unknown status") % {"peer": peer}, code="upstream_redirect"
        )
    return UpstreamReply(
        status=response.status_code,
        headers=select_relayed_headers(response),
        chunks=_relay(response, peer),
        content_encoding=response.headers.get("content-encoding", "").strip().lower(),
        close=response.aclose,
    )


def select_relayed_headers(response: Response) -> dict[str, str]:
    return {
        name: value
        for name, value in response.headers.items()
        if name in RELAYED_HEADERS or name.startswith(RELAYED_PREFIXES)
    }


def _build_headers(route: Route, headers: Mapping[str, str]) -> dict[str, str]:
    lowered = ((name.lower(), value) for name, value in headers.items())
    sent = {
        name: value
        for name, value in lowered
        if (name in SENT_HEADERS or name.startswith(SENT_PREFIXES)) and _SENDABLE.fullmatch(value)
    }
    # Nothing compressed is asked for: a compressor's buffer would hold events back.
    sent |= {"content-type": "application/json", "accept-encoding": "identity"}
    if route.api_key:
        sent["authorization"] = f"Bearer {route.api_key}"
    return sent


async def _relay(response: Response, peer: str) -> AsyncIterator[bytes]:
    try:
        with telling_upstream_errors(peer):
            async for chunk in response.aiter_raw():
                yield chunk
    finally:
        await response.aclose()
