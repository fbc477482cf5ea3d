"""Figures over time for the overview: memories, requests and tokens a day, how long memory takes, by tier.

Days are those of the current time zone (`django.utils.timezone`), so each is given to SQL as a span of moments: an
index then answers it, whatever the zone.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from django.db import connection
from django.utils import timezone

from memory.records import MEMORY_TYPES, MemoryType

MAX_DAYS: Final = 366
_ADDED: Final = (
    "SELECT span.number, {sums} FROM span JOIN memories ON memories.created_at >= span.start "
    "AND memories.created_at < span.stop GROUP BY 1"
)

_OF_OWNERS: Final = (
    "SELECT api_key_id, COUNT(*), SUM(memory_tokens) FROM request_log WHERE created_at >= %s{narrowed} "
    "GROUP BY api_key_id"
)


@dataclass(frozen=True, slots=True)
class MemoryDay:
    """How many memories of each type there were at the end of a day, of those that are still there."""

    day: date
    by_type: Mapping[MemoryType, int]

    @property
    def total(self) -> int:
        return sum(self.by_type.values())


@dataclass(frozen=True, slots=True)
class RequestDay:
    """The chat calls of one day: how many, how many carried memories or failed, and what memories cost in tokens."""

    day: date
    requests: int
    with_memories: int
    failed: int
    memory_tokens: int


@dataclass(frozen=True, slots=True)
class TierLatency:
    """How long choosing memories took on a tier, in milliseconds, over `requests` calls."""

    tier: str
    requests: int
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class TokenCost:
    """What memory adds to a call: the mean over the `requests` that memory was on for, None when there are none."""

    requests: int
    with_memories: int
    mean_tokens: float | None


@dataclass(frozen=True, slots=True)
class LatencyDay:
    """How fast memories were chosen on a day: by tier, what 95 % of its calls stayed below, in milliseconds.

    A tier is left out of the days it answered nothing on.
    """

    day: date
    p95_ms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LatencyReport:
    """`tiers` are over all of the days, the most used first."""

    days: list[LatencyDay]
    tiers: list[TierLatency]


@dataclass(frozen=True, slots=True)
class OwnerCost:
    """The calls of one API key, and the tokens that memories added to them."""

    owner: str
    requests: int
    memory_tokens: int

    @property
    def mean_tokens(self) -> float | None:
        return round(self.memory_tokens / self.requests, 1) if self.requests else None


def measure_memory_growth(days: int) -> list[MemoryDay]:
    """Return the last `days` days, today last."""
    spans = _list_spans(days)
    sums = ", ".join(f"SUM(memories.type = '{kind}')" for kind in MEMORY_TYPES)
    rows = _ask_by_span(_ADDED.format(sums=sums), spans)
    added = {number: counts for number, *counts in rows}
    # Counted back from now: the index of types tells all of them at once, that of dates the few of a day.
    now = dict(_ask("SELECT type, COUNT(*) FROM memories GROUP BY type"))
    totals = [now.get(kind, 0) for kind in MEMORY_TYPES]
    growth = []
    for number in reversed(range(len(spans))):
        growth.append(MemoryDay(spans[number].day, dict(zip(MEMORY_TYPES, totals, strict=True))))
        totals = [total - count for total, count in zip(totals, added.get(number, [0] * len(totals)), strict=True)]
    return growth[::-1]


def measure_requests(days: int) -> list[RequestDay]:
    """Return the last `days` days, today last; days without a call have zeros."""
    spans = _list_spans(days)
    rows = _ask_by_span(
        "SELECT span.number, COUNT(*), SUM(log.memories_injected > 0), SUM(log.is_failed), SUM(log.memory_tokens) "
        "FROM span JOIN request_log AS log ON log.created_at >= span.start AND log.created_at < span.stop GROUP BY 1",
        spans,
    )
    figures = {number: values for number, *values in rows}
    return [RequestDay(span.day, *figures.get(number, (0, 0, 0, 0))) for number, span in enumerate(spans)]


def measure_latency(days: int) -> LatencyReport:
    """Return how long choosing memories took in the last `days` days, today last, and over all of them by tier."""
    spans = _list_spans(days)
    rows = _ask_by_span(
        "SELECT span.number, log.tier, log.retrieval_ms, COUNT(*) FROM span JOIN request_log AS log "
        "ON log.created_at >= span.start AND log.created_at < span.stop WHERE log.retrieval_ms IS NOT NULL "
        "GROUP BY 1, 2, 3 ORDER BY 1, 2, 3",
        spans,
    )
    by_day: list[dict[str, list[tuple[float, int]]]] = [{} for _ in spans]
    by_tier: dict[str, list[tuple[float, int]]] = {}
    for number, tier, milliseconds, count in rows:
        by_day[number].setdefault(tier, []).append((milliseconds, count))
        by_tier.setdefault(tier, []).append((milliseconds, count))
    tiers = [_summarise(tier, sorted(counts)) for tier, counts in by_tier.items()]
    return LatencyReport(
        days=[
            LatencyDay(span.day, {tier: _summarise(tier, counts).p95_ms for tier, counts in found.items()})
            for span, found in zip(spans, by_day, strict=True)
        ],
        tiers=sorted(tiers, key=lambda latency: (-latency.requests, latency.tier)),
    )


def measure_owner_costs(owners: Sequence[str], days: int) -> dict[str, OwnerCost]:
    """Return what the calls of each of the owners came to in the last `days` days; one without calls is left out."""
    return {cost.owner: cost for cost in _measure_owners(days, owners)}


def rank_owners(days: int, limit: int) -> list[OwnerCost]:
    """Return the owners with the most calls in the last `days` days, those first."""
    costs = sorted(_measure_owners(days), key=lambda cost: (-cost.requests, cost.owner))
    return costs[:limit]


def _measure_owners(days: int, owners: Sequence[str] | None = None) -> list[OwnerCost]:
    since = _write_moment(_list_spans(days)[0].start)
    narrowed = "" if owners is None else f" AND api_key_id IN ({','.join(['%s'] * len(owners))})"
    rows = _ask(_OF_OWNERS.format(narrowed=narrowed), [since, *(owners or ())])
    return [OwnerCost(owner, requests, tokens) for owner, requests, tokens in rows]


def measure_token_cost(days: int) -> TokenCost:
    """Return what memory added to calls of the last `days` days that it was on for."""
    since = _write_moment(_list_spans(days)[0].start)
    [(requests, with_memories, tokens)] = _ask(
        "SELECT COUNT(*), SUM(memories_injected > 0), SUM(memory_tokens) FROM request_log "
        "WHERE created_at >= %s AND retrieval_ms IS NOT NULL",
        [since],
    )
    return TokenCost(requests, with_memories or 0, round(tokens / requests, 1) if requests else None)


def count_calls(provider: str, days: int) -> int:
    """Return how many calls of the last `days` days went to the provider."""
    since = _write_moment(_list_spans(days)[0].start)
    statement = "SELECT COUNT(*) FROM request_log WHERE created_at >= %s AND provider = %s"
    return int(_ask(statement, [since, provider])[0][0])


@dataclass(frozen=True, slots=True)
class _Span:
    day: date
    start: datetime
    stop: datetime


def _list_spans(days: int) -> list[_Span]:
    """The days up to today, each from its midnight to the next: 23 or 25 hours where clocks change."""
    today = timezone.localdate()
    zone = timezone.get_current_timezone()
    dates = [today - timedelta(days=back) for back in range(min(max(days, 1), MAX_DAYS) - 1, -2, -1)]
    midnights = [datetime.combine(day, time.min, tzinfo=zone) for day in dates]
    return [_Span(day, start, stop) for day, start, stop in zip(dates[:-1], midnights[:-1], midnights[1:], strict=True)]


def _ask_by_span(statement: str, spans: Sequence[_Span]) -> list[Any]:
    rows = ",".join(["(%s, %s, %s)"] * len(spans))
    numbered: list[Any] = []
    for number, span in enumerate(spans):
        numbered += [number, _write_moment(span.start), _write_moment(span.stop)]
    return _ask(f"WITH span(number, start, stop) AS (VALUES {rows}) {statement}", numbered)


def _ask(statement: str, values: Sequence[Any] = ()) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def _write_moment(moment: datetime) -> str:
    return str(connection.ops.adapt_datetimefield_value(moment))


def _summarise(tier: str, counts: Sequence[tuple[float, int]]) -> TierLatency:
    """`counts` are (milliseconds, how often), in order."""
    running, total = [], 0
    for _, count in counts:
        total += count
        running.append(total)
    p50, p95 = (counts[bisect_left(running, share * total)][0] for share in (0.5, 0.95))
    return TierLatency(tier, total, p50, p95)
