"""The door at /mcp: who may come in, and what is JSON-RPC at all. Behind it stands the SDK, loaded at first use."""

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any, Final

import structlog
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError
from django.utils.module_loading import import_string
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from core import metrics
from core.accounts.keys import Caller, identify_caller
from core.error_handler import (
    RefusedRequestError,
    ServerFailureError,
    build_error_body,
    build_error_headers,
    translate_error,
)
from core.errors import AppError, ForbiddenError, InvalidRequestError, RateLimitedError, UnauthenticatedError
from core.middleware import SECURITY_HEADERS, choose_request_id
from core.rate_limit import LIMITER
from core.words import gettext as _
from core.worker_threads import WorkerThreads
from memory.mcp.frames import find_frame_fault
from memory.mcp.origin import is_our_host, is_trusted_origin

PATH: Final = "/mcp"
# Where the scope of a request holds its Caller.
CALLER_KEY: Final = "omniroute.caller"
START_SECONDS: Final = 30.0
THREADS: Final = WorkerThreads("mcp-auth", size=1)

log = structlog.get_logger(__name__)


class McpDoor:
    """An ASGI application for the paths that `serves` says. `stop` ends what it has started."""

    def __init__(self) -> None:
        self._starting = asyncio.Lock()
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._manager: Any = None

    def serves(self, path: str) -> bool:
        return path.rstrip("/") == PATH

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        request_id = choose_request_id(request.headers.get("x-request-id", ""))
        structlog.contextvars.bind_contextvars(request_id=request_id)
        headers = {**SECURITY_HEADERS, "Cache-Control": "no-store", "x-request-id": request_id}
        sender = _mark_answer(send, headers)
        try:
            raw = await self._let_in(request, headers)
        except ClientDisconnect:
            return
        except (AppError, OperationalError) as error:
            await _write_refusal(_translate(error))(scope, receive, sender)
            return
        fault = find_frame_fault(raw)
        if fault is not None:
            await JSONResponse(fault.write(), status_code=400)(scope, receive, sender)
            return
        manager = await self._open_manager()
        await manager.handle_request(scope, _replay(raw, receive), sender)

    async def stop(self) -> None:
        self._stopping.set()
        if self._task is not None:
            await self._task

    async def _let_in(self, request: Request, headers: dict[str, str]) -> bytes:
        """Return the body of a request that may be answered, its caller in its scope; raises the refusal."""
        host = request.headers.get("host", "")
        if not is_our_host(host):
            raise InvalidRequestError(_("Bad request"))
        if not is_trusted_origin(request.headers.get("origin", ""), host):
            raise ForbiddenError(_("This origin is not allowed, see CSRF_TRUSTED_ORIGINS"), code="origin_refused")
        authorization = request.headers.get("authorization")
        allowance = LIMITER.take(authorization)
        if allowance is not None:
            headers.update(allowance.write_headers())
            if not allowance.is_let_in:
                raise RateLimitedError(allowance.retry_seconds)
        caller = await THREADS.run(identify_caller, authorization)
        if caller is None:
            raise UnauthenticatedError(_("Authentication required"))
        if request.method != "POST":
            raise RefusedRequestError(_("Only POST is answered here"), status=405, code="method_not_allowed")
        request.scope[CALLER_KEY] = caller
        return await request.body()

    async def _open_manager(self) -> Any:
        async with self._starting:
            if self._manager is None:
                # In a thread: chats must not wait while the SDK is read in.
                build: Callable[..., Any] = await asyncio.to_thread(
                    import_string, "memory.mcp.server.build_session_manager"
                )
                self._manager = await self._start(build(_read_caller))
        return self._manager

    async def _start(self, manager: Any) -> Any:
        """Run the manager in a task of its own: it must end in the task that it began in, and not with a request."""
        is_running = asyncio.Event()

        async def run() -> None:
            async with manager.run():
                is_running.set()
                await self._stopping.wait()

        self._task = asyncio.create_task(run(), name="mcp", context=contextvars.Context())
        async with asyncio.timeout(START_SECONDS):
            await is_running.wait()
        return manager


def _read_caller(context: Any) -> Caller:
    caller: Caller | None = context.request.scope.get(CALLER_KEY)
    if caller is None:
        raise ImproperlyConfigured("an MCP request came in past its door")
    return caller


def _mark_answer(send: Send, headers: dict[str, str]) -> Send:
    """Add the headers to whatever answer goes out, and count it."""

    async def send_marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message.get("headers", [])}
            added = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
            message = {
                **message,
                "headers": [*message.get("headers", []), *(item for item in added if item[0] not in own)],
            }
            metrics.count_request(PATH, message["status"])
        await send(message)

    return send_marked


def _translate(error: Exception) -> AppError:
    told = translate_error(error)
    if isinstance(told, ServerFailureError):
        log.error("mcp.request.failed", error=type(error).__name__, exc_info=error)
    return told


def _write_refusal(error: AppError) -> Response:
    headers = build_error_headers(error)
    if error.status == 405:
        headers["Allow"] = "POST"
    return JSONResponse(build_error_body(error), status_code=error.status, headers=headers)


def _replay(raw: bytes, receive: Receive) -> Receive:
    """Give the body again that was read already, then whatever else comes in."""
    is_given = False

    async def receive_again() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": raw, "more_body": False}

    return receive_again
