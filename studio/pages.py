"""Pages of the studio: a template within the shell that all of them share."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from studio.access import StudioRequest
from studio.context import build_shell
from studio.finished_work import tell_finished

Place = Literal["overview", "memory", "requests", "settings"]
PLACES: Final = ("overview", "memory", "requests", "settings")


def render_page(
    request: StudioRequest,
    template: str,
    context: Mapping[str, Any] | None = None,
    *,
    place: Place,
    status: int = 200,
) -> HttpResponse:
    """Return `template`, which extends studio/base.html, with `shell` in its context; `place` is where we are.

    What has ended since the operator's last page is told on this one.
    """
    shell = build_shell(request, place, has_open_work=tell_finished(request).goes_on)
    return render(request, template, {"shell": shell, **(context or {})}, status=status)


def render_fragment(
    request: HttpRequest, template: str, context: Mapping[str, Any] | None = None, *, status: int = 200
) -> HttpResponse:
    """Return a piece of a page for htmx."""
    return render(request, template, dict(context or {}), status=status)


def wants_fragment(request: StudioRequest) -> bool:
    """Whether htmx asks for a piece of the page, not for the whole of it."""
    return bool(request.htmx) and not request.htmx.boosted and not request.htmx.history_restore_request
