"""Refuse request bodies that are too large before Django writes them to disk."""

import asyncio
import json
from collections.abc import Iterable
from io import BytesIO
from typing import Final

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse
from django.template.defaultfilters import filesizeformat
from django.utils import translation
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog import get_logger

from core.error_handler import build_error_body
from core.errors import TooLargeError
from core.middleware import REQUEST_ID_KEY, choose_request_id
from core.words import gettext as _
from studio.errors import is_studio_path, show_error

# A client that is still sending when the connection closes may never see the answer, so a while more is read and
# thrown away.
DRAIN_SECONDS: Final = 5.0

log = get_logger(__name__)


class _BodyTooLargeError(Exception):
    """Unwinds the application that was reading the body."""


class BodyLimit:
    """Answers 413 to a body longer than `max_bytes`, whether its length was declared or shows while it comes."""

    def __init__(self, application: ASGIApp, max_bytes: int) -> None:
        self.application = application
        self.max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        if _read_declared_bytes(scope) > self.max_bytes:
            await self._refuse(scope, receive, send)
            return
        received_bytes = 0
        has_answered = False

        async def receive_counted() -> Message:
            nonlocal received_bytes
            message = await receive()
            received_bytes += len(message.get("body", b""))
            if received_bytes > self.max_bytes:
                raise _BodyTooLargeError
            return message

        async def send_watched(message: Message) -> None:
            nonlocal has_answered
            has_answered = True
            await send(message)

        try:
            await self.application(scope, receive_counted, send_watched)
        except _BodyTooLargeError:
            if has_answered:
                raise
            await self._refuse(scope, receive, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        log.info("http.request.too_large", limit_bytes=self.max_bytes)
        request_id = _name_request(scope)
        if is_studio_path(scope["path"]):
            page = await sync_to_async(_render_page)(scope, request_id, self.max_bytes)
            headers, body = list(page.items()), page.content
        else:
            headers, body = [("content-type", "application/json")], _write_json(self.max_bytes)
        headers += [
            ("x-request-id", request_id),
            ("content-length", str(len(body))),
            ("x-content-type-options", "nosniff"),
            ("connection", "close"),
        ]
        start = {"type": "http.response.start", "status": TooLargeError.status, "headers": _encode(headers)}
        await send(start)
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await self._drain(receive)
        await send({"type": "http.response.body", "body": b""})

    async def _drain(self, receive: Receive) -> None:
        """Read on until the client has sent all, has left, or has sent as much again as is allowed."""
        drained_bytes = 0
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while drained_bytes <= self.max_bytes:
                    message = await receive()
                    if not message.get("more_body", False):
                        return
                    drained_bytes += len(message.get("body", b""))
        except TimeoutError:
            return


def _write_json(max_bytes: int) -> bytes:
    error = TooLargeError(_("The request body is larger than %(max_bytes)s bytes") % {"max_bytes": max_bytes})
    return json.dumps(build_error_body(error)).encode()


def _render_page(scope: Scope, request_id: str, max_bytes: int) -> HttpResponse:
    """The studio's page for it; Django itself never sees the request, so no middleware has read it."""
    request = ASGIRequest(scope, BytesIO())
    request.META[REQUEST_ID_KEY] = request_id
    told = _(
        "Nothing was kept: this server takes up to %(size)s at once. For a larger file run manage.py memory_import"
    )
    with translation.override(translation.get_language_from_request(request)):
        return show_error(request, TooLargeError(told % {"size": filesizeformat(max_bytes)}))


def _encode(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]


def _name_request(scope: Scope) -> str:
    given = next((value for name, value in scope["headers"] if name == b"x-request-id"), b"")
    return choose_request_id(given.decode("latin-1"))


def _read_declared_bytes(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0
