"""The log of requests as it is written, read, forgotten and erased; without a server."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from calls import make_call, write_calls, write_many
from django.db import OperationalError
from django.utils import timezone

from core.errors import InvalidFieldsError, NotFoundError
from gateway import recording
from gateway.log_upkeep import RequestLogEraser, purge_requests
from gateway.models import RequestLog
from gateway.recording import RequestRecorder
from gateway.request_log import (
    RequestFilter,
    count_requests,
    list_models,
    list_owners,
    list_requests,
    read_request,
)
from gateway.request_settings import REQUEST_SECTION
from memory import services, tasks, usage
from memory.models import MemoryUse, RequestLink
from memory.records import EraseScope, MemoryDraft

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def remember(owner: str = "A", session: str = "s", key: str = "tea") -> str:
    return services.create(MemoryDraft(owner, key, f"likes {key}", session_id=session)).id


def carry(*memory_ids: str) -> dict[str, Any]:
    return {"carried": tuple((memory_id, 0.5, 7) for memory_id in memory_ids), "memory_tokens": 7 * len(memory_ids)}


def ids_of(filter: RequestFilter, **page: Any) -> list[str]:
    return [item.row.request_id for item in list_requests(filter, **{"limit": 50, **page}).requests]


# --- writing ---
def test_calls_that_the_database_would_not_have_are_written_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(calls: Any) -> None:
        raise OperationalError("database is locked")

    recorder, call = RequestRecorder(), make_call()
    recorder.note(call)
    with monkeypatch.context() as busy:
        busy.setattr(recording, "_write_calls", refuse)
        assert recorder.flush() is False
    assert recorder.flush() is True
    assert recorder.flush() is True
    assert [row.request_id for row in RequestLog.objects.all()] == [call.request_id]


def test_a_call_that_can_never_be_written_does_not_hold_up_those_after_it() -> None:
    recorder = RequestRecorder()
    recorder.note(make_call(duration_ms=None))
    assert recorder.flush() is True
    recorder.note(make_call())
    assert recorder.flush() is True
    assert RequestLog.objects.count() == 1


def test_what_waits_for_the_database_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MAX_WAITING_TEXTS", 2)
    recorder = RequestRecorder()
    for number in range(recording.MAX_WAITING_CALLS + 3):
        recorder.note(make_call(request_id=f"r{number}", user_text="said"))
    assert recorder.flush()
    assert RequestLog.objects.count() == recording.MAX_WAITING_CALLS
    assert not RequestLog.objects.filter(request_id="r0").exists()
    assert RequestLog.objects.exclude(user_text="").count() == 0


def test_strangers_can_not_fill_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MAX_UNKNOWN_A_MINUTE", 5)
    recorder = RequestRecorder()
    monkeypatch.setattr(recording.time, "monotonic", lambda: 61.0)
    for _ in range(9):
        recorder.note(make_call(owner="", status=401))
    recorder.note(make_call())
    monkeypatch.setattr(recording.time, "monotonic", lambda: 125.0)
    recorder.note(make_call(owner="", status=401))
    assert recorder.flush()
    assert RequestLog.objects.filter(api_key_id="").count() == 6
    assert RequestLog.objects.filter(api_key_id="A").count() == 1


def test_names_that_callers_chose_are_cut_to_what_the_log_holds() -> None:
    write_calls(make_call(model="m" * 900, session_id="s" * 900, error_message="e\0" * 900))
    [row] = RequestLog.objects.all()
    assert (len(row.model), len(row.session_id), len(row.error_message)) == (256, 256, 500)
    assert "\0" not in row.error_message


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


# --- uses and provenance ---
def test_uses_are_counted_and_the_last_one_wins_in_any_order() -> None:
    memory, unused = remember(), remember(key="unused")
    write_calls(make_call(request_id="late", arrived_at=NOON, **carry(memory)))
    write_calls(make_call(request_id="early", arrived_at=NOON - timedelta(hours=1), **carry(memory)))
    assert usage.read_uses([memory, unused]) == {memory: usage.MemoryUse(2, NOON, "late")}


def test_provenance_is_the_first_request_that_taught_a_memory_and_the_last_that_carried_it() -> None:
    memory = remember()
    assert usage.read_provenance(memory) == usage.Provenance()
    for hour in (3, 1, 2):
        usage.note_extraction(f"taught-{hour}", "A", memory, NOON + timedelta(hours=hour))
        usage.note_injections(f"carried-{hour}", "A", [memory], NOON + timedelta(hours=hour))
    told = usage.read_provenance(memory)
    assert (told.extracted_request_id, told.extracted_at) == ("taught-1", NOON + timedelta(hours=1))
    assert (told.injected_request_id, told.injected_at) == ("carried-3", NOON + timedelta(hours=3))


def exchange(**fields: Any) -> dict[str, Any]:
    services.change_settings({"enabled": True})
    plain = {"owner": "A", "sessionId": "s", "assistantText": "", "injected": [], "saidAt": NOON.isoformat()}
    return {**plain, "userText": "I prefer green tea.", **fields}


def test_a_job_links_its_request_with_the_facts_it_took_out_however_often_it_runs() -> None:
    for _ in range(2):
        tasks.extract_exchange(exchange(requestId="r1"))
    [link] = RequestLink.objects.all()
    assert (link.request_id, link.kind, link.api_key_id, link.created_at) == ("r1", "extracted", "A", NOON)


def test_a_job_that_an_older_version_queued_still_works() -> None:
    tasks.extract_exchange(exchange())
    assert services.get_primary().find_by_key("A", "preference:green_tea") is not None
    assert not RequestLink.objects.exists()


# --- forgetting ---
def test_requests_are_forgotten_with_their_links_when_their_days_are_over() -> None:
    memory, gone = remember(), remember(key="gone")
    now = timezone.now()
    for request_id, days in (("old", 15), ("new", 13)):
        write_calls(make_call(request_id=request_id, arrived_at=now - timedelta(days=days), **carry(memory, gone)))
    write_calls(make_call(request_id="other", arrived_at=now - timedelta(days=40), **carry(remember(key="x"))))
    purge_requests({})
    assert [row.request_id for row in RequestLog.objects.all()] == ["new"]
    assert set(RequestLink.objects.values_list("request_id", flat=True)) == {"new"}
    assert usage.read_uses([memory])[memory].count == 2
    REQUEST_SECTION.write({"requestLogDays": 12})
    services.delete(gone)
    purge_requests({})
    assert not RequestLog.objects.exists() and not RequestLink.objects.exists()
    assert MemoryUse.objects.filter(memory_uuid=memory).exists()
    assert not MemoryUse.objects.filter(memory_uuid=gone).exists()


def test_kept_text_is_erased_after_its_hours_and_the_rest_stays() -> None:
    now = timezone.now()
    write_calls(
        make_call(request_id="old", arrived_at=now - timedelta(hours=25), user_text="said", answer_text="answered"),
        make_call(request_id="new", arrived_at=now - timedelta(hours=23), user_text="said"),
    )
    purge_requests({})
    assert dict(RequestLog.objects.values_list("request_id", "user_text")) == {"old": "", "new": "said"}
    assert not RequestLog.objects.exclude(answer_text="").exists()


@pytest.mark.parametrize("session", [None, "s1"])
def test_erasing_takes_all_of_a_key_or_of_its_session_and_nothing_else(session: str | None) -> None:
    mine, mine_too, theirs = remember("A", "s1"), remember("A", "s2", key="b"), remember("B", "s1")
    write_calls(
        make_call(request_id="a1", session_id="s1", user_text="said", **carry(mine)),
        make_call(request_id="a2", session_id="s2", **carry(mine_too)),
        make_call(request_id="b1", owner="B", session_id="s1", **carry(theirs)),
    )
    usage.note_extraction("a1", "A", mine, NOON)
    eraser, scope = RequestLogEraser(), EraseScope("A", session)
    counted = eraser.count(scope)
    assert eraser.erase(scope) == counted > 0
    assert eraser.count(scope) == 0
    left = {"b1"} if session is None else {"a2", "b1"}
    assert set(RequestLog.objects.values_list("request_id", flat=True)) == left
    assert set(RequestLink.objects.values_list("request_id", flat=True)) == left
    assert set(MemoryUse.objects.values_list("memory_uuid", flat=True)) == (
        {theirs} if session is None else {theirs, mine_too}
    )


def test_erasing_a_session_takes_its_counters_after_its_memories_are_gone_too() -> None:
    memory = remember("A", "s1")
    write_calls(make_call(session_id="s1", **carry(memory)))
    services.delete(memory)
    RequestLogEraser().erase(EraseScope("A", "s1"))
    assert not MemoryUse.objects.exists() and not RequestLink.objects.exists()
