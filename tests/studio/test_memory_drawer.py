"""One memory over HTTP: its drawer, and adding and editing one by hand."""

import re

import pytest
from django.utils import timezone

from core.accounts.keys import create_api_key
from memory.models import Memory, MemoryUse
from tests.studio.memories_page import MEMORY, ask_as_htmx, list_texts, read, remember

pytestmark = pytest.mark.django_db


# --- the drawer ---
def test_the_drawer_has_an_address_and_shows_all_of_a_memory(staff):
    key, _ = create_api_key("dev-assistant")
    metadata = {"source": "user_message", "statement": "I really like tea", "polarity": "positive", "category": "drink"}
    record = remember("tea, always", "preference:tea", owner=key.id, session_id="s-1", metadata=metadata)
    MemoryUse.objects.create(
        memory_uuid=record.id, api_key_id=key.id, count=7, last_injected_at=timezone.now(), last_request_id="req-1"
    )
    page = read(staff, id=record.id)
    for told in (
        "“I really like tea”",
        "preference:tea",
        "s-1",
        "user said",
        "dev-assistant",
        "7 times",
        "req-1",
        record.id,
    ):
        assert told in page
    assert "no embedding source" in page


def test_the_drawer_alone_is_sent_to_htmx(staff):
    record = remember("tea")
    answer = ask_as_htmx(staff, f"{MEMORY}?id={record.id}", target="drawer")
    assert answer.content.decode().lstrip().startswith("<aside")
    assert 'id="list"' not in answer.content.decode()


def test_a_memory_that_is_gone_leaves_the_list_and_says_so(staff):
    remember("tea")
    page = read(staff, id="no-such-id")
    assert "is not there any more" in page
    assert list_texts(page) == ["tea"]


def test_twins_of_one_owner_are_shown_and_merged_and_those_of_others_are_not(staff):
    kept, twin = remember("I drink tea", "a"), remember("i drink TEA", "b")
    remember("I drink tea", "c", owner="B")
    page = read(staff, id=kept.id)
    assert page.count('name="kept"') == 1
    staff.post(f"{MEMORY}/merge", {"kept": kept.id, "id": twin.id})
    assert sorted(Memory.objects.values_list("key", flat=True)) == ["a", "c"]


# --- add and edit ---
def test_a_memory_is_added_by_hand(staff):
    key, _ = create_api_key("dev-assistant")
    fields = {"type": "procedural", "owner": key.id, "key": "k", "content": "make ship", "session": "s"}
    answer = staff.post(f"{MEMORY}/add", {**fields, "metadata": '{"team": "x"}', "expires": "2999-01-02T03:04"})
    assert (answer.status_code, answer.headers["location"]) == (302, MEMORY)
    row = Memory.objects.get()
    assert (row.api_key_id, row.type, row.key, row.content, row.session_id) == (
        key.id,
        "procedural",
        "k",
        "make ship",
        "s",
    )
    assert row.metadata == {"source": "operator", "team": "x"}
    assert "Added 1 memory" in read(staff)


def test_the_expiry_is_meant_in_the_operators_zone(staff):
    staff.cookies["studio_zone"] = "Europe%2FVilnius"
    fields = {"type": "factual", "owner": "~none", "key": "k", "content": "c", "expires": "2999-01-02T03:04"}
    staff.post(f"{MEMORY}/add", fields)
    assert Memory.objects.get().expires_at.isoformat() == "2999-01-02T01:04:00+00:00"
    assert "2 Jan 2999, 03:04:00 (Europe/Vilnius)" in read(staff, id=Memory.objects.get().uuid)


@pytest.mark.parametrize("zone", ["Nowhere/Atall", "../../etc/passwd", "%00", "UTC; x", ""])
def test_a_zone_that_is_none_is_ignored(staff, zone):
    remember("tea")
    staff.cookies["studio_zone"] = zone
    assert staff.get(MEMORY).status_code == 200


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"key": ""}, "This field is required."),
        ({"content": ""}, "This field is required."),
        ({"metadata": "[1]"}, 'id="a-metadata-e"'),
        ({"metadata": "{"}, "Write a JSON object"),
        ({"expires": "soon"}, "Write a date and a time"),
        ({"expires": "2001-01-01T00:00"}, "This moment is past"),
        ({"content": "x" * 100_001}, 'id="a-content-e"'),
        ({"key": "x" * 513}, 'id="a-key-e"'),
    ],
)
def test_what_is_wrong_with_a_new_memory_is_told_at_its_field(staff, fields, told):
    body = {"type": "factual", "owner": "A", "key": "k", "content": "c", **fields}
    answer = staff.post(f"{MEMORY}/add", body)
    assert answer.status_code == 422
    assert told in answer.content.decode()
    assert not Memory.objects.exists()


def test_adding_never_overwrites_a_memory_of_that_key(staff):
    record = remember("tea", "k")
    answer = staff.post(f"{MEMORY}/add", {"type": "factual", "owner": "A", "key": "k", "content": "coffee"})
    assert answer.status_code == 422
    assert "A already has this key." in answer.content.decode()
    assert f"?id={record.id}" in answer.content.decode()
    assert Memory.objects.get().content == "tea"


def test_an_edit_is_saved_and_can_be_undone(staff):
    record = remember("tea", "k")
    body = {"type": "semantic", "key": "k", "content": "line one\r\nline two", "seen": record.updated_at.isoformat()}
    staff.post(f"{MEMORY}/edit/{record.id}", body)
    row = Memory.objects.get()
    assert (row.type, row.content) == ("semantic", "line one\nline two")
    undo = re.search(rf'action="({MEMORY}/undo/[^"]+)"', read(staff))[1]
    staff.post(undo)
    assert (Memory.objects.get().type, Memory.objects.get().content) == ("factual", "tea")


def test_an_edit_over_somebody_elses_is_refused_and_keeps_what_was_typed(staff):
    record = remember("tea", "k")
    Memory.objects.update(content="coffee", updated_at=timezone.now())
    body = {"type": "factual", "key": "k", "content": "my text", "seen": record.updated_at.isoformat()}
    answer = staff.post(f"{MEMORY}/edit/{record.id}", body)
    assert answer.status_code == 409
    assert "my text" in answer.content.decode()
    assert "Somebody changed this memory" in answer.content.decode()
    assert Memory.objects.get().content == "coffee"


def test_a_key_of_another_memory_is_refused_at_the_field(staff):
    remember("tea", "k")
    record = remember("coffee", "l")
    body = {"type": "factual", "key": "k", "content": "coffee", "seen": record.updated_at.isoformat()}
    answer = staff.post(f"{MEMORY}/edit/{record.id}", body)
    assert answer.status_code == 409
    assert "has this key" in answer.content.decode()


def test_an_earlier_version_is_brought_back(staff):
    record = remember("one", "k")
    body = {"type": "factual", "key": "k", "content": "two", "seen": record.updated_at.isoformat()}
    staff.post(f"{MEMORY}/edit/{record.id}", body)
    version = re.search(r'name="version" value="(\d+)"', read(staff, id=record.id))[1]
    staff.post(f"{MEMORY}/restore/{record.id}", {"version": version})
    assert Memory.objects.get().content == "one"
