"""Errors of the studio as people see them: a page of their own, or for htmx a message that leaves the page as it is."""

from typing import Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from core import error_handler
from core.error_handler import ServerFailureError, build_error_headers
from core.errors import AppError, ForbiddenError, NotFoundError
from core.middleware import read_request_id
from studio.context import read_theme
from studio.headers import secure

STUDIO_PREFIX: Final = "/dashboard"
TITLES: Final = {
    400: _("That did not work"),
    403: _("Not allowed"),
    404: _("Not found"),
    409: _("Something changed meanwhile"),
    413: _("That is too large"),
    503: _("The database is busy"),
}
FAILURE_TITLE: Final = _("Something went wrong on the server")


def show_error(request: HttpRequest, error: AppError) -> HttpResponse:
    """Return the page that tells `error`; for a request of htmx a toast, and what is on the screen stays."""
    is_fragment = request.headers.get("HX-Request") == "true"
    context = {
        "title": TITLES.get(error.status, FAILURE_TITLE),
        "error": error,
        "request_id": read_request_id(request),
        "theme": read_theme(request),
    }
    template = "studio/_error_toast.html" if is_fragment else "studio/error.html"
    response = render(request, template, context, status=error.status)
    for name, value in build_error_headers(error).items():
        response.headers.setdefault(name, value)
    if is_fragment:
        response.headers["HX-Reswap"] = "none"
    secure(response)
    return response


# --- Django's error views: the studio's for its own pages, the plain ones for everybody else ------------------------


def show_bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponseBase:
    return error_handler.show_bad_request(request, exception)


def show_forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponseBase:
    if not _is_studio(request):
        return error_handler.show_forbidden(request, exception)
    return show_error(request, ForbiddenError(gettext("Permission denied")))


def show_not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponseBase:
    if not _is_studio(request):
        return error_handler.show_not_found(request, exception)
    return show_error(request, NotFoundError(gettext("There is nothing at this address")))


def show_server_failure(request: HttpRequest) -> HttpResponseBase:
    if not _is_studio(request):
        return error_handler.show_server_failure(request)
    return show_error(request, ServerFailureError())


def show_csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponseBase:
    if not _is_studio(request):
        return error_handler.show_csrf_failure(request, reason)
    told = gettext(
        "The form was too old or came from another site, so nothing was saved. Go back, copy what you typed, load the "
        "page again and send it anew"
    )
    return show_error(request, ForbiddenError(told, code="csrf_failed"))


def is_studio_path(path: str) -> bool:
    return f"{path}/".startswith(f"{STUDIO_PREFIX}/")


def _is_studio(request: HttpRequest) -> bool:
    return is_studio_path(request.path_info)
