"""What every request passes through, written so that a chat request under ASGI costs no thread hop on the way.

Django's own middleware runs its hooks in a thread when the server is asynchronous. Chat carries a bearer key and
needs neither session, form token nor redirects, so the subclasses below let `/v1/` through untouched.
"""

import re
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

import structlog
from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.contrib.auth import middleware as auth_middleware
from django.contrib.messages import middleware as message_middleware
from django.contrib.sessions import middleware as session_middleware
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponseBase
from django.middleware import common, csrf, security
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin

from core import metrics
from core.error_handler import error_response, show_bad_request, speaks_json
from core.errors import RateLimitedError
from core.rate_limit import LIMITER

CHAT_PREFIX: Final = "/v1/"
# Key of request.META under which views find the id; no header can set it, those begin with HTTP_.
REQUEST_ID_KEY: Final = "omniroute.request_id"
ALLOWANCE_KEY: Final = "omniroute.allowance"
RATE_LIMITED_PATHS: Final = (CHAT_PREFIX, "/api/")
SANE_REQUEST_ID = re.compile(r"[A-Za-z0-9._:\-]{1,128}")
SECURITY_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'; "
        "img-src 'self' data:"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}

GetResponse = Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]


class RequestContextMiddleware:
    """Name the request in logs and in the answer, refuse host names that are not ours, add security headers."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self.is_async:
            return self._answer_async(request)
        request_id = _name_request(request)
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = _refuse(request) or cast(HttpResponseBase, self.get_response(request))
        return _finish(request, response, request_id)

    async def _answer_async(self, request: HttpRequest) -> HttpResponseBase:
        request_id = _name_request(request)
        # Not unbound afterwards: the server runs each request as a task with a context of its own, and a streamed
        # answer is still being written, and logged, after this function has returned.
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = _refuse(request)
        if response is None:
            response = await cast(Awaitable[HttpResponseBase], self.get_response(request))
        return _finish(request, response, request_id)


def read_request_id(request: HttpRequest) -> str:
    """Return the id that RequestContextMiddleware gave the request."""
    return str(request.META[REQUEST_ID_KEY])


def choose_request_id(given: str) -> str:
    """Keep a caller's id if it is harmless in a log line and a header, else make one."""
    return given if SANE_REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def _name_request(request: HttpRequest) -> str:
    request_id = choose_request_id(request.headers.get("x-request-id", ""))
    request.META[REQUEST_ID_KEY] = request_id
    return request_id


def _refuse(request: HttpRequest) -> HttpResponseBase | None:
    """The answer to a request that is not let in: by its host, or by how many its key has sent."""
    refusal = _refuse_strange_host(request)
    if refusal is None and request.path_info.startswith(RATE_LIMITED_PATHS):
        allowance = LIMITER.take(request.headers.get("authorization"))
        if allowance is not None:
            request.META[ALLOWANCE_KEY] = allowance
            if not allowance.is_let_in:
                return error_response(RateLimitedError(allowance.retry_seconds))
    return refusal


def _refuse_strange_host(request: HttpRequest) -> HttpResponseBase | None:
    """Django asks this in CommonMiddleware, which chat does not pass."""
    try:
        request.get_host()
    except DisallowedHost as error:
        return show_bad_request(request, error)
    return None


def _finish(request: HttpRequest, response: HttpResponseBase, request_id: str) -> HttpResponseBase:
    metrics.count_request(request.path_info, response.status_code)
    allowance = request.META.get(ALLOWANCE_KEY)
    if allowance is not None:
        for name, value in allowance.write_headers().items():
            response.headers[name] = value
    return _add_headers(response, request_id)


def _add_headers(response: HttpResponseBase, request_id: str) -> HttpResponseBase:
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers["x-request-id"] = request_id
    return response


class LanguageMiddleware:
    """Show pages in the language that the browser asks for, among settings.LANGUAGES. Programs are told English.

    Not Django's own, which leaves its language behind for whatever the thread serves next, and costs an asynchronous
    server two thread hops.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if speaks_json(request.path_info):
            return self.get_response(request)
        language = translation.get_language_from_request(request)
        if self.is_async:
            return self._answer_async(request, language)
        with translation.override(language):
            response = cast(HttpResponseBase, self.get_response(request))
        return _tell_language(response, language)

    async def _answer_async(self, request: HttpRequest, language: str) -> HttpResponseBase:
        with translation.override(language):
            response = await cast(Awaitable[HttpResponseBase], self.get_response(request))
        return _tell_language(response, language)


def _tell_language(response: HttpResponseBase, language: str) -> HttpResponseBase:
    patch_vary_headers(response, ("Accept-Language",))
    response.headers.setdefault("Content-Language", language)
    return response


class _ChatBypass(MiddlewareMixin):
    """Hand chat requests on without running the hooks; under ASGI `get_response` gives the awaitable itself."""

    def __call__(self, request: HttpRequest) -> Any:
        if request.path_info.startswith(CHAT_PREFIX):
            return self.get_response(request)
        return super().__call__(request)


class SecurityMiddleware(_ChatBypass, security.SecurityMiddleware):
    pass


class SessionMiddleware(_ChatBypass, session_middleware.SessionMiddleware):
    pass


class CommonMiddleware(_ChatBypass, common.CommonMiddleware):
    pass


class CsrfViewMiddleware(_ChatBypass, csrf.CsrfViewMiddleware):
    """Chat skips the check of the form token as well: it reads no cookie, so there is nothing to forge."""

    def __init__(self, get_response: Any) -> None:
        super().__init__(get_response)
        self._check_form_token = super().process_view
        # Django runs a plain `process_view` in a thread for every request, a coroutine function where it stands.
        if self.async_mode:
            self.process_view = self._process_view_async  # type: ignore[method-assign]

    def process_view(self, request: HttpRequest, callback: Any, args: Any, kwargs: Any) -> Any:
        if request.path_info.startswith(CHAT_PREFIX):
            return None
        return self._check_form_token(request, callback, args, kwargs)

    async def _process_view_async(self, request: HttpRequest, callback: Any, args: Any, kwargs: Any) -> Any:
        if request.path_info.startswith(CHAT_PREFIX):
            return None
        return await sync_to_async(self._check_form_token, thread_sensitive=True)(request, callback, args, kwargs)


class AuthenticationMiddleware(_ChatBypass, auth_middleware.AuthenticationMiddleware):
    pass


class MessageMiddleware(_ChatBypass, message_middleware.MessageMiddleware):
    pass
