"""Errors become responses here and nowhere else: one JSON shape for programs (B14), a plain page for people."""

import math
import re
from collections.abc import Mapping
from typing import Any, Final

import structlog
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation, TooManyFieldsSent
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.html import escape
from django.utils.translation import get_language, get_language_bidi, gettext
from rest_framework import exceptions
from rest_framework.response import Response

from core.errors import (
    AppError,
    FieldError,
    ForbiddenError,
    InvalidFieldsError,
    InvalidRequestError,
    NotFoundError,
    RateLimitedError,
    TooLargeError,
    UnauthenticatedError,
)
from core.words import gettext as _
from core.words import translate

log = structlog.get_logger(__name__)

MACHINE_PATHS: Final = ("/api/", "/v1/", "/healthz/", "/readyz/", "/metrics/", "/mcp/")
BUSY_RETRY_SECONDS: Final = 1
MAX_SHOWN_DETAILS: Final = 50
MAX_SHOWN_NAME_CHARACTERS: Final = 200
UNSHOWABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


class ServerFailureError(AppError):
    """Something we did not expect. The log has the traceback, the caller has the request id."""

    def __init__(self) -> None:
        super().__init__(_("Something went wrong on the server"))


class DatabaseBusyError(AppError):
    status = 503
    code = "database_busy"

    def __init__(self) -> None:
        super().__init__(_("The database is busy, try again in a moment"))


class RefusedRequestError(InvalidRequestError):
    """A refusal that HTTP itself has a status for, such as 405 or 415."""

    def __init__(self, message: str, *, status: int, code: str) -> None:
        super().__init__(message, code=code)
        self.status = status


def build_error_body(error: AppError) -> dict[str, Any]:
    """Return the JSON body that tells `error`; schema failures are told at the top level as well."""
    inner: dict[str, Any] = {"message": clean_text(error.message), "type": error.type, "code": error.code}
    request_id = structlog.contextvars.get_contextvars().get("request_id")
    if error.status >= ServerFailureError.status and request_id is not None:
        inner["requestId"] = request_id
    if error.param is not None:
        inner["param"] = clean_text(error.param)[:MAX_SHOWN_NAME_CHARACTERS]
    if not isinstance(error, InvalidFieldsError):
        return {"error": inner}
    details = [
        {"field": clean_text(detail.field)[:MAX_SHOWN_NAME_CHARACTERS], "message": clean_text(detail.message)}
        for detail in error.details[:MAX_SHOWN_DETAILS]
    ]
    inner["details"] = details
    return {"error": inner, "message": inner["message"], "details": details}


def build_error_headers(error: AppError) -> dict[str, str]:
    """Return the headers that belong to the status of `error`."""
    if error.status == UnauthenticatedError.status:
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, DatabaseBusyError):
        return {"Retry-After": str(BUSY_RETRY_SECONDS)}
    if isinstance(error, RateLimitedError):
        return {"Retry-After": str(error.retry_seconds)}
    return {}


def error_response(error: AppError) -> JsonResponse:
    """Return the response that tells `error`, for views that are not DRF's."""
    return JsonResponse(build_error_body(error), status=error.status, headers=build_error_headers(error))


def refuse_method(*allowed: str) -> JsonResponse:
    """Return the 405 of a view that is not DRF's and answers the `allowed` methods only."""
    told = _("Only %(methods)s is answered here") % {"methods": " and ".join(allowed)}
    error = RefusedRequestError(told, status=405, code="method_not_allowed")
    response = error_response(error)
    response.headers["Allow"] = ", ".join(allowed)
    return response


def clean_text(text: str) -> str:
    """Return `text` without what can't be put into JSON or a page: control characters and broken surrogates."""
    return UNSHOWABLE.sub("\ufffd", text)


def translate_error(error: Exception) -> AppError:
    """Return what a caller is told about `error`; anything unexpected becomes a ServerFailureError, unlogged."""
    if isinstance(error, AppError):
        return error
    if isinstance(error, exceptions.APIException):
        return _translate_rest_error(error)
    if isinstance(error, Http404):
        return NotFoundError(_("Not found"))
    if isinstance(error, PermissionDenied):
        return ForbiddenError(_("Permission denied"))
    if isinstance(error, RequestDataTooBig):
        return TooLargeError(_("The request body is too large"))
    if isinstance(error, TooManyFieldsSent):
        return TooLargeError(_("The request has too many fields"))
    if isinstance(error, SuspiciousOperation):
        return InvalidRequestError(_("Bad request"))
    if isinstance(error, OperationalError) and _tells_busy(error):
        return DatabaseBusyError()
    return ServerFailureError()


def _tells_busy(error: Exception) -> bool:
    text = str(error).lower()
    return "locked" in text or "busy" in text


def _translate_rest_error(error: exceptions.APIException) -> AppError:
    if isinstance(error, exceptions.ValidationError):
        return InvalidFieldsError(flatten_details(error.detail))
    if isinstance(error, exceptions.ParseError):
        return InvalidRequestError(_("Invalid JSON body"), code="invalid_json")
    if isinstance(error, exceptions.NotAuthenticated):
        return UnauthenticatedError(_("Authentication required"))
    if isinstance(error, exceptions.AuthenticationFailed):
        return UnauthenticatedError(_read_message(error))
    if isinstance(error, exceptions.PermissionDenied):
        return ForbiddenError(_read_message(error))
    if isinstance(error, exceptions.NotFound):
        return NotFoundError(_("Not found"))
    if isinstance(error, exceptions.MethodNotAllowed):
        return RefusedRequestError(_("Method not allowed"), status=error.status_code, code="method_not_allowed")
    if isinstance(error, exceptions.Throttled):
        return RefusedRequestError(_("Too many requests"), status=error.status_code, code="rate_limited")
    if 400 <= error.status_code < 500:
        return RefusedRequestError(
            _read_message(error), status=error.status_code, code=str(getattr(error, "default_code", "bad_request"))
        )
    return ServerFailureError()


def _read_message(error: exceptions.APIException) -> str:
    return str(error.detail) if isinstance(error.detail, str) else _("The request was refused")


def flatten_details(detail: Any, path: str = "") -> list[FieldError]:
    """Return DRF's nested error structure as one list with dotted paths."""
    if isinstance(detail, Mapping):
        return [
            found
            for name, inner in detail.items()
            for found in flatten_details(inner, _join(path, "" if name == "non_field_errors" else str(name)))
        ]
    if isinstance(detail, list | tuple):
        return [
            found
            for index, inner in enumerate(detail)
            for found in flatten_details(inner, path if isinstance(inner, str) else _join(path, str(index)))
        ]
    return [FieldError(path, str(detail))]


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name


def handle_exception(error: Exception, context: Mapping[str, Any]) -> Response:
    """Return the response for what a DRF view raised (settings.REST_FRAMEWORK.EXCEPTION_HANDLER)."""
    told = translate_error(error)
    if isinstance(told, ServerFailureError):
        view = type(context.get("view")).__name__
        log.error("http.request.failed", view=view, error=type(error).__name__, exc_info=error)
    headers = build_error_headers(told)
    if isinstance(error, exceptions.AuthenticationFailed | exceptions.NotAuthenticated):
        headers["WWW-Authenticate"] = str(getattr(error, "auth_header", None) or "Bearer")
    wait_seconds: float | None = getattr(error, "wait", None)
    if wait_seconds is not None:
        headers["Retry-After"] = str(math.ceil(wait_seconds))
    return Response(build_error_body(told), status=told.status, headers=headers)


# --- Django's own error views ------------------------------------------------------------------------------------


def show_bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponseBase:
    told = translate_error(exception) if exception is not None else None
    if told is None or isinstance(told, ServerFailureError):
        told = InvalidRequestError(_("Bad request"))
    return _show(request, told)


def show_forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponseBase:
    return _show(request, ForbiddenError(_("Permission denied")))


def show_not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponseBase:
    return _show(request, NotFoundError(_("Not found")))


def show_server_failure(request: HttpRequest) -> HttpResponseBase:
    """Django has logged the traceback; here it is only told that there is one."""
    return _show(request, ServerFailureError())


def show_csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponseBase:
    return _show(
        request,
        ForbiddenError(_("The form was too old or came from another site; load the page again"), code="csrf_failed"),
    )


def speaks_json(path: str) -> bool:
    """Tell whether callers of `path` are programs, who get errors as JSON."""
    return f"{path}/".startswith(MACHINE_PATHS)


def _show(request: HttpRequest, error: AppError) -> HttpResponseBase:
    if speaks_json(request.path_info):
        return error_response(error)
    direction = "rtl" if get_language_bidi() else "ltr"
    start = gettext("Start page")
    page = (
        "<!doctype html>\n"
        f'<html lang="{get_language()}" dir="{direction}">'
        f'<head><meta charset="utf-8"><title>{error.status} - OmniRoute Memory</title></head>'
        f"<body><h1>{error.status}</h1><p>{escape(translate(error.message))}.</p>"
        f'<p><a href="/">{start}</a></p></body></html>\n'
    )
    return HttpResponse(page, status=error.status, headers=build_error_headers(error))
