"""Who may see a page of the studio, and what every page of it is sent with."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, Concatenate, Final, ParamSpec, cast
from urllib.parse import unquote, urlencode
from zoneinfo import ZoneInfo, available_timezones

from django.contrib.auth.models import User
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django_htmx.middleware import HtmxDetails

from core.error_handler import DatabaseBusyError, translate_error
from core.errors import AppError, ForbiddenError
from studio.addresses import read_current
from studio.errors import show_error
from studio.headers import secure

# Written by studio.js from the browser's own settings.
ZONE_COOKIE: Final = "studio_zone"

P = ParamSpec("P")


class StudioRequest(HttpRequest):
    """What a view of the studio is given: the request of a member of staff, and what htmx says about it."""

    htmx: HtmxDetails
    user: User


def staff_page(
    view: Callable[Concatenate[StudioRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Make `view` a page for staff alone: others are sent to sign in, or told that they may not.

    Dates are shown in the operator's zone while it runs; an `AppError` that it raises is shown as a page, or to htmx
    as a message; the answer gets the studio's headers.
    """

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        with timezone.override(read_zone(request)):
            return secure(_answer(request, view, args, kwargs))

    return cast(Callable[Concatenate[HttpRequest, P], HttpResponseBase], answer)


def open_page(view: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Make `view` a page that anybody may see, such as the sign-in, with the studio's headers."""

    @wraps(view)
    def answer(request: HttpRequest) -> HttpResponseBase:
        return secure(view(request))

    return answer


def read_zone(request: HttpRequest) -> ZoneInfo | None:
    """Return the time zone that the operator's browser has told, None when it told none that exists."""
    name = unquote(request.COOKIES.get(ZONE_COOKIE, ""))
    return ZoneInfo(name) if name in list_zones() else None


@cache
def list_zones() -> frozenset[str]:
    """The zones that this machine knows: a walk through a folder, too slow for every page."""
    return frozenset(available_timezones())


def _answer(
    request: HttpRequest, view: Callable[..., HttpResponseBase], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> HttpResponseBase:
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated or not user.is_active:
        return _send_to_sign_in(request)
    if not user.is_staff:
        return show_error(request, ForbiddenError(_("This account is no member of staff, and only they see memories")))
    staff_request = cast(StudioRequest, request)
    staff_request.htmx = HtmxDetails(request)
    try:
        return view(staff_request, *args, **kwargs)
    except AppError as error:
        return show_error(request, error)
    except OperationalError as error:
        told = translate_error(error)
        if not isinstance(told, DatabaseBusyError):
            raise
        return show_error(request, told)


def _send_to_sign_in(request: HttpRequest) -> HttpResponseBase:
    """Remember the page for afterwards: of a request that htmx made, the one it was made from."""
    htmx = HtmxDetails(request)
    shown = request.get_full_path() if request.method in ("GET", "HEAD") else ""
    target = read_current(request) if htmx else shown
    address = reverse("studio:sign-in") + (f"?{urlencode({'next': target})}" if target else "")
    if not htmx:
        return HttpResponseRedirect(address)
    response = HttpResponse(status=204)
    response.headers["HX-Redirect"] = address
    return response
