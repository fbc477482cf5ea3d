"""Memories: the list, its figures, one memory beside it."""

from datetime import datetime
from typing import Any, Final

from django.http import HttpResponse, HttpResponseBase
from django.views.decorators.http import require_GET

from core.errors import AppError
from memory.inspection import ListedMemories, list_page, list_sessions
from memory.records import MEMORY_TYPES, MemoryFilter
from studio.access import StudioRequest, staff_page
from studio.figures import read_list_figures
from studio.first_start import build_steps
from studio.forms.memories import TYPE_NAMES
from studio.memory_detail import build_detail
from studio.memory_list import (
    EXPIRIES,
    FILTERS,
    INDEXED,
    MAX_PAGE,
    NO_OWNER,
    PAGE_ROWS,
    POLARITIES,
    SOURCES,
    USED,
    ListQuery,
    read_list_query,
    read_origin,
)
from studio.memory_rows import build_rows
from studio.memory_selection import load_memory
from studio.nothing_found import find_hint
from studio.owners import list_owner_choices
from studio.pages import render_fragment, render_page, wants_fragment
from studio.views.memories_changes import list_shown

# Elements that bring a part of the page up to date when something was changed.
LIST_LOADER: Final = "list-loader"
DRAWER_LOADER: Final = "drawer-loader"
LIST_TARGET: Final = "list"
DRAWER_TARGET: Final = "drawer"
# The search field and the filters beside it, each of which asks for the list on its own.
TOOLBAR: Final = ("toolbar", "filters")


@require_GET
@staff_page
def show_page(request: StudioRequest) -> HttpResponseBase:
    """The page; to htmx the list alone, or the drawer alone, whichever it wants to put into the page."""
    listed = read_list_query(request.GET)
    memory_id = request.GET.get("id", "")
    if wants_fragment(request) and request.htmx.target == DRAWER_TARGET:
        return _show_drawer(request, listed, memory_id)
    page = list_page(listed.filter, limit=PAGE_ROWS, offset=listed.offset, order=listed.order)
    if not page.records and not listed.is_filtered and listed.page == 1:
        return _show_first_start(request)
    context = {**_build_list(listed, page), **_build_toolbar(listed), "changes": list_shown()}
    if wants_fragment(request) and request.htmx.target == LIST_TARGET:
        # Another list has another drawer, or none; the same list anew keeps it.
        context["closes_drawer"] = request.htmx.trigger != LIST_LOADER
        response = render_fragment(request, "studio/_memory_list_swap.html", context)
        if request.htmx.trigger in TOOLBAR:
            # Without the fields that say nothing.
            response.headers["HX-Replace-Url"] = listed.address()
        return response
    context["last_write"] = _read_last_write()
    context.update(_build_drawer(listed, memory_id))
    return render_page(request, "studio/memories.html", context, place="memory")


@require_GET
@staff_page
def show_figures(request: StudioRequest) -> HttpResponseBase:
    """Figures of the list that the parameters describe; they come after it."""
    listed = read_list_query(request.GET)
    figures = read_list_figures(listed.filter)
    pages = max(1, -(-figures.total // PAGE_ROWS))
    context = {"listed": listed, "figures": figures, "pages": pages, **_count_rows(listed, figures.total)}
    context["last_write"] = _read_last_write()
    return render_fragment(request, "studio/_memory_figures.html", context)


@require_GET
@staff_page
def show_row(request: StudioRequest, memory_id: str) -> HttpResponseBase:
    """One row of the list, as it is now: what an edit that is given up leaves."""
    rows = build_rows([load_memory(memory_id)])
    return render_fragment(request, "studio/_memory_row.html", {"row": rows[0], "listed": read_origin(request)})


@require_GET
@staff_page
def show_first_steps(request: StudioRequest) -> HttpResponseBase:
    """The steps of the first start, as far as they are done by now; the list once there is a memory."""
    if list_page(MemoryFilter(None), limit=1, offset=0).records:
        response = HttpResponse(status=204)
        response.headers["HX-Refresh"] = "true"
        return response
    return render_fragment(request, "studio/_first_steps_list.html", {"steps": build_steps(request)})


def _build_list(listed: ListQuery, page: ListedMemories) -> dict[str, Any]:
    rows = build_rows(page.records)
    known_total = None if page.has_more else listed.offset + len(rows)
    return {
        "listed": listed,
        "rows": rows,
        "hint": None if rows else find_hint(listed),
        "first": listed.offset + 1,
        "last": listed.offset + len(rows),
        # Beyond the last page nothing was counted, so nothing is known.
        "total": known_total if rows or listed.page == 1 else None,
        "sort_key": listed.address(sort="-key" if listed.order == "key" else "key", page=None),
        "sort_used": listed.address(sort="used" if listed.order == "-used" else "-used", page=None),
        "sort_updated": listed.address(sort="updated" if listed.order == "-updated" else None, page=None),
        "filter_fields": [(name, value) for name, value in listed.values.items() if name in FILTERS],
        "previous_address": listed.address(page=listed.page - 1) if listed.page > 1 else "",
        "next_address": listed.address(page=listed.page + 1) if page.has_more and listed.page < MAX_PAGE else "",
    }


def _build_toolbar(listed: ListQuery) -> dict[str, Any]:
    owner = listed.filter.owner
    return {
        "types": [(name, TYPE_NAMES[name]) for name in MEMORY_TYPES],
        "owners": list_owner_choices(owner),
        "no_owner": NO_OWNER,
        "sessions": list_sessions(owner),
        "sources": SOURCES.items(),
        "polarities": POLARITIES.items(),
        "expiries": EXPIRIES.items(),
        "chips": _build_chips(listed),
    }


def _build_chips(listed: ListQuery) -> list[dict[str, Any]]:
    """Filters that no select shows, each with the address of the list without it."""
    names = {"used": USED, "index": INDEXED}
    return [
        {"name": name, "value": listed.values[name], "told": told[listed.values[name]]}
        | {"address": listed.address(**{name: None, "page": None})}
        for name, told in names.items()
        if name in listed.values
    ]


def _show_drawer(request: StudioRequest, listed: ListQuery, memory_id: str) -> HttpResponseBase:
    context = _build_drawer(listed, memory_id)
    is_gone = "drawer_error" in context and request.htmx.trigger == DRAWER_LOADER
    if is_gone:
        # Whoever deleted the memory knows; the drawer closes.
        del context["drawer_error"]
    response = render_fragment(request, "studio/_memory_drawer_swap.html", context)
    if is_gone:
        response.headers["HX-Replace-Url"] = listed.address()
    return response


def _build_drawer(listed: ListQuery, memory_id: str) -> dict[str, Any]:
    if not memory_id:
        return {"listed": listed, "detail": None}
    try:
        detail = build_detail(memory_id, listed)
    except AppError as error:
        return {"listed": listed, "detail": None, "drawer_error": error.message}
    return {"listed": listed, "detail": detail, "detail_address": listed.address(id=memory_id)}


def _read_last_write() -> datetime | None:
    last = list_page(MemoryFilter(None), limit=1, offset=0, order="-updated").records
    return last[0].updated_at if last else None


def _count_rows(listed: ListQuery, total: int) -> dict[str, int]:
    return {"first": min(listed.offset + 1, total), "last": min(listed.offset + PAGE_ROWS, total)}


def _show_first_start(request: StudioRequest) -> HttpResponseBase:
    return render_page(
        request, "studio/memories_first.html", {"steps": build_steps(request), "changes": list_shown()}, place="memory"
    )
