"""The Engine page: how recall stands, and the forms that change it. The status is polled; the forms never are."""

import time
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from core.words import translate
from memory import qdrant_control, services
from memory.backends.states import list_backend_states
from memory.config import load_settings
from memory.engine_status import read_engine_status
from studio.access import StudioRequest, staff_page
from studio.forms.engine import (
    EmbeddingForm,
    QdrantForm,
    RerankForm,
    fill_embedding_form,
    fill_qdrant_form,
    fill_rerank_form,
)
from studio.pages import render_fragment, render_page
from studio.toasts import add_toast, add_warning
from studio.views.engine_cards import build_coverage, list_embedding_models, list_rerank_models, list_sources
from studio.views.engine_progress import Progress, measure_progress, read_mark
from studio.views.engine_rows import Overall, build_rows, judge_rows
from studio.wording import write_number

DIGEST_CHARS: Final = 10
SEPARATOR: Final = "."


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of the page that is swapped when it has changed; `digest` is that of its HTML."""

    template: str
    context: dict[str, Any]
    html: str
    digest: str


@require_safe
@staff_page
def show_page(request: StudioRequest) -> HttpResponseBase:
    return render_engine(request)


@require_safe
@staff_page
def show_status(request: StudioRequest) -> HttpResponseBase:
    """Answer the poll: the poller itself, which says when it looked, and those fragments that are not as shown."""
    seen = set(request.GET.get("seen", "").split(SEPARATOR))
    fragments, live = _build_fragments(request)
    changed = [
        render_to_string(item.template, {**item.context, "is_swap": True}, request)
        for item in fragments
        if item.digest not in seen
    ]
    return render_fragment(request, "studio/_engine_poll.html", {**live, "changed": changed})


@require_safe
@staff_page
def show_coverage(request: StudioRequest) -> HttpResponseBase:
    """Counts by key and by type, which the page asks for once it is there."""
    return render_fragment(request, "studio/_engine_coverage.html", build_coverage())


@require_POST
@staff_page
def start_reindex(request: StudioRequest) -> HttpResponseBase:
    """Have what waits indexed, with `force` every memory anew."""
    start = services.start_reindex(is_forced=request.POST.get("force") == "true")
    if start.reason is not None:
        add_warning(request, _("Reindexing can't start: {reason}.").format(reason=translate(start.reason)))
    elif start.pending:
        told = ngettext("Reindexing %(count)s memory", "Reindexing %(count)s memories", start.pending)
        add_toast(request, told % {"count": write_number(start.pending)})
    else:
        add_toast(request, _("Every memory has its vector already"))
    return go_to_engine("reindex")


def go_to_engine(anchor: str) -> HttpResponseRedirect:
    return HttpResponseRedirect(f"{reverse('studio:memory')}?tab=engine#{anchor}")


def render_engine(
    request: StudioRequest,
    *,
    embedding: EmbeddingForm | None = None,
    qdrant: QdrantForm | None = None,
    rerank: RerankForm | None = None,
    extra: dict[str, Any] | None = None,
    status: int = 200,
) -> HttpResponseBase:
    """Return the whole page, with the given forms as they were sent and the saved ones in place of the others."""
    settings = load_settings()
    fragments, live = _build_fragments(request)
    context = {
        **live,
        "tab": "engine",
        "overall_html": fragments[0].html,
        "row_htmls": [item.html for item in fragments[1:-2]],
        "reindex_html": fragments[-2].html,
        "verdict_html": fragments[-1].html,
        "embedding": embedding or fill_embedding_form(settings),
        "sources": list_sources(settings),
        "embedding_models": list_embedding_models(),
        "qdrant": qdrant or fill_qdrant_form(),
        "qdrant_saved": qdrant_control.read_public_settings(),
        "qdrant_models": qdrant_control.list_embedding_models(),
        "retention_days": settings.retention_days,
        "rerank": rerank or fill_rerank_form(settings),
        "rerank_models": list_rerank_models(),
        "backends": list_backend_states(),
        # Counts of the whole table come after the page; without script a link asks for them.
        **(build_coverage() if "coverage" in request.GET else {}),
        **(extra or {}),
    }
    return render_page(request, "studio/engine.html", context, place="memory", status=status)


def _build_fragments(request: HttpRequest) -> tuple[list[Fragment], dict[str, Any]]:
    """Return the pieces that a poll may swap, and what the poller itself says and asks next."""
    engine = read_engine_status()
    rows = build_rows(engine)
    overall = judge_rows(rows)
    progress = measure_progress(engine, read_mark(request.GET.get("mark", "")), time.time())
    pieces: list[tuple[str, dict[str, Any]]] = [("studio/_engine_overall.html", {"overall": overall})]
    pieces += [("studio/_engine_row.html", {"row": row}) for row in rows]
    pieces.append(("studio/_engine_reindex.html", {"progress": progress}))
    pieces.append(("studio/_engine_verdict.html", {"verdict": _tell_verdict(overall, progress)}))
    fragments = [_render(request, template, context) for template, context in pieces]
    live = {
        "seen": SEPARATOR.join(item.digest for item in fragments),
        "mark": progress.mark,
        "checked_at": timezone.now(),
        "qdrant_status": engine.qdrant,
        "qdrant_row": next(row for row in rows if row.id == "qdrant"),
    }
    return fragments, live


def _render(request: HttpRequest, template: str, context: dict[str, Any]) -> Fragment:
    html = render_to_string(template, context, request)
    # The form token differs from one rendering to the next.
    bare = render_to_string(template, context)
    return Fragment(template, context, html, sha256(bare.encode()).hexdigest()[:DIGEST_CHARS])


def _tell_verdict(overall: Overall, progress: Progress) -> str:
    """What is said aloud when it changes: the state, not each step of the progress."""
    told = [overall.text, *(f"{row.title}: {row.reason}" for row in overall.faults)]
    if progress.is_running:
        told.append(_("Reindexing"))
    return ". ".join(told)
