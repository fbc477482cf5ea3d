"""The playground: what a chat would get for a query, and why. A dry run; nothing is sent to a model or counted."""

from typing import Any, cast

from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from core.errors import AppError
from memory.config import MemorySettings, load_settings
from studio.access import StudioRequest, staff_page
from studio.forms.playground import BUDGET_STEP_TOKENS, MAX_LIMIT, PlaygroundAsk, PlaygroundForm, PlaygroundStrategy
from studio.owners import list_owner_choices, name_owner
from studio.pages import render_page
from studio.views.playground_run import run_playground
from studio.views.playground_why import Named, explain_run, find_named


@require_safe
@staff_page
def show_page(request: StudioRequest) -> HttpResponseBase:
    """The whole page, also for htmx, which takes the results out of it: one address, one answer."""
    settings = load_settings()
    strategy = cast(PlaygroundStrategy, settings.strategy)
    form = PlaygroundForm(request.GET, strategy=strategy, budget_tokens=settings.max_tokens)
    ask = form.read_ask()
    context: dict[str, Any] = {
        "form": form,
        "ask": ask,
        "owners": list_owner_choices(form.data.get("key")),
        "step": BUDGET_STEP_TOKENS,
        "has_limit": form["limit"].value() != str(MAX_LIMIT),
        "tab": "playground",
        "is_memory_on": settings.enabled,
        "letters": [("a", "A"), ("b", "B")],
    }
    if ask is not None:
        context |= _run(ask, settings)
    status = 422 if form.errors else 200
    return render_page(request, "studio/playground.html", context, place="memory", status=status)


def _run(ask: PlaygroundAsk, settings: MemorySettings) -> dict[str, Any]:
    """Return what the results show; an error is shown in their place, and what was typed stays."""
    named = find_named(ask.explained, ask.owner) if ask.explained else Named(None, [])
    try:
        runs = run_playground(ask, retention_days=settings.retention_days, explained_id=named.id)
        owner_name = "" if ask.owner is None else name_owner(ask.owner)
        told = (explain_run(run, ask, retention_days=settings.retention_days, owner_name=owner_name) for run in runs)
        why = next((item for item in told if item is not None), None)
    except AppError as error:
        return {"failure": error.message}
    return {"runs": runs, "why": why, "named": named, "announcement": _announce([run.count for run in runs])}


def _announce(counts: list[int]) -> str:
    if len(counts) == 1:
        return ngettext("%(count)s result", "%(count)s results", counts[0]) % {"count": counts[0]}
    return _("A found {a} results, B found {b}.").format(a=counts[0], b=counts[1])
