"""/dashboard/memory: three tabs, each a page of its own."""

from django.http import HttpRequest, HttpResponseBase

from studio.views import engine, memories, playground

# Each of these views is a `staff_page`.
TABS = {
    "memories": memories.show_page,
    "playground": playground.show_page,
    "engine": engine.show_page,
}


def show_tab(request: HttpRequest) -> HttpResponseBase:
    """Hand the request to the tab that `?tab=` names; memories are first."""
    return TABS.get(request.GET.get("tab", ""), memories.show_page)(request)
