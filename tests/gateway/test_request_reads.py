"""The log of requests as it is read: lists with their filters and pages, and one request with its memories."""

from datetime import timedelta
from typing import Any

import pytest
from calls import NOON, carry, make_call, remember, write_calls, write_many
from django.utils import timezone

from core.errors import InvalidFieldsError, NotFoundError
from gateway.models import RequestLog
from gateway.request_log import RequestFilter, count_requests, list_models, list_owners, list_requests, read_request
from memory import services, usage

pytestmark = pytest.mark.django_db


def ids_of(filter: RequestFilter, **page: Any) -> list[str]:
    return [item.row.request_id for item in list_requests(filter, **{"limit": 50, **page}).requests]


# --- lists ---
def test_pages_lead_to_every_request_once_and_back_again() -> None:
    ids = write_many(25, newest_at=NOON)
    seen, cursor = [], ""
    while True:
        page = list_requests(RequestFilter(), limit=10, older=cursor)
        seen.append([item.row.request_id for item in page.requests])
        if page.older_cursor is None:
            break
        cursor = page.older_cursor
    assert [request_id for page_ids in seen for request_id in page_ids] == ids[::-1]
    back = list_requests(RequestFilter(), limit=10, newer=page.newer_cursor or "")
    assert [item.row.request_id for item in back.requests] == seen[1]
    first = list_requests(RequestFilter(), limit=10, newer=back.newer_cursor or "")
    assert [item.row.request_id for item in first.requests] == seen[0]
    assert first.newer_cursor is None and first.older_cursor is not None


def test_requests_of_the_same_moment_are_paged_too() -> None:
    write_calls(*(make_call(arrived_at=NOON) for _ in range(5)))
    page = list_requests(RequestFilter(), limit=3)
    rest = list_requests(RequestFilter(), limit=3, older=page.older_cursor or "")
    assert len({item.row.pk for item in (*page.requests, *rest.requests)}) == 5


@pytest.mark.parametrize("cursor", ["x", "1_", "1e400_1", "nan_1", "12", "_", "9" * 400])
def test_a_cursor_that_is_none_of_ours_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidFieldsError):
        list_requests(RequestFilter(), limit=3, older=cursor)


def test_every_filter_narrows_the_list() -> None:
    memory, other = remember(), remember(key="coffee")
    calls = {
        "plain": make_call(session_id="alpha", arrived_at=NOON),
        "other": make_call(owner="B", key_name="b", model="x/y", arrived_at=NOON - timedelta(days=2)),
        "failed": make_call(status=502, outcome="failed"),
        "left": make_call(outcome="left"),
        "carried": make_call(**carry(memory)),
        "taught": make_call(),
    }
    write_calls(*calls.values())
    usage.note_extraction(calls["taught"].request_id, "A", other, timezone.now())
    named = {call.request_id: name for name, call in calls.items()}

    def find(**fields: Any) -> set[str]:
        filter = RequestFilter(**fields)
        found = {named[request_id] for request_id in ids_of(filter)}
        assert count_requests(filter) == len(found)
        return found

    assert find() == set(calls)
    assert find(owner="B") == find(model="x/y") == {"other"}
    assert find(status="errors") == find(status="failed") == {"failed"}
    assert find(status="left") == {"left"}
    assert find(memory="injected") == find(memory_id=memory) == {"carried"}
    assert find(memory="none") == set(calls) - {"carried"}
    assert find(memory="learned") == find(memory_id=other) == {"taught"}
    assert find(text="alp") == find(text=calls["plain"].request_id) == {"plain"}
    assert find(text="ALP") == find(text="%") == set()
    assert find(since=NOON - timedelta(days=1)) == set(calls) - {"other"}
    assert find(owner="A", memory="injected", status="errors") == set()


def test_filters_offer_what_the_log_has() -> None:
    write_calls(make_call(model="b/x"), make_call(model="a/x"), make_call(model="b/x"), make_call(model="", owner=""))
    write_calls(make_call(owner="Z", key_name="old"), make_call(owner="Z", key_name="Alpha", model="b/x"))
    assert list_models() == ["a/x", "b/x", "stub/m"]
    assert list_owners() == [("Z", "Alpha"), ("A", "app")]


def test_a_list_costs_two_queries_however_long_it_is(django_assert_num_queries: Any) -> None:
    memory = remember()
    write_many(200, newest_at=NOON, **carry(memory))
    for limit in (10, 100):
        with django_assert_num_queries(2):
            list_requests(RequestFilter(), limit=limit)


# --- one request ---
def test_a_request_tells_its_memories_in_order_as_they_are_now() -> None:
    kept, gone, fact = remember(key="kept"), remember(key="gone"), remember(key="fact")
    call = make_call(carried=((gone, 0.9, 3), (kept, 0.4, 5)), memory_tokens=8)
    write_calls(call)
    usage.note_extraction(call.request_id, "A", fact, timezone.now())
    usage.note_extraction(call.request_id, "A", fact, timezone.now())
    services.delete(gone)
    detail = read_request(call.request_id)
    assert [(item.memory.memory_id, item.score, item.tokens) for item in detail.carried] == [
        (gone, 0.9, 3),
        (kept, 0.4, 5),
    ]
    assert [item.memory.record is None for item in detail.carried] == [True, False]
    assert [item.memory_id for item in detail.learned] == [fact]
    assert (detail.request.facts_extracted, detail.twins) == (1, 0)


def test_a_request_costs_the_same_queries_with_one_memory_or_fifty(django_assert_num_queries: Any) -> None:
    ids = [remember(key=f"k{number}") for number in range(50)]
    one, many = make_call(**carry(ids[0])), make_call(**carry(*ids))
    write_calls(one, many)
    for call in (one, many):
        with django_assert_num_queries(4):
            assert len(read_request(call.request_id).carried) == len(call.carried)


def test_an_id_that_two_owners_gave_their_requests_shows_nobody_the_others_memories() -> None:
    mine, theirs = remember("A"), remember("B")
    write_calls(make_call(request_id="same", arrived_at=NOON, **carry(mine)))
    write_calls(make_call(request_id="same", owner="B", **carry(theirs)))
    newest = read_request("same")
    assert [item.memory.memory_id for item in newest.carried] == [theirs] and newest.twins == 1
    row = RequestLog.objects.get(api_key_id="A")
    assert [item.memory.memory_id for item in read_request("same", row_id=row.pk).carried] == [mine]


def test_a_request_that_the_log_does_not_have_is_not_found() -> None:
    write_calls(make_call(request_id="r"))
    for request_id, row_id in (("no", None), ("r", 0)):
        with pytest.raises(NotFoundError):
            read_request(request_id, row_id=row_id)
