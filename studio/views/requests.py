"""The Requests page: the log of proxied calls, joined to the memories they carried and taught."""

from typing import Any, Final

from django.http import HttpResponseBase
from django.views.decorators.http import require_GET

from core.errors import NotFoundError
from gateway.request_log import (
    MAX_COUNTED,
    RequestFilter,
    count_requests,
    list_models,
    list_owners,
    list_requests,
    read_request,
    read_row,
)
from gateway.request_settings import load_request_settings
from studio.access import StudioRequest, staff_page
from studio.forms.requests import MEMORY_CHOICES, SPAN_CHOICES, STATUS_CHOICES, RequestAsk, read_ask
from studio.pages import render_page
from studio.views.request_rows import RequestStory, build_row, build_story, tell_count

ROWS_A_PAGE: Final = 50


@require_GET
@staff_page
def show_page(request: StudioRequest) -> HttpResponseBase:
    """The whole page, also for htmx, which takes the list out of it: one address, one answer."""
    ask = read_ask(request.GET)
    filter = ask.build_filter()
    page = list_requests(filter, limit=ROWS_A_PAGE, older=ask.older, newer=ask.newer)
    rows = [build_row(logged) for logged in page.requests]
    context: dict[str, Any] = {
        "ask": ask,
        "rows": rows,
        "page": page,
        "settings": load_request_settings(),
        "owners": list_owners(),
        "models": list_models(),
        "spans": SPAN_CHOICES,
        "statuses": STATUS_CHOICES,
        "uses": MEMORY_CHOICES,
        "count": tell_count(len(rows), count_requests(filter), MAX_COUNTED),
        "story": _find_open(ask),
        "is_log_empty": not rows and not (ask.has_filter and count_requests(RequestFilter())),
    }
    return render_page(request, "studio/requests.html", context, place="requests")


@require_GET
@staff_page
def show_request(request: StudioRequest, request_id: str) -> HttpResponseBase:
    """One request on a page of its own; `?open=` names one of several that have the id."""
    story = build_story(read_request(request_id, row_id=read_ask(request.GET).open_row))
    return render_page(request, "studio/request.html", {"story": story, "request_id": request_id}, place="requests")


def _find_open(ask: RequestAsk) -> RequestStory | None:
    if ask.open_row is None:
        return None
    try:
        return build_story(read_row(ask.open_row))
    except NotFoundError:
        return None  # forgotten meanwhile
