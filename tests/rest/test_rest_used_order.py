"""Lists in the order of how often chats have carried a memory: exact, in pages and by cursors, and out of an index."""

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory import services, usage
from memory.backends import listing
from memory.backends.manager import get_primary
from memory.backends.narrowing import make_slice, sort_records
from memory.inspection import list_page
from memory.models import Memory, MemoryUse
from memory.records import MemoryDraft, MemoryFilter, MemoryOrder
from tests.rest.rest_api import Api, fields_of

NOW = datetime(2026, 6, 1, tzinfo=UTC)

pytestmark = pytest.mark.django_db


def remember(key: str, uses: int = 0, owner: str = "A", hours_ago: int = 0) -> str:
    record = services.create(MemoryDraft(owner, key, f"content of {key}"))
    for number in range(uses):
        usage.note_injections(f"{key}-{number}", owner, [record.id], NOW - timedelta(hours=hours_ago))
    return record.id


def list_keys(api: Api, **query: Any) -> list[str]:
    return [memory["key"] for memory in api.get("/api/memory", query).json()["data"]]


def test_the_most_used_come_first_and_among_equals_what_was_used_last(api: Api) -> None:
    for key, uses, hours_ago in (("a", 0, 0), ("b", 2, 5), ("c", 7, 9), ("d", 0, 0), ("e", 2, 1)):
        remember(key, uses, hours_ago=hours_ago)
    assert list_keys(api, order="-used") == ["c", "e", "b", "d", "a"]
    assert list_keys(api, order="used") == ["a", "d", "b", "e", "c"]
    assert list_keys(api, order="-used", used="true") == ["c", "e", "b"]
    assert list_keys(api, order="-used", used="false", limit=1) == ["d"]


def test_an_owner_sees_its_own_only(api: Api) -> None:
    remember("a", 1), remember("b", 3, owner="B"), remember("c", 0, owner="B")
    assert list_keys(api, order="-used", apiKeyId="B") == ["b", "c"]
    assert list_keys(api, order="-used", apiKeyId="A") == ["a"]
    assert list_keys(api, order="-used", q="content of c") == ["c"]


def test_counters_of_memories_that_are_gone_leave_no_gap(api: Api) -> None:
    gone = remember("gone", 9)
    remember("a", 3), remember("b", 1)
    services.delete(gone)
    assert list_keys(api, order="-used", limit=2) == ["a", "b"]


@settings(derandomize=True, max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    uses=st.lists(st.integers(0, 3), max_size=12),
    limit=st.integers(1, 5),
    order=st.sampled_from(["used", "-used"]),
)
def test_pages_and_cursors_walk_through_every_memory_once_in_one_order(
    uses: list[int], limit: int, order: MemoryOrder
) -> None:
    Memory.objects.all().delete()
    MemoryUse.objects.all().delete()
    for number, count in enumerate(uses):
        remember(f"k{number}", count, hours_ago=number % 2)
    filter, backend = MemoryFilter(None), get_primary()
    whole = [record.id for record in backend.list(filter, limit=200, offset=0, order=order).records]
    counts = [getattr(MemoryUse.objects.filter(memory_uuid=id).first(), "count", 0) for id in whole]
    assert counts == sorted(uses, reverse=order == "-used")
    paged = [list_page(filter, limit=limit, offset=start, order=order) for start in range(0, len(uses), limit)]
    assert [record.id for page in paged for record in page.records] == whole
    assert [page.has_more for page in paged] == [True] * (len(paged) - 1) + [False] * bool(paged)
    walked, cursor = list[str](), None
    while True:
        found = backend.scan(filter, limit=limit, after=cursor, order=order)
        walked += [record.id for record in found.records]
        cursor = found.next_cursor
        if cursor is None:
            break
    assert walked == whole


@pytest.mark.parametrize("order", ["used", "-used"])
def test_a_backend_without_an_index_gives_the_same_order_of_uses(order: MemoryOrder) -> None:
    for key, uses in (("a", 0), ("b", 2), ("c", 12), ("d", 3)):
        remember(key, uses)
    records = get_primary().list(MemoryFilter(None), limit=200, offset=0).records
    ordered = sort_records(records, order)
    assert [record.key for record in ordered] == ["a", "b", "d", "c"][:: -1 if order == "-used" else 1]
    first = make_slice(ordered, order, limit=2, after=None)
    second = make_slice(ordered, order, limit=2, after=first.next_cursor)
    assert [*first.records, *second.records] == ordered


@pytest.mark.parametrize("place", [[0, "", ""], [3, "yesterday", "x"], [True, "", ""], [-1, "", ""], 5, None, [1, 2]])
def test_made_up_cursors_are_refused(api: Api, place: Any, make_cursor: Callable[..., str]) -> None:
    remember("a", 1)
    if place == [0, "", ""]:  # the one that is sound
        assert list_keys(api, order="-used", cursor=make_cursor("-used", place, 1)) == []
    else:
        answer = api.get("/api/memory", {"order": "-used", "cursor": make_cursor("-used", place, 1)})
        assert fields_of(answer) == {"cursor"}
    assert fields_of(api.get("/api/memory", {"order": "used", "cursor": make_cursor("-used", place, 1)})) == {"cursor"}


@pytest.fixture
def make_cursor() -> Callable[..., str]:
    return lambda *place: base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


# --- what it costs ---
def explain(query: Any) -> str:
    return str(query.explain())


def test_the_order_is_read_out_of_the_index_of_counters_and_nothing_is_sorted() -> None:
    place = listing._Place(3, NOW, "x", 1)
    for filter in (MemoryFilter(None), MemoryFilter("A"), MemoryFilter(None, type="factual")):
        for is_descending in (True, False):
            for at in (None, place):
                told = explain(listing._select_used(filter, is_descending, at))
                assert "idx_memory_uses_count" in told, told
                assert "ORDER BY" not in told, told
            assert "ORDER BY" not in explain(listing._select_unused(MemoryFilter(None), is_descending, place))


@pytest.mark.parametrize("count", [3, 12])
def test_a_page_takes_as_many_queries_whatever_there_is(count: int) -> None:
    for number in range(count):
        remember(f"u{number}", 1 + number % 3)
        remember(f"n{number}")
    with CaptureQueriesContext(connection) as first:
        list_page(MemoryFilter(None), limit=2, offset=0, order="-used")
    assert len(first) == 3  # where memories are stored, the counters, their memories
    with CaptureQueriesContext(connection) as across:
        list_page(MemoryFilter(None), limit=4, offset=count - 1, order="-used")
    assert len(across) == 4  # and those without
    with CaptureQueriesContext(connection) as beyond:
        list_page(MemoryFilter(None), limit=1, offset=count + 1, order="-used")
    assert len(beyond) == 4  # the counters, how many those are, those without


# --- the studio ---
def test_the_column_of_the_list_is_sorted_by_a_link_that_turns_around() -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("operator"))
    remember("a", 1), remember("b", 5)
    page = client.get("/dashboard/memory").content.decode()
    assert 'href="/dashboard/memory?sort=-used"' in page
    sorted_page = client.get("/dashboard/memory?sort=-used").content.decode()
    assert sorted_page.index("content of b") < sorted_page.index("content of a")
    assert 'aria-sort="descending"' in sorted_page
    assert 'href="/dashboard/memory?sort=used"' in sorted_page
