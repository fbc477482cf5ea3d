"""Filters, order and cursors of the list, through HTTP, and the rules of the selection beneath it."""

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_api import Api, fields_of

from core.errors import InvalidFieldsError
from memory.backends.manager import get_primary
from memory.models import Memory, MemoryUse
from memory.records import MEMORY_ORDERS, MemoryFilter

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def store(number: int, **fields: Any) -> None:
    Memory.objects.bulk_create(
        Memory(
            uuid=f"00000000-0000-4000-8000-{index:012}",
            api_key_id="A",
            key=f"k{index:03}",
            content=f"c{index}",
            type="factual",
            # Every third has the time of the one before: ids decide between them.
            created_at=NOW + timedelta(seconds=index - index % 3),
            updated_at=NOW - timedelta(seconds=index - index % 3),
            **fields,
        )
        for index in range(number)
    )


def list_keys(api: Api, **query: Any) -> list[str]:
    answer = api.get("/api/memory", query)
    assert answer.status_code == 200, answer.content
    return [memory["key"] for memory in answer.json()["data"]]


def walk(api: Api, **query: Any) -> list[str]:
    """The keys of every page, following cursors."""
    told = api.get("/api/memory", query).json()
    keys = [memory["key"] for memory in told["data"]]
    while told["nextCursor"] is not None:
        answer = api.get("/api/memory", {**query, "cursor": told["nextCursor"]})
        assert answer.status_code == 200, answer.content
        told = answer.json()
        assert set(told) == {"data", "limit", "nextCursor"}
        keys += [memory["key"] for memory in told["data"]]
    return keys


@pytest.mark.parametrize("order", MEMORY_ORDERS)
@pytest.mark.parametrize("limit", [1, 7, 20, 200])
def test_cursors_walk_through_every_memory_once_in_every_order(api: Api, order: str, limit: int) -> None:
    store(20)
    whole = list_keys(api, order=order, limit=200)
    assert len(set(whole)) == 20
    assert walk(api, order=order, limit=limit) == whole


@pytest.mark.parametrize("order", [order for order in MEMORY_ORDERS if not order.endswith("used")])
def test_an_order_is_the_one_that_was_asked_for(api: Api, order: str) -> None:
    store(9)
    told = api.get("/api/memory", {"order": order}).json()["data"]
    name = {"created": "createdAt", "updated": "updatedAt", "key": "key"}[order.removeprefix("-")]
    values = [(memory[name], memory["id"]) for memory in told]
    assert values == sorted(values, reverse=order.startswith("-"))


def test_a_cursor_neither_repeats_nor_passes_over_when_others_come_and_go(api: Api) -> None:
    store(12)
    first = api.get("/api/memory", {"limit": 4}).json()
    seen = [memory["key"] for memory in first["data"]]
    api.remember(key="new-first", content="came meanwhile")
    api.delete(f"/api/memory/{first['data'][1]['id']}")
    rest = []
    cursor = first["nextCursor"]
    while cursor:
        told = api.get("/api/memory", {"limit": 3, "cursor": cursor}).json()
        rest += [memory["key"] for memory in told["data"]]
        cursor = told["nextCursor"]
    assert sorted(seen + rest) == [f"k{index:03}" for index in range(12)]


def test_the_last_page_has_no_next_cursor_and_others_have_one(api: Api) -> None:
    store(4)
    assert api.get("/api/memory", {"limit": 4}).json()["nextCursor"] is None
    assert api.get("/api/memory", {"limit": 3}).json()["nextCursor"]
    assert api.get("/api/memory", {"limit": 3, "page": 2}).json()["nextCursor"] is None
    assert api.get("/api/memory", {"offset": 99}).json()["nextCursor"] is None


def test_a_cursor_keeps_to_the_filters_it_is_sent_with(api: Api) -> None:
    store(6)
    api.remember(key="b", apiKeyId="B")
    cursor = api.get("/api/memory", {"limit": 1}).json()["nextCursor"]
    assert list_keys(api, cursor=cursor, apiKeyId="B") == []
    assert list_keys(api, cursor=cursor, apiKeyId="A", q="c0") == ["k000"]


def write(*place: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "x", "===", "a b", "é", "x" * 4097, write(), write("-created"), write("-created", "2026-01-01", 1, 2),
        write("created", "2026-01-01T00:00:00+00:00", 1), write("-created", "yesterday", 1), write("-created", 5, 1),
        write("-created", None, 1), write("-created", "2026-01-01T00:00:00+00:00", "1"),
        write("-created", "2026-01-01T00:00:00+00:00", True), write("-created", "2026-01-01T00:00:00+00:00", 0),
        write("-created", "2026-01-01T00:00:00+00:00", 2**63), write("-created", "0001-01-01T00:00:00+23:00", 1),
        write("-key", "k", 1), base64.urlsafe_b64encode(b"[" * 3000).decode(),
    ],
)  # fmt: skip
def test_what_is_no_cursor_of_the_list_is_refused(api: Api, cursor: str) -> None:
    store(1)
    assert fields_of(api.get("/api/memory", {"cursor": cursor})) == {"cursor"}


def test_a_cursor_of_a_key_that_can_not_be_stored_is_refused(api: Api) -> None:
    assert fields_of(api.get("/api/memory", {"order": "key", "cursor": write("key", "\ud800", 1)})) == {"cursor"}


@settings(derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    place=st.lists(st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(MEMORY_ORDERS), max_size=4)
)
@pytest.mark.django_db
def test_no_made_up_cursor_is_more_than_refused(place: list[Any]) -> None:
    text = json.dumps(place).encode("utf-8", "surrogatepass")
    cursor = base64.urlsafe_b64encode(text).decode()
    for order in MEMORY_ORDERS:
        try:
            get_primary().scan(MemoryFilter("A"), limit=1, after=cursor, order=order)
        except InvalidFieldsError as error:
            assert [detail.field for detail in error.details] == ["cursor"]


# --- filters -----------------------------------------------------------------------------------------------


def test_memories_are_found_by_who_wrote_them(api: Api) -> None:
    api.remember(key="client")
    api.remember(key="null", metadata={"source": None})
    api.remember(key="blank", metadata={"source": ""})
    api.remember(key="user", metadata={"source": "user_message", "polarity": "negative"})
    api.remember(key="spaced", metadata={"source": " user_message "})
    assert set(list_keys(api, source="none")) == {"client", "null", "blank"}
    assert list_keys(api, source="user_message") == ["user"]
    assert list_keys(api, source="llm_response") == []
    assert list_keys(api, polarity="negative") == ["user"]
    assert list_keys(api, polarity="positive") == []
    assert fields_of(api.get("/api/memory?polarity=neutral")) == {"polarity"}


def test_memories_are_found_by_how_long_they_last(api: Api) -> None:
    now = timezone.now()
    api.remember(key="never")
    for key, days in (("past", -1), ("week", 6), ("month", 30)):
        api.remember(key=key, expiresAt=(now + timedelta(days=days)).isoformat())
    assert list_keys(api, expiry="never") == ["never"]
    assert set(list_keys(api, expiry="active")) == {"never", "week", "month"}
    assert list_keys(api, expiry="soon") == ["week"]
    assert list_keys(api, expiry="expired") == ["past"]
    assert fields_of(api.get("/api/memory?expiry=later")) == {"expiry"}


def test_memories_are_found_by_their_index_and_their_use(api: Api) -> None:
    first = api.remember(key="first")
    api.remember(key="second")
    Memory.objects.filter(uuid=first["id"]).update(needs_reindex=False)
    MemoryUse.objects.create(
        memory_uuid=first["id"], api_key_id="", count=1, last_injected_at=timezone.now(), last_request_id="r"
    )
    assert list_keys(api, indexed="true") == list_keys(api, used="true") == ["first"]
    assert list_keys(api, indexed="false") == list_keys(api, used="false") == ["second"]
    for value in ("1", "yes", "True", "null"):
        assert fields_of(api.get("/api/memory", {"indexed": value})) == {"indexed"}
        assert fields_of(api.get("/api/memory", {"used": value})) == {"used"}


def test_filters_narrow_together_and_the_counts_follow(api: Api) -> None:
    api.remember(key="a", type="episodic", metadata={"source": "user_message"})
    api.remember(key="b", metadata={"source": "user_message"})
    api.remember(key="c", type="episodic")
    told = api.get("/api/memory", {"source": "user_message", "type": "episodic", "expiry": "never"}).json()
    assert [memory["key"] for memory in told["data"]] == ["a"]
    assert (told["total"], told["stats"]["byType"]) == (1, {"episodic": 1})


@pytest.mark.parametrize("name", ["source", "polarity", "expiry", "indexed", "used", "order", "cursor"])
def test_rw_057_the_new_parameters_are_refused_when_given_twice_and_absent_when_empty(api: Api, name: str) -> None:
    store(1)
    assert fields_of(api.get(f"/api/memory?{name}=a&{name}=b")) == {name}
    assert fields_of(api.get(f"/api/memory?{name}[]=a")) == {name}
    assert list_keys(api, **{name: ""}) == ["k000"]


def test_an_unknown_order_is_refused(api: Api) -> None:
    for order in ("+created", "created_at", "-Created", "key,created", "random"):
        assert fields_of(api.get("/api/memory", {"order": order})) == {"order"}


@pytest.mark.django_db
def test_a_value_that_can_not_be_searched_for_never_means_everything() -> None:
    store(3)
    with pytest.raises(InvalidFieldsError):
        get_primary().list(MemoryFilter("A", category="a\0b"), limit=9, offset=0)
    with pytest.raises(InvalidFieldsError):
        get_primary().delete_matching(MemoryFilter("A", source="a\0b"))
    assert get_primary().count(MemoryFilter("A", session_id="")) == {"factual": 3}
    assert get_primary().count(MemoryFilter("A", session_id=" ")) == {}


@pytest.mark.django_db
def test_a_slice_asks_one_question_and_counts_nothing(django_assert_num_queries: Any) -> None:
    store(5)
    backend = get_primary()
    with django_assert_num_queries(1) as asked:
        found = backend.scan(MemoryFilter("A"), limit=2, after=None)
    assert "COUNT" not in asked.captured_queries[0]["sql"].upper()
    with django_assert_num_queries(1) as asked:
        backend.scan(MemoryFilter("A"), limit=2, after=found.next_cursor)
    assert "created_at" in asked.captured_queries[0]["sql"]
