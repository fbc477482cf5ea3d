"""The Qdrant card: save, try the connection with what is on the screen, search, clean up."""

import time
from dataclasses import dataclass, replace
from typing import Any, Final

from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from core.words import translate
from memory import qdrant_control
from qdrant_admin.config import QdrantSettings
from qdrant_admin.points import NOT_CONFIGURED, CollectionFacts, QdrantError, open_server
from studio.access import StudioRequest, staff_page
from studio.forms.engine import QdrantForm
from studio.pages import render_fragment, wants_fragment
from studio.toasts import add_toast, add_warning
from studio.views.engine import go_to_engine, render_engine
from studio.views.engine_tests import RERANK_QUERY
from studio.wording import write_number

ANCHOR: Final = "engine-config-qdrant"
RESULT: Final = "studio/_engine_qdrant_result.html"
MAX_QUERY_CHARS: Final = 2000
TOP_K: Final = 5


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """`facts` is None where the collection is not there yet."""

    error: str | None
    milliseconds: int = 0
    facts: CollectionFacts | None = None


@require_POST
@staff_page
def save(request: StudioRequest) -> HttpResponseBase:
    form = QdrantForm(request.POST)
    if not form.is_valid():
        return render_engine(request, qdrant=form, status=422)
    was_on = qdrant_control.read_public_settings().enabled
    qdrant_control.change_settings(form.list_changes())
    is_new = form.cleaned_data["enabled"] and not was_on
    told = _("Qdrant is on; all memories are being written there") if is_new else _("Saved")
    add_toast(request, told)
    return go_to_engine(ANCHOR)


@require_POST
@staff_page
def test_connection(request: StudioRequest) -> HttpResponseBase:
    form = QdrantForm(request.POST)
    context: dict[str, Any] = {}
    if form.is_valid():
        context["connection_test"] = try_connection(form.build_settings())
    return _answer(request, form, context)


@require_POST
@staff_page
def test_search(request: StudioRequest) -> HttpResponseBase:
    """Search what is saved: the collection has been filled with that, not with what is on the screen."""
    query = request.POST.get("query", "").strip()[:MAX_QUERY_CHARS] or RERANK_QUERY
    tested = qdrant_control.run_search_test(query, TOP_K)
    context = {"search_test": replace(tested, error=tested.error and _tell_fault(tested.error)), "query": query}
    return _answer(request, None, context)


@require_POST
@staff_page
def clean_up(request: StudioRequest) -> HttpResponseBase:
    done = qdrant_control.clean_up()
    if done.is_ok:
        told = ngettext(
            "Deleted %(count)s point from Qdrant that had expired or was older than %(days)s days",
            "Deleted %(count)s points from Qdrant that had expired or were older than %(days)s days",
            done.deleted_count,
        )
        add_toast(request, told % {"count": write_number(done.deleted_count), "days": done.retention_days})
    else:
        add_warning(request, _("Nothing was cleaned up: {reason}").format(reason=_tell_fault(done.error or "")))
    return go_to_engine(ANCHOR)


def try_connection(settings: QdrantSettings) -> ConnectionTest:
    """Ask the server and its collection, changing nothing. Uses the network; a failure is told, not raised."""
    started = time.perf_counter()
    try:
        server = open_server(settings)
        server.check_ready()
        milliseconds = round((time.perf_counter() - started) * 1000)
        return ConnectionTest(None, milliseconds, server.read_collection(settings.collection))
    except QdrantError as error:
        return ConnectionTest(_tell_fault(error.reason))


def _tell_fault(reason: str) -> str:
    return _("No host of Qdrant is set") if reason == NOT_CONFIGURED else translate(reason)


def _answer(request: StudioRequest, form: QdrantForm | None, context: dict[str, Any]) -> HttpResponseBase:
    if wants_fragment(request):
        return render_fragment(request, RESULT, {**context, "qdrant": form}, status=200 if context else 422)
    return render_engine(request, qdrant=form, extra=context, status=200 if context else 422)
