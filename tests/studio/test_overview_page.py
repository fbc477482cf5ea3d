"""The overview: figures that are true, charts with the same figures as a table, what needs a look."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from core.accounts.keys import create_api_key
from gateway.models import RequestLog
from memory import services
from memory.models import Memory
from memory.records import MemoryDraft
from studio.views.overview_charts import MIN_POINTS, draw_spark
from tests.studio.page_text import read

PAGE = "/dashboard/overview"

pytestmark = pytest.mark.django_db


def remember(key, number, *, days_ago=0, type="factual"):
    record = services.create(MemoryDraft(key.id, f"k{number}", f"fact {number}", type))
    Memory.objects.owned_by(key.id).filter(uuid=record.id).update(created_at=timezone.now() - timedelta(days=days_ago))


def log_request(key, *, days_ago=0.0, tokens=0, tier="adaptive", milliseconds=2.0, **fields):
    values = {"status": 200, "outcome": "answered", "duration_ms": 9, "tier": tier, **fields}
    RequestLog.objects.create(
        request_id="r", created_at=timezone.now() - timedelta(days=days_ago), api_key_id=key.id, key_name=key.name,
        memory_tokens=tokens, memories_injected=1 if tokens else 0, retrieval_ms=milliseconds, **values,
    )  # fmt: skip


def read_charts(answer):
    found = re.findall(r'<script id="chart-(\w+)-data" type="application/json">(.*?)</script>', answer.content.decode())
    return {name: json.loads(text) for name, text in found}


@pytest.fixture
def key():
    return create_api_key("assistant")[0]


def test_before_anything_has_happened_the_page_tells_the_next_step(staff):
    page = read(staff.get(PAGE))

    assert "Nothing has happened yet" in page
    assert "/dashboard/settings/keys/new" in page
    assert "data-chart" not in page


def test_figures_are_those_of_the_time_that_was_asked_for(staff, key):
    for number in range(3):
        remember(key, number, days_ago=20 * number)
    log_request(key, tokens=90, milliseconds=4.0)
    log_request(key, tokens=0, milliseconds=4.0)
    log_request(key, tokens=300, days_ago=20, milliseconds=4.0)

    week, month = read(staff.get(PAGE, {"days": 7})), read(staff.get(PAGE))

    assert "<dd>3</dd>" in week
    assert "+1 in 7 d" in week
    assert "<dd>50.0 %</dd>" in week
    assert "<dd>45 <small>a request</small>" in week
    assert "today 90, in 7 d 90" in week
    assert "<dd>130 <small>a request</small>" in month
    assert "of 3 requests" in month
    assert "4.0 ms <small>median</small>" in week


def test_a_chart_begins_with_five_days_and_until_then_says_so(staff, key):
    remember(key, 1, days_ago=3)
    log_request(key, tokens=10)

    answer = staff.get(PAGE)

    assert read_charts(answer) == {}
    assert "A chart begins with five days. So far there are 4." in read(answer)
    assert "Show as table" in read(answer)


def test_each_chart_has_its_figures_as_a_table_a_summary_and_a_legend(staff, key):
    remember(key, 1, days_ago=6)
    remember(key, 2, days_ago=2, type="semantic")
    for days_ago in range(6):
        log_request(key, days_ago=days_ago, tokens=10 + days_ago, milliseconds=3.0)
        log_request(key, days_ago=days_ago, tier="fts5", milliseconds=8.0)

    answer = staff.get(PAGE, {"days": 7})

    charts, page = read_charts(answer), read(answer)
    assert set(charts) == {"growth", "tokens", "latency"}
    assert [series["label"] for series in charts["growth"]["series"]] == [
        "factual", "episodic", "procedural", "semantic",
    ]  # fmt: skip
    assert charts["growth"]["series"][0]["values"] == [1] * 7
    assert charts["growth"]["series"][3]["values"] == [0, 0, 0, 0, 1, 1, 1]
    assert charts["tokens"]["series"][0]["values"] == [0, 15, 14, 13, 12, 11, 10]
    assert {series["label"]: series["values"][-1] for series in charts["latency"]["series"]} == {
        "adaptive": 3.0, "fts5": 8.0,
    }  # fmt: skip
    assert len({tuple(series["dash"]) for series in charts["latency"]["series"]}) == 2
    assert page.count("Show as table") == 3
    assert 'aria-label="Memories by type over 7 days, from 1 to 2"' in page
    assert "8.0 ms</td>" in page
    assert " style=" not in page


def test_times_are_rounded_as_the_requests_are_and_the_search_has_its_line(staff, key):
    for days_ago in range(6):
        log_request(key, days_ago=days_ago, milliseconds=15.66146492469446 + days_ago)

    page = read(staff.get(PAGE))

    assert "<dd>18 ms <small>median</small>" in page
    assert "95 % are faster than 21 ms" in page
    assert ".66" not in re.sub(r"<script.*?</script>", "", page)
    assert page.count('class="spark"') >= 1


def test_days_are_the_operators_not_the_servers(staff, key):
    now = datetime.now(UTC)
    log_request(key, tokens=50)
    staff.cookies["studio_zone"] = "Pacific%2FKiritimati"  # fourteen hours ahead
    far_east = staff.get(PAGE).context["charts"][1].labels[-1]
    staff.cookies["studio_zone"] = "Etc%2FGMT%2B12"
    far_west = staff.get(PAGE).context["charts"][1].labels[-1]

    assert far_east == f"{(now + timedelta(hours=14)):%-d %b}"
    assert far_west == f"{(now - timedelta(hours=12)):%-d %b}"
    assert far_east != far_west


def test_what_needs_a_look_says_why_and_leads_there(staff, key):
    remember(key, 1)
    log_request(key, is_failed=True, status=502, outcome="failed")
    log_request(key)

    page = read(staff.get(PAGE))

    assert "Memory is off" in page
    assert "/dashboard/settings#group-use" in page
    assert "1 of 2 requests failed today." in page
    assert "/dashboard/requests?status=errors" in page
    assert "1 memory waits for its vector" in page


def test_the_busiest_keys_are_told_with_what_they_cost(staff, key):
    other, _ = create_api_key("<b>other</b>")
    remember(key, 1)
    for _ in range(3):
        log_request(key, tokens=30)
    log_request(other, tokens=8)

    page = staff.get(PAGE).content.decode()

    assert page.index("assistant</a>") < page.index("&lt;b&gt;other&lt;/b&gt;</a>")
    assert "30 each" in page
    assert f"/dashboard/memory?key={key.id}" in page


def test_an_address_that_asks_for_another_time_gets_the_usual_one(staff):
    for days in ("0", "-7", "9999999", "x", "7 OR 1=1"):
        assert staff.get(PAGE, {"days": days}).context["days"] == 30


def test_the_number_of_queries_does_not_grow_with_what_is_stored(staff, key):
    def count_queries():
        with CaptureQueriesContext(connection) as captured:
            assert staff.get(PAGE).status_code == 200
        return len(captured)

    remember(key, 0)
    log_request(key, tokens=5)
    of_little = count_queries()
    for number in range(1, 20):
        owner, _ = create_api_key(f"key {number}")
        remember(owner, number, days_ago=number)
        log_request(owner, days_ago=number, tokens=number, tier=f"tier {number}")

    assert count_queries() == of_little
    assert of_little <= 28


@given(st.lists(st.integers(0, 10**9), max_size=100))
def test_a_spark_stays_in_its_box_and_is_drawn_only_of_what_changes(values):
    path = draw_spark(values)

    if sum(map(bool, values)) < MIN_POINTS or len(set(values)) == 1:
        assert path == ""
        return
    points = [tuple(map(float, point.split(","))) for point in path.removeprefix("M").split()]
    assert len(points) == len(values)
    assert all(0 <= x <= 100 and 0 <= y <= 24 for x, y in points)
    assert points[values.index(max(values))][1] == 2
    assert points[values.index(min(values))][1] == 22
