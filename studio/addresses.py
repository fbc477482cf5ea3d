"""Where a form leads back to."""

from typing import Final
from urllib.parse import urlsplit

from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

NEXT_FIELD: Final = "next"


def read_next(request: HttpRequest) -> str:
    """Return the address in the field `next`, or the page htmx asks from, if it is on this server, else Memories."""
    given = request.POST.get(NEXT_FIELD) or request.GET.get(NEXT_FIELD) or ""
    given = given or read_current(request)
    is_ours = url_has_allowed_host_and_scheme(given, {request.get_host()}, require_https=request.is_secure())
    return given if is_ours else reverse("studio:memory")


def read_current(request: HttpRequest) -> str:
    """Return path and query of the page that htmx asks from; "" without one, or where the header holds no address."""
    try:
        current = urlsplit(request.headers.get("HX-Current-URL", ""))
    except ValueError:
        return ""
    return current._replace(scheme="", netloc="", fragment="").geturl()


def read_query_string(address: str) -> str:
    """Return the query of an address that the browser told; "" where it is none."""
    try:
        return urlsplit(address).query
    except ValueError:
        return ""
