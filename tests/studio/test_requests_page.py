"""The Requests page: what a call did, why, and the way to its memories and back."""

import re
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gateway.models import RequestLog
from gateway.request_settings import REQUEST_SECTION
from memory import services, usage
from memory.models import RequestLink
from memory.records import MemoryDraft

pytestmark = pytest.mark.django_db
PAGE = "/dashboard/requests"
HOSTILE = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "{{7*7}}", '" onmouseover="alert(1)']


def remember(key: str = "tea", content: str = "likes tea", **fields: Any) -> str:
    return services.create(MemoryDraft("A", key, content, **fields)).id


def log(*carried: str, **fields: Any) -> RequestLog:
    """A call of the owner "A" that carried these memories."""
    plain: dict[str, Any] = {
        "request_id": uuid.uuid4().hex,
        "created_at": timezone.now(),
        "api_key_id": "A",
        "key_name": "billing",
        "model": "openai/gpt-4o-mini",
        "status": 200,
        "outcome": "answered",
        "duration_ms": 1840.0,
        "memory_state": "on",
        "memories_injected": len(carried),
        "memory_tokens": 85 if carried else 0,
        "retrieval_ms": 14.0,
        "memory_ms": 18.0,
        "carried": [[memory_id, 0.91, 7] for memory_id in carried],
    }
    row = RequestLog.objects.create(**{**plain, **fields})
    usage.note_injections(row.request_id, row.api_key_id, carried, row.created_at)
    return row


def read(staff: Client, address: str = PAGE, **query: Any) -> str:
    answer = staff.get(address, query)
    assert answer.status_code == 200, answer.content
    # Without the spaces that layout puts between words.
    return re.sub(r"\s+", " ", answer.content.decode())


def test_a_first_look_says_how_a_request_gets_here(staff: Client) -> None:
    page = read(staff)
    assert "No request has come through yet" in page
    assert "http://testserver/v1/chat/completions" in page


def test_a_call_is_told_in_one_line(staff: Client) -> None:
    log(remember(), remember("coffee"))
    page = read(staff)
    for told in ("billing", "openai/gpt-4o-mini", ">200<", "1.84 s", "18 ms", "2 in, +85 tokens", "1 of 1 request"):
        assert told in page, told


def test_a_failure_says_what_happened(staff: Client) -> None:
    log(status=429, outcome="refused", is_failed=True, error_message="The provider limits the rate, retry after 20 s")
    log(outcome="left", status=200)
    log(outcome="broken", status=200, is_failed=True, error_message="The provider broke the connection off")
    log(status=401, outcome="refused", is_failed=True, api_key_id="", key_name="", error_code="invalid_api_key")
    log(status=404, outcome="refused", is_failed=True, error_message="x" * 400)
    log(memory_state="opted_out")
    page = read(staff)
    assert "The provider limits the rate, retry after 20 s" in page
    assert "· client left" in page
    assert "The provider broke the connection off" in page
    # The column of the status holds three digits; words would be cut off there.
    assert page.count(">200</span>") == 3
    assert "unknown API key" in page and "no API key" not in page
    assert "x" * 141 not in page
    assert "opted out of memory" in page


def test_an_open_request_shows_its_memories_and_facts_with_ways_to_them(staff: Client) -> None:
    kept, gone, fact = remember("kept"), remember("gone"), remember("learned", type="semantic")
    row = log(kept, gone, tier="hybrid-rrf", strategy="hybrid", fallback_reason="Qdrant does not answer")
    usage.note_extraction(row.request_id, "A", fact, timezone.now())
    services.delete(gone)
    for page in (read(staff, open=row.pk), read(staff, f"{PAGE}/{row.request_id}")):
        assert f'href="/dashboard/memory?id={kept}"' in page
        assert f'href="/dashboard/memory?id={fact}"' in page
        assert f'href="/dashboard/memory?id={gone}"' not in page
        assert "deleted since" in page
        assert "0.91 · 7 tokens" in page
        assert "18 ms (search 14 ms)" in page
        assert "Qdrant does not answer" in page


def test_many_memories_are_folded_and_a_score_of_none_is_told_in_a_word(staff: Client) -> None:
    ids = [remember(f"k{number}") for number in range(23)]
    row = log(*ids, carried=[[memory_id, 0, 7] for memory_id in ids])
    page = read(staff, open=row.pk)
    assert "3 more that went in" in page
    assert all(f'href="/dashboard/memory?id={memory_id}"' in page for memory_id in ids)
    assert page.count("newest · 7 tokens") == 23 and "0.0000" not in page


def test_a_chat_that_took_the_newest_is_replayed_so(staff: Client) -> None:
    row = log(strategy="exact")  # how the log tells of chats set to "recent"
    assert "&amp;a=recent" in staff.get(PAGE, {"open": row.pk}).content.decode()


def test_a_memory_leads_to_the_requests_that_carried_or_taught_it(staff: Client) -> None:
    memory = remember()
    carried, taught, other = log(memory), log(), log()
    usage.note_extraction(taught.request_id, "A", memory, timezone.now())
    page = read(staff, memory=memory)
    assert "2 of 2 requests" in page
    assert f"request-{carried.pk}" in page and f"request-{taught.pk}" in page
    assert f"request-{other.pk}" not in page


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"q": "sess"}, {"a"}),
        ({"status": "errors"}, {"b"}),
        ({"model": "x/y"}, {"c"}),
        ({"key": "B"}, {"c"}),
        ({"use": "injected"}, {"a"}),
        ({"use": "none", "status": "answered"}, {"c"}),
        ({"since": "1h"}, {"a", "b"}),
        ({"status": "nonsense", "since": "x", "use": "x", "open": "x", "live": "x"}, {"a", "b", "c"}),
    ],
)
def test_filters_stand_in_the_address(staff: Client, query: dict[str, str], found: set[str]) -> None:
    rows = {
        "a": log(remember(), session_id="session-1"),
        "b": log(status=502, outcome="failed", is_failed=True),
        "c": log(api_key_id="B", model="x/y", created_at=timezone.now() - timedelta(hours=2)),
    }
    page = read(staff, **query)
    assert {name for name, row in rows.items() if f"request-{row.pk}" in page} == found


def test_pages_lead_on_and_back_and_keep_the_filter(staff: Client) -> None:
    for number in range(55):
        log(created_at=timezone.now() - timedelta(seconds=number), request_id=f"r{number:02}")
    first = read(staff, use="none")
    older = re.search(r'id="requests-older".*?href="([^"]+)"', first)
    assert older is not None and "use=none" in older[1]
    second = re.sub(r"\s+", " ", staff.get(PAGE + older[1].replace("&amp;", "&")).content.decode())
    assert second.count('class="num plain"') == 5
    newer = re.search(r'id="requests-newer".*?href="([^"]+)"', second)
    assert newer is not None
    assert staff.get(PAGE + newer[1].replace("&amp;", "&")).content.decode().count('class="num plain"') == 50


def test_nothing_found_says_so_and_offers_the_way_out(staff: Client) -> None:
    log()
    page = read(staff, q="nothing")
    assert "No request matches" in page and "Clear filters" in page


def test_a_request_that_is_forgotten_is_not_found(staff: Client) -> None:
    assert staff.get(f"{PAGE}/no-such-request").status_code == 404
    assert "No request has come through yet" in read(staff, open=12345)


def test_a_cursor_of_somebody_elses_making_is_refused(staff: Client) -> None:
    assert staff.get(PAGE, {"older": "nonsense"}).status_code == 400


def test_times_are_those_of_the_operators_zone(staff: Client) -> None:
    staff.cookies["studio_zone"] = "Asia/Tokyo"
    row = log(created_at=datetime(2026, 1, 2, 20, 30, 5, tzinfo=UTC))
    assert "3 Jan, 05:30:05" in read(staff)
    assert "3 Jan 2026, 05:30:05 (Asia/Tokyo)" in read(staff, f"{PAGE}/{row.request_id}")


def test_the_page_says_whether_text_is_kept_and_shows_what_is(staff: Client) -> None:
    row = log(user_text="what was said", answer_text="what came back")
    assert "what people wrote is not" in read(staff)
    REQUEST_SECTION.write({"requestLogText": True, "requestLogTextHours": 6})
    page = read(staff, open=row.pk)
    assert "erased after 6 hours" in page
    assert "what was said" in page and "what came back" in page
    assert "Replay in playground" in page and "q=what%20was%20said" in page


def test_live_renews_the_first_page_only(staff: Client) -> None:
    row = log()
    assert 'hx-trigger="every 5s"' in read(staff, live="1")
    assert 'hx-trigger="every 5s"' not in read(staff)
    cursor = f"{row.created_at.timestamp() + 5:.6f}_{row.pk}"
    assert 'hx-trigger="every 5s"' not in read(staff, live="1", older=cursor)


@pytest.mark.parametrize("text", HOSTILE)
def test_rw_061_what_others_wrote_stays_text(staff: Client, text: str) -> None:
    memory = remember(text[:100], text)
    row = log(memory, model=text, session_id=text, key_name=text, error_message=text, is_failed=True, user_text=text)
    usage.note_extraction(row.request_id, "A", memory, timezone.now())
    for page in (
        read(staff, open=row.pk, q=""),
        read(staff, f"{PAGE}/{row.request_id}"),
        read(staff, q=text, key=text),
    ):
        assert "<img src=x" not in page and "<script>alert" not in page
        assert 'onmouseover="alert' not in page
        assert text != "{{7*7}}" or text in page


def test_two_owners_with_the_same_request_id_are_not_mixed_up(staff: Client) -> None:
    mine = remember()
    first = log(mine, request_id="same", created_at=timezone.now() - timedelta(minutes=1))
    log(request_id="same", api_key_id="B")
    assert mine not in read(staff, f"{PAGE}/same")
    page = read(staff, f"{PAGE}/same", open=first.pk)
    assert mine in page and "and 1 more with this id" in page


def test_a_page_costs_the_same_queries_with_ten_rows_or_many(staff: Client, django_assert_max_num_queries: Any) -> None:
    memory = remember()
    for _ in range(10):
        log(memory)
    with django_assert_max_num_queries(14) as few:
        read(staff)
    for _ in range(120):
        log(memory)
    assert RequestLink.objects.count() == 130
    with django_assert_max_num_queries(len(few)):
        read(staff)
