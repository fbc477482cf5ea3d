"""What needs a look: parts of recall that do less than they could, and requests that failed."""

from dataclasses import dataclass
from typing import Final

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from gateway.statistics import RequestDay
from memory.config import load_settings
from memory.engine_status import EngineStatus, read_engine_status
from studio.views.engine_rows import RowVerdict, build_rows, judge_rows
from studio.wording import write_number

SETTINGS_ANCHOR: Final = "#group-use"


@dataclass(frozen=True, slots=True)
class Notice:
    """`address` is where something can be done about it, "" for what is well."""

    verdict: RowVerdict
    what: str
    reason: str
    address: str
    action: str


def list_notices(today: RequestDay) -> list[Notice]:
    """Return what needs a look, the worst first; empty when all is well."""
    engine = f"{reverse('studio:memory')}?tab=engine"
    notices = [*_judge_switches(), *_judge_engine(read_engine_status(), engine), *_judge_requests(today)]
    order = ("bad", "warn", "off", "ok")
    return sorted(notices, key=lambda notice: order.index(notice.verdict))


def _judge_switches() -> list[Notice]:
    settings = load_settings()
    if settings.enabled and settings.injects:
        return []
    told = _("No chat is given memories, and nothing is learned.")
    if settings.enabled:
        told = _("Nothing is injected: the switch for it is off, or the token budget is 0.")
    address = reverse("studio:settings") + SETTINGS_ANCHOR
    return [Notice("off", _("Memory is off") if not settings.enabled else _("Injection"), told, address, _("Settings"))]


def _judge_engine(status: EngineStatus, address: str) -> list[Notice]:
    notices = [
        Notice(row.verdict, row.title, row.reason, f"{address}#{row.anchor}", _("Open"))
        for row in judge_rows(build_rows(status)).faults
    ]
    pending = status.indexing.backlog.pending
    if pending:
        told = ngettext(
            "%(count)s memory waits for its vector; until then it is found by its words only.",
            "%(count)s memories wait for their vectors; until then they are found by their words only.",
            pending,
        )
        notices.append(
            Notice("off", _("Waiting for index"), told % {"count": write_number(pending)}, address, _("Open"))
        )
    return notices


def _judge_requests(today: RequestDay) -> list[Notice]:
    if not today.failed:
        return []
    told = ngettext(
        "%(failed)s of %(count)s request failed today.",
        "%(failed)s of %(count)s requests failed today.",
        today.requests,
    )
    figures = {"failed": write_number(today.failed), "count": write_number(today.requests)}
    address = f"{reverse('studio:requests')}?status=errors"
    return [Notice("warn", _("Failed requests"), told % figures, address, _("Show them"))]
