"""Settings of memory and of the request log."""

from dataclasses import dataclass
from typing import Final

import structlog
from django.http import HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from core.accounts.keys import count_keys
from core.errors import FieldError, InvalidFieldsError
from core.providers.listing import count_providers
from gateway.request_settings import REQUEST_SECTION
from gateway.statistics import measure_token_cost
from memory import services
from memory.config import MEMORY_SECTION
from studio.access import StudioRequest, staff_page
from studio.forms.settings import Card, SettingsForm, load_form, read_form
from studio.forms.settings_words import MEASURED_QUESTIONS
from studio.pages import render_page
from studio.toasts import add_toast

COST_DAYS: Final = 7

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SettingsTabs:
    """Which tab is the current one, and how many entries the others list."""

    current: str
    providers: int
    keys: int


@dataclass(frozen=True, slots=True)
class MemoryCost:
    """What memory adds to a request: the measured mean of the last `days` days, None before there is one."""

    days: int
    requests: int
    mean_tokens: float | None
    tokens_a_day: int
    budget: int


@require_http_methods(["GET", "HEAD", "POST"])
@staff_page
def show_page(request: StudioRequest) -> HttpResponseBase:
    if request.method != "POST":
        return _render(request, load_form())
    form = read_form(request.POST)
    if not form.is_valid():
        return _render(request, form, status=422)
    try:
        _save(form)
    except InvalidFieldsError as error:
        form.errors += error.details
        return _render(request, form, status=422)
    add_toast(request, _tell_saved(form))
    return HttpResponseRedirect(reverse("studio:settings") + _find_anchor(form))


def build_tabs(current: str) -> SettingsTabs:
    return SettingsTabs(current, count_providers(), count_keys())


def _save(form: SettingsForm) -> None:
    memory = form.clean_changes(MEMORY_SECTION)
    requests = form.clean_changes(REQUEST_SECTION)
    if memory:
        services.change_settings(memory)
    if requests:
        REQUEST_SECTION.write(requests)
    log.info("studio.settings.changed", fields=sorted([*memory, *requests]))


def _find_anchor(form: SettingsForm) -> str:
    """Where the first change stands, so that whoever saves far down the page is not sent to its top."""
    changed = (card.group.id for card in form.list_cards() if any(row.name in form.changes for row in card.rows))
    first = next(changed, "")
    return f"#group-{first}" if first else ""


def _tell_saved(form: SettingsForm) -> str:
    if not form.changes:
        return _("Nothing was changed")
    if form.changes.get("enabled") is True:
        return _("Memory is on. It adds tokens to every chat")
    return _("Settings are saved")


def _render(request: StudioRequest, form: SettingsForm, *, status: int = 200) -> HttpResponseBase:
    cards = form.list_cards()
    context = {
        "form": form,
        "cards": cards,
        "tabs": build_tabs("memory"),
        "cost": _read_cost(form.was["maxTokens"] if form.errors else form.values["maxTokens"]),
        "measured_questions": MEASURED_QUESTIONS,
        "stray_errors": _list_stray_errors(form, cards),
    }
    return render_page(request, "studio/settings.html", context, place="settings", status=status)


def _list_stray_errors(form: SettingsForm, cards: list[Card]) -> list[FieldError]:
    """Return the errors that no field of the page shows."""
    rows = [row for card in cards for row in card.rows]
    told = {message for row in rows for message in row.errors}
    told |= {message for row in rows for card in row.backends for field in card.fields for message in field.errors}
    return [error for error in form.errors if error.message not in told]


def _read_cost(budget: int) -> MemoryCost:
    cost = measure_token_cost(COST_DAYS)
    a_day = round((cost.mean_tokens or 0) * cost.requests / COST_DAYS)
    return MemoryCost(COST_DAYS, cost.requests, cost.mean_tokens, a_day, budget)
