"""Overview: what memory does, what it costs and what needs a look, at a glance."""

from dataclasses import dataclass
from typing import Final

from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from gateway.statistics import (
    LatencyReport,
    MemoryDay,
    OwnerCost,
    RequestDay,
    measure_latency,
    measure_memory_growth,
    measure_requests,
    rank_owners,
)
from memory.coverage import count_by_owner
from studio.access import StudioRequest, staff_page
from studio.owners import name_owners
from studio.pages import render_page
from studio.views.overview_charts import (
    build_growth_chart,
    build_latency_chart,
    build_token_chart,
    draw_spark,
)
from studio.views.overview_notices import list_notices
from studio.views.request_rows import tell_milliseconds
from studio.wire_words import name_word
from studio.wording import write_number, write_percent, write_short_number

PERIODS: Final = (7, 30, 90)
DEFAULT_PERIOD: Final = 30
WEEK_DAYS: Final = 7
OWNERS_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Figure:
    """`unit` follows the value, `note` makes it mean something; `spark` is the path of a small line, or ""."""

    name: str
    value: str
    unit: str
    note: str
    spark: str


@dataclass(frozen=True, slots=True)
class OwnerRow:
    owner: str
    name: str
    memories: int
    requests_a_day: str
    tokens_each: str


@require_safe
@staff_page
def show_page(request: StudioRequest) -> HttpResponseBase:
    days = _read_period(request)
    growth, requests = measure_memory_growth(days), measure_requests(days)
    latency = measure_latency(days)
    latency_chart = build_latency_chart(latency.days, [it.tier for it in latency.tiers])
    context = {
        "days": days,
        "periods": PERIODS,
        "figures": _list_figures(growth, requests, latency),
        "notices": list_notices(requests[-1]),
        "charts": [build_growth_chart(growth), build_token_chart(requests), latency_chart],
        "owners": _list_owners(rank_owners(days, OWNERS_SHOWN), days),
        "is_empty": not growth[-1].total and not any(day.requests for day in requests),
    }
    return render_page(request, "studio/overview.html", context, place="overview")


def _read_period(request: StudioRequest) -> int:
    text = request.GET.get("days", "")
    return int(text) if text in map(str, PERIODS) else DEFAULT_PERIOD


def _list_figures(growth: list[MemoryDay], requests: list[RequestDay], latency: LatencyReport) -> list[Figure]:
    return [_tell_memories(growth), _tell_share(requests), _tell_tokens(requests), _tell_search(latency)]


def _tell_memories(growth: list[MemoryDay]) -> Figure:
    totals = [day.total for day in growth]
    week = totals[-1] - totals[-WEEK_DAYS]
    note = _("{change} in {days} d").format(change=f"+{write_number(week)}", days=WEEK_DAYS)
    return Figure(_("Memories"), write_number(totals[-1]), "", note, draw_spark(totals))


def _tell_share(requests: list[RequestDay]) -> Figure:
    total, carrying = sum(day.requests for day in requests), sum(day.with_memories for day in requests)
    note = _("of {count} requests").format(count=write_short_number(total)) if total else _("no request yet")
    spark = draw_spark([day.with_memories for day in requests])
    return Figure(_("Requests with memories"), write_percent(carrying, total) or "–", "", note, spark)


def _tell_tokens(requests: list[RequestDay]) -> Figure:
    total, tokens = sum(day.requests for day in requests), sum(day.memory_tokens for day in requests)
    week = sum(day.memory_tokens for day in requests[-WEEK_DAYS:])
    told = {"today": write_short_number(requests[-1].memory_tokens), "week": write_short_number(week)}
    note = _("today {today}, in {days} d {week}").format(days=WEEK_DAYS, **told)
    value = write_number(round(tokens / total)) if total else "–"
    spark = draw_spark([day.memory_tokens for day in requests])
    return Figure(_("Tokens added"), value, _("a request") if total else "", note, spark)


def _tell_search(latency: LatencyReport) -> Figure:
    """Of the tier that most requests are answered by."""
    if not latency.tiers:
        return Figure(_("Search time"), "–", "", _("no search yet"), "")
    most = latency.tiers[0]
    note = _("{tier}; 95 % are faster than {p95}").format(tier=name_word(most.tier), p95=tell_milliseconds(most.p95_ms))
    spark = draw_spark([day.p95_ms[most.tier] for day in latency.days if most.tier in day.p95_ms])
    return Figure(_("Search time"), tell_milliseconds(most.p50_ms), _("median"), note, spark)


def _list_owners(costs: list[OwnerCost], days: int) -> list[OwnerRow]:
    owners = [cost.owner for cost in costs]
    names, memories = name_owners(owners), count_by_owner(owners)
    return [
        OwnerRow(
            owner=cost.owner,
            name=names[cost.owner],
            memories=memories.get(cost.owner, 0),
            requests_a_day=write_number(round(cost.requests / days, 1 if cost.requests < 10 * days else None)),
            tokens_each=write_number(round(cost.mean_tokens or 0)),
        )
        for cost in costs
    ]
