"""The log of requests forgets: with its days, with its hours for text, and when somebody is erased."""

from datetime import timedelta

import pytest
from calls import NOON, carry, make_call, remember, write_calls
from django.utils import timezone

from gateway.log_upkeep import RequestLogEraser, purge_requests
from gateway.models import RequestLog
from gateway.request_settings import REQUEST_SECTION
from memory import services, usage
from memory.models import MemoryUse, RequestLink
from memory.records import EraseScope

pytestmark = pytest.mark.django_db


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
