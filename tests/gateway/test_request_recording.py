"""The log of requests as it is written: calls, which memories they carried, and what they taught."""

from datetime import timedelta
from typing import Any

import pytest
from calls import NOON, carry, make_call, remember, write_calls
from django.db import OperationalError

from gateway import recording
from gateway.models import RequestLog
from gateway.recording import RequestRecorder
from memory import services, tasks, usage
from memory.models import RequestLink

pytestmark = pytest.mark.django_db


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


# --- uses and provenance ---
def test_uses_are_counted_and_the_last_one_wins_in_any_order() -> None:
    memory, unused = remember(), remember(key="unused")
    write_calls(make_call(request_id="late", arrived_at=NOON, **carry(memory)))
    write_calls(make_call(request_id="early", arrived_at=NOON - timedelta(hours=1), **carry(memory)))
    assert usage.read_uses([memory, unused]) == {memory: usage.MemoryUse(2, NOON, "late")}


def test_a_memory_tells_the_first_request_that_taught_it_and_the_last_ones_that_carried_it() -> None:
    memory = remember()
    assert usage.read_provenance(memory) == usage.Provenance()
    for hour in (3, 1, 2):
        usage.note_extraction(f"taught-{hour}", "A", memory, NOON + timedelta(hours=hour))
        usage.note_injections(f"carried-{hour}", "A", [memory], NOON + timedelta(hours=hour))
    told = usage.read_provenance(memory)
    assert (told.extracted_request_id, told.extracted_at) == ("taught-1", NOON + timedelta(hours=1))
    carried = usage.list_carrying_requests(memory, 2)
    assert [(request.request_id, request.at - NOON) for request in carried] == [
        ("carried-3", timedelta(hours=3)),
        ("carried-2", timedelta(hours=2)),
    ]


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
