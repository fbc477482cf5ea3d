"""What every list of the admin keeps to: times of the operator, no storm of counts, the filter outlives an action."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.accounts.keys import create_api_key
from core.providers.models import Provider
from gateway.models import RequestLog
from memory.models import Memory

pytestmark = pytest.mark.django_db
MEMORIES = "/admin/memory/memory/"
LONG_LISTS = (MEMORIES, "/admin/gateway/requestlog/", "/admin/jobs/job/", "/admin/memory/compaction/")
# Hundreds of rows stand for hundreds of thousands: what grows with them shows as one query more.
MANY = 300


def fill_memories(count: int, owner: str = "A") -> None:
    first = Memory.objects.count()
    Memory.objects.bulk_create(
        Memory(uuid=f"u{number}", api_key_id=owner, key=f"k{number}", content=f"about tea {number}", type="factual")
        for number in range(first, first + count)
    )


def count_queries(act: Any) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        answer = act()
    assert answer.status_code == 200
    return [query["sql"] for query in captured.captured_queries]


# --- counts ---
@pytest.mark.parametrize("route", LONG_LISTS)
def test_no_link_counts_every_choice_of_every_filter(staff: Client, route: str) -> None:
    fill_memories(3)
    assert "Show counts" not in staff.get(route).content.decode()
    counts = [sql for sql in count_queries(lambda: staff.get(f"{route}?_facets=True")) if "CASE WHEN" in sql]
    assert counts == []


@pytest.mark.parametrize("query", ["", "q=tea", "source=client", "expiry=never&type__exact=factual", "o=-2", "p=2"])
def test_a_list_of_memories_reads_the_long_columns_of_one_page_only(staff: Client, query: str) -> None:
    fill_memories(MANY)
    reads = [sql for sql in count_queries(lambda: staff.get(f"{MEMORIES}?{query}")) if '."content"' in sql]
    assert len(reads) == 1 and " IN (" in reads[0], reads


@pytest.mark.parametrize("action", ["delete", "expire", "retype", "reindex"])
def test_asking_about_all_costs_the_same_however_many_they_are(staff: Client, action: str) -> None:
    form = {"action": f"{action}_selected", "select_across": "1"}

    def ask() -> Any:
        return staff.post(MEMORIES, {**form, "_selected_action": Memory.objects.values_list("pk", flat=True)[0]})

    fill_memories(60)
    few = count_queries(ask)
    fill_memories(MANY)
    many = count_queries(ask)
    assert len(many) == len(few) <= 16
    assert sum("COUNT(" in sql for sql in many) <= 1


@pytest.mark.parametrize("route", ["/admin/accounts/apikey/", "/admin/providers/provider/", "/admin/core/setting/"])
def test_short_lists_cost_the_same_with_more_rows(staff: Client, route: str) -> None:
    create_api_key("first")
    Provider.objects.create(name="p", base_url="http://127.0.0.1:1/v1")
    few = count_queries(lambda: staff.get(route))
    for number in range(30):
        create_api_key(f"key {number}")
        Provider.objects.create(name=f"p{number}", base_url="http://127.0.0.1:1/v1")
    assert len(count_queries(lambda: staff.get(route))) == len(few) <= 12


# --- what is asked before ---
def test_the_number_is_told_with_its_separator_and_the_way_back_keeps_the_filter(staff: Client) -> None:
    fill_memories(1200)
    fill_memories(1, owner="B")
    one = Memory.objects.filter(api_key_id="A")[0].pk
    form = {"action": "delete_selected", "_selected_action": one, "select_across": "1"}
    page = staff.post(f"{MEMORIES}?owner=A&type__exact=factual", form).content.decode()
    assert "This concerns 1,200 memories." in page
    assert 'name="told_count" value="1200"' in page
    assert "and 1,190 more" in page
    assert f'href="{MEMORIES}?owner=A&amp;type__exact=factual"' in page


# --- times ---
def test_times_are_those_of_the_operators_zone_on_every_page(staff: Client) -> None:
    staff.cookies["studio_zone"] = "Asia%2FTokyo"
    at = datetime(2026, 1, 2, 20, 30, tzinfo=UTC)
    fill_memories(1)
    Memory.objects.update(updated_at=at, created_at=at)
    log = RequestLog.objects.create(
        request_id="r", created_at=at, status=200, outcome="answered", duration_ms=1, api_key_id="A"
    )
    row = Memory.objects.get()
    for route in (MEMORIES, f"{MEMORIES}{row.pk}/change/", f"/admin/gateway/requestlog/{log.pk}/change/"):
        page = staff.get(route).content.decode()
        assert "Jan. 3, 2026, 5:30 a.m." in page, route
        assert "Asia/Tokyo" in page
    assert timezone.get_current_timezone_name() == "UTC"


def test_a_zone_that_is_none_leaves_the_servers(staff: Client) -> None:
    staff.cookies["studio_zone"] = "../../etc/passwd"
    assert "Times are those of UTC" in staff.get("/admin/").content.decode()


def test_a_browser_that_only_knows_the_admin_tells_its_zone_too(staff: Client) -> None:
    for page in (staff.get("/admin/"), Client().get("/admin/login/")):
        assert "studio/zone.js" in page.content.decode()


def test_every_list_is_here() -> None:
    names = {f"/admin/{model._meta.app_label}/{model._meta.model_name}/" for model in admin.site._registry}
    assert {*LONG_LISTS, "/admin/accounts/apikey/", "/admin/providers/provider/", "/admin/core/setting/"} <= names
