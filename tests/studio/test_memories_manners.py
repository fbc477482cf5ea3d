"""What the pieces of the Memories page say when something is in the way, and what they leave out."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from core.jobs import runner
from memory import services, usage
from memory.models import Memory, MemoryUse
from tests.studio.memories_page import MEMORY, ask_as_htmx, read, remember, upload
from tests.studio.page_text import read_text

pytestmark = pytest.mark.django_db


# --- two people at one memory ---
def test_who_comes_second_sees_what_the_first_has_saved_and_may_save_over_it(staff):
    record = remember("tea", "k")
    Memory.objects.update(content="coffee <b>now</b>", updated_at=timezone.now())
    body = {"type": "factual", "key": "k", "content": "my text", "seen": record.updated_at.isoformat()}
    answer = ask_as_htmx(staff, f"{MEMORY}/edit/{record.id}", method="post", data=body)
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "my text" in page
    assert "coffee &lt;b&gt;now&lt;/b&gt;" in page
    assert "Save mine" in page
    body["seen"] = re.search(r'name="seen" value="([^"]+)"', page)[1]
    assert ask_as_htmx(staff, f"{MEMORY}/edit/{record.id}", method="post", data=body).status_code == 200
    assert Memory.objects.get().content == "my text"


# --- figures as people write them ---
def test_large_numbers_have_separators_wherever_they_stand(staff):
    rows = [{"key": f"k:{number}", "content": "tea"} for number in range(1200)]
    preview = read_text(upload(staff, rows))
    assert "1,200 entries were read" in preview
    assert "Import 1,200 memories" in preview
    template = remember("tea")
    Memory.objects.bulk_create(
        Memory(uuid=f"id-{number}", api_key_id="A", type="factual", content=template.content) for number in range(1199)
    )
    for dialog, button in (("delete", "Delete 1,200 memories"), ("retype", "Change 1,200 memories")):
        asked = read_text(staff.get(f"{MEMORY}/{dialog}?whole=1"))
        assert button in asked
        assert "all memories of all API keys" in asked


def test_the_preview_says_how_many_more_entries_are_left_out_than_it_names(staff):
    preview = read_text(upload(staff, [{"key": f"k:{number}"} for number in range(103)]))
    assert "and 3 more entries that are left out" in preview


# --- nothing shouts ---
def test_no_memory_waits_for_an_index_while_nothing_makes_vectors(staff):
    record = remember("tea")
    assert "waiting for index" not in read_text(staff.get(MEMORY))
    assert "no embedding source" in read_text(staff.get(f"{MEMORY}?id={record.id}"))
    assert "no embedding source" in read_text(staff.get(f"{MEMORY}/figures"))


def test_a_memory_waits_once_something_makes_vectors(staff, settings):
    settings.MEMORY_STATIC_MODEL = "bundled"
    services.change_settings({"staticEnabled": True, "embeddingSource": "static"})
    record = remember("tea")
    assert "waiting for index" in read_text(staff.get(MEMORY))
    assert "no embedding source" not in read_text(staff.get(f"{MEMORY}?id={record.id}"))


# --- the drawer ---
def test_the_last_requests_that_carried_a_memory_are_named_and_lead_to_all_of_them(staff):
    record = remember("tea")
    now = timezone.now()
    for hours in range(5):
        usage.note_injections(f"req-{hours}", "A", [record.id], now - timedelta(hours=hours))
    page = read(staff, id=record.id)
    assert re.findall(r'requests\?id=(req-\d)"', page) == ["req-0", "req-1", "req-2"]
    assert f'href="/dashboard/requests?memory={record.id}"' in page


def test_what_the_log_has_forgotten_is_still_known_by_its_last_request(staff):
    record = remember("tea")
    MemoryUse.objects.create(
        memory_uuid=record.id, api_key_id="A", count=1, last_injected_at=timezone.now(), last_request_id="req-old"
    )
    page = read(staff, id=record.id)
    assert 'requests?id=req-old"' in page
    assert "All requests that carried it" not in page


def test_the_history_marks_each_word_that_went_and_came(staff):
    record = remember("I drink <i>tea</i> daily", "k")
    for content in ("I drink coffee daily", "I drink coffee weekly"):
        seen = Memory.objects.get().updated_at.isoformat()
        staff.post(f"{MEMORY}/edit/{record.id}", {"type": "factual", "key": "k", "content": content, "seen": seen})
    page = read(staff, id=record.id)
    newest, oldest = re.findall(r'<div class="diff".*?</form>', page, flags=re.DOTALL)
    assert "I drink coffee <del>daily</del>" in newest
    assert "I drink coffee <ins>weekly</ins>" in newest
    assert "I drink <del>&lt;i&gt;tea&lt;/i&gt;</del> daily" in oldest
    assert "I drink <ins>coffee</ins> daily" in oldest


def test_the_title_of_the_page_follows_what_is_open(staff):
    record = remember("tea", "preference:tea")
    opened = ask_as_htmx(staff, f"{MEMORY}?id={record.id}", target="drawer")
    assert "preference:tea · Memory studio" in read_text(opened)
    closed = ask_as_htmx(staff, MEMORY, target="drawer")
    assert "Memories · Memory studio" in read_text(closed)


def test_a_memory_that_is_gone_leaves_a_way_on(staff):
    remember("tea")
    page = read(staff, id="no-such-id", q="tea")
    assert "undone for a while, in Django admin" in page
    assert re.search(r'href="/dashboard/memory\?q=tea"[^>]*>Show the list', page)


# --- what stands beside the list ---
def test_the_figures_bring_the_last_write_up_to_date(staff):
    remember("tea")
    page = ask_as_htmx(staff, f"{MEMORY}/figures").content.decode()
    assert re.search(r'id="last-write"\s+hx-swap-oob="true"', page)
    assert "just now" in page


def test_giving_up_an_erasure_leads_back_to_the_same_list(staff):
    remember("tea")
    link = re.search(r'id="erase-link"\s+href="([^"]+)"', read(staff, q="tea"))[1].replace("&amp;", "&")
    assert 'href="/dashboard/memory?q=tea"' in staff.get(link).content.decode()


def test_the_progress_of_an_import_is_renewed_in_its_dialog_which_closes_at_the_end(staff):
    rows = [{"key": f"k:{number}", "content": "tea"} for number in range(2001)]
    preview = upload(staff, rows).content.decode()
    run = re.search(r'action="([^"]+/run)"', preview)[1]
    address = re.search(r'hx-get="([^"]+)"\s+hx-trigger="load delay', staff.post(run, {"owner": "A"}).content.decode())[
        1
    ]
    piece = ask_as_htmx(staff, address, target="import-progress")
    assert "<dialog" not in piece.content.decode()
    assert "Waiting for a worker" in read_text(piece)
    runner.run_waiting_jobs()
    ended = ask_as_htmx(staff, address, target="import-progress")
    assert "Imported 2,001 memories" in read_text(ended)
    assert (ended.headers["HX-Retarget"], ended.headers["HX-Reswap"]) == ("#dialog-slot", "innerHTML")
