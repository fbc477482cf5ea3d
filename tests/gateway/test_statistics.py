"""Figures over time: by the operator's days, whatever the zone, and true to the rows."""

import statistics as reference
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from calls import make_call, write_calls
from django.utils import timezone

from gateway import statistics
from memory import services
from memory.models import Memory
from memory.records import MemoryDraft

pytestmark = pytest.mark.django_db
ZONES = ["UTC", "Asia/Kathmandu", "America/New_York", "Pacific/Kiritimati"]


def remember_at(moment: datetime, kind: Any = "factual") -> None:
    record = services.create(MemoryDraft("A", "", f"at {moment}", type=kind))
    Memory.objects.filter(uuid=record.id).update(created_at=moment)


@pytest.mark.parametrize("zone", ZONES)
def test_requests_fall_on_the_operators_days(zone: str) -> None:
    with timezone.override(ZoneInfo(zone)):
        midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
        moments = [midnight, midnight - timedelta(seconds=1), midnight - timedelta(days=1, seconds=1)]
        write_calls(*(make_call(arrived_at=moment.astimezone(UTC)) for moment in moments))
        days = statistics.measure_requests(3)
        assert [day.requests for day in days] == [1, 1, 1]
        assert [day.day for day in days] == [timezone.localdate() - timedelta(days=back) for back in (2, 1, 0)]


def test_a_day_tells_its_requests_tokens_and_failures() -> None:
    write_calls(
        make_call(carried=(("m", 0.5, 7), ("n", 0.4, 5)), memory_tokens=12),
        make_call(outcome="failed", status=502),
        make_call(arrived_at=timezone.now() - timedelta(days=40)),
    )
    *earlier, today = statistics.measure_requests(30)
    assert (today.requests, today.with_memories, today.failed, today.memory_tokens) == (2, 1, 1, 12)
    assert {day.requests for day in earlier} == {0} and len(earlier) == 29


@pytest.mark.parametrize("zone", ZONES)
def test_memories_grow_day_by_day_from_what_was_there_before(zone: str) -> None:
    now = timezone.now()
    with timezone.override(ZoneInfo(zone)):
        for back, kind in ((60, "factual"), (3, "semantic"), (3, "semantic"), (1, "episodic"), (0, "factual")):
            remember_at(now - timedelta(days=back), kind)
        growth = statistics.measure_memory_growth(5)
    assert [day.total for day in growth] == [1, 3, 3, 4, 5]
    assert growth[-1].by_type == {"factual": 2, "episodic": 1, "procedural": 0, "semantic": 2}


def test_latency_is_told_by_tier_at_the_rank_of_its_calls() -> None:
    times = {"fts5": [1.0, 2.0, 3.0, 4.0, 100.0], "qdrant": [7.5]}
    write_calls(*(make_call(tier=tier, retrieval_ms=value) for tier, values in times.items() for value in values))
    write_calls(make_call(tier="", retrieval_ms=None), make_call(arrived_at=timezone.now() - timedelta(days=9)))
    told = statistics.measure_latency(7).tiers
    assert [(item.tier, item.requests, item.p50_ms, item.p95_ms) for item in told] == [
        ("fts5", 5, 3.0, 100.0),
        ("qdrant", 1, 7.5, 7.5),
    ]


def test_percentiles_of_many_calls_are_those_of_the_sorted_list() -> None:
    times = [round(number**2 % 97 / 3, 1) for number in range(200)]
    write_calls(*(make_call(retrieval_ms=value) for value in times))
    [told] = statistics.measure_latency(7).tiers
    assert told.p50_ms == reference.median_low(times)
    assert told.p95_ms == sorted(times)[189]
    assert sum(Counter(times).values()) == told.requests


def test_the_cost_is_the_mean_over_calls_that_memory_was_on_for() -> None:
    assert statistics.measure_token_cost(7) == statistics.TokenCost(0, 0, None)
    write_calls(
        make_call(carried=(("m", 0.5, 7),), memory_tokens=30),
        make_call(),
        make_call(memory_state="off", retrieval_ms=None),
    )
    assert statistics.measure_token_cost(7) == statistics.TokenCost(2, 1, 15.0)


def test_figures_cost_a_query_or_two(django_assert_num_queries: Any) -> None:
    write_calls(*(make_call() for _ in range(20)))
    for measure, queries in (
        (statistics.measure_requests, 1),
        (statistics.measure_latency, 1),
        (statistics.measure_token_cost, 1),
        (statistics.measure_memory_growth, 2),
    ):
        with django_assert_num_queries(queries):
            measure(90)


def test_latency_is_told_for_each_day_and_tier_that_had_calls() -> None:
    yesterday = timezone.now() - timedelta(days=1)
    write_calls(*(make_call(tier="fts5", retrieval_ms=value, arrived_at=yesterday) for value in (1.0, 9.0)))
    write_calls(make_call(tier="qdrant", retrieval_ms=4.0))

    days = statistics.measure_latency(3).days

    assert [day.p95_ms for day in days] == [{}, {"fts5": 9.0}, {"qdrant": 4.0}]


def test_owners_are_ranked_by_their_calls_with_the_tokens_that_memories_added() -> None:
    write_calls(*(make_call(owner="a", memory_tokens=tokens) for tokens in (10, 20, 0)))
    write_calls(make_call(owner="b", memory_tokens=5))

    assert statistics.rank_owners(7, 1) == [statistics.OwnerCost("a", 3, 30)]
    assert statistics.measure_owner_costs(["b", "nobody"], 7) == {"b": statistics.OwnerCost("b", 1, 5)}
    assert statistics.OwnerCost("a", 3, 31).mean_tokens == 10.3
    assert statistics.OwnerCost("a", 0, 0).mean_tokens is None
