"""The list of memories over HTTP, as a browser without a script sees it, and the pieces that htmx asks for."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory.models import Memory, MemoryUse
from tests.studio.memories_page import MEMORY, ask_as_htmx, list_texts, read, remember

pytestmark = pytest.mark.django_db


# --- the list ---
def test_without_a_memory_the_page_shows_the_first_steps_with_commands(staff):
    page = read(staff)
    assert "No memories yet" in page
    assert "manage.py create_api_key my-app" in page
    assert "http://testserver/v1/chat/completions" in page


def test_the_first_memory_takes_the_place_of_the_first_steps(staff):
    assert ask_as_htmx(staff, f"{MEMORY}/first").status_code == 200
    remember()
    assert ask_as_htmx(staff, f"{MEMORY}/first").headers["HX-Refresh"] == "true"


def test_what_a_memory_is_can_be_read_with_and_without_one(staff):
    assert "What is a memory?" in read(staff)
    remember()
    page = read(staff)
    assert '<details class="fold" id="concept">' in page, "folded: the memories are the headline"
    assert "chats of the same API key, never of another" in page


def test_the_newest_change_comes_first_twenty_a_page(staff):
    for number in range(45):
        remember(f"memory {number}")
    first, second, third = (read(staff, page=number) for number in ("1", "2", "3"))
    assert list_texts(first) == [f"memory {number}" for number in range(44, 24, -1)]
    assert list_texts(second) == [f"memory {number}" for number in range(24, 4, -1)]
    assert list_texts(third) == [f"memory {number}" for number in range(4, -1, -1)]
    assert f'href="{MEMORY}?page=2"' in first
    assert "41–45 of 45" in third
    assert 'rel="next"' not in third


def test_the_figures_know_how_many_pages_there_are(staff):
    for number in range(45):
        remember(f"memory {number}", type="episodic" if number % 3 else "factual")
    figures = read(staff, f"{MEMORY}/figures", page="2")
    assert "21–40 of 45" in figures
    assert "page 2 of 3" in figures
    assert 'aria-label="15 factual, 30 episodic"' in figures


@pytest.mark.parametrize("page", ["0", "-1", "x", "99999999999", "1e3", "٣"])
def test_a_page_number_that_is_none_does_no_harm(staff, page):
    remember("tea")
    assert staff.get(MEMORY, {"page": page}).status_code == 200


def test_far_beyond_the_end_the_way_back_is_shown(staff):
    remember("tea")
    page = read(staff, page="50")
    assert "1 exists outside these filters." in page
    assert f'<a class="btn" href="{MEMORY}">' in page


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"type": "episodic"}, ["b"]),
        ({"key": "B"}, ["c"]),
        ({"key": "~none"}, ["d"]),
        ({"session": "s1"}, ["a"]),
        ({"source": "user_message"}, ["a"]),
        ({"source": "api"}, ["d", "c", "b"]),
        ({"polarity": "negative"}, ["b"]),
        ({"expiry": "soon"}, ["c"]),
        ({"expiry": "never"}, ["d", "b", "a"]),
        ({"used": "never"}, ["d", "c", "b"]),
        ({"used": "yes"}, ["a"]),
        ({"index": "done"}, ["d"]),
        ({"index": "pending"}, ["c", "b", "a"]),
        ({"q": "B"}, ["b"]),
        ({"sort": "updated"}, ["a", "b", "c", "d"]),
        ({"sort": "key"}, ["d", "a", "b", "c"]),
        ({"type": "factual", "key": "A"}, ["a"]),
    ],
)
def test_every_filter_shows_what_it_says(staff, parameters, expected):
    a = remember("a", "k1", session_id="s1", metadata={"source": "user_message"})
    remember("b", "k2", type="episodic", metadata={"polarity": "negative"})
    remember("c", "k3", owner="B", expires_at=timezone.now() + timedelta(days=2))
    d = remember("d", "", owner="")
    MemoryUse.objects.create(memory_uuid=a.id, api_key_id="A", count=3, last_injected_at=timezone.now())
    Memory.objects.filter(uuid=d.id).update(needs_reindex=False)
    assert list_texts(read(staff, **parameters)) == expected


@pytest.mark.parametrize(
    "parameters", [{"type": "facts"}, {"polarity": "x"}, {"expiry": "x"}, {"used": "x"}, {"index": "x"}, {"sort": "x"}]
)
def test_a_filter_that_nobody_knows_shows_nothing_instead_of_everything(staff, parameters):
    remember("tea")
    answer = staff.get(MEMORY, parameters)
    assert answer.status_code == 400
    assert "tea" not in answer.content.decode()
    if "sort" not in parameters:
        assert staff.post(f"{MEMORY}/delete", {"whole": "1", **parameters}).status_code == 400
        assert Memory.objects.exists()


@pytest.mark.parametrize("text", ["%", "_", "'", '"', "\\", "\x00", "a" * 5000, "ž", "🙂"])
def test_any_text_can_be_searched_for(staff, text):
    remember("tea")
    assert "No memory says" in read(staff, q=text) or not text.strip("\0")


def test_nothing_found_says_what_the_filter_hides(staff):
    remember("green tea", type="factual")
    page = read(staff, q="tea", type="episodic")
    assert "No memory says “tea”" in page
    assert "1 exists outside these filters." in page
    assert f'href="{MEMORY}?q=tea"' in page


def test_the_search_swaps_the_list_and_cleans_the_address(staff):
    remember("green tea")
    path = f"{MEMORY}?q=tea&type=&key=&session=&source=&polarity=&expiry="
    answer = ask_as_htmx(staff, path, target="list", trigger="toolbar")
    assert answer.headers["HX-Replace-Url"] == f"{MEMORY}?q=tea"
    assert answer.content.decode().lstrip().startswith('<div id="list"')
    assert "<html" not in answer.content.decode()


def test_going_back_loads_the_whole_page(staff):
    remember("tea")
    answer = staff.get(MEMORY, headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})
    assert "<html" in answer.content.decode()


# --- cost ---
@pytest.mark.parametrize("path", [MEMORY, f"{MEMORY}/figures", "/dashboard/shell"])
def test_the_number_of_queries_does_not_depend_on_the_number_of_rows(staff, path):
    def count_queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert staff.get(path).status_code == 200
        return len(captured)

    for number in range(20):
        remember(f"memory {number}", owner=f"owner {number}", session_id=f"s{number}")
    with_twenty = count_queries()
    for number in range(20, 200):
        remember(f"memory {number}", owner=f"owner {number}", session_id=f"s{number}")
    assert count_queries() == with_twenty
    assert with_twenty <= 20


def test_the_list_counts_nothing_that_it_does_not_show(staff):
    for number in range(60):
        remember(f"memory {number}")
    with CaptureQueriesContext(connection) as captured:
        staff.get(MEMORY)
    assert not [query["sql"] for query in captured if "COUNT(" in query["sql"].upper()]


# --- addresses that are none ---
@pytest.mark.parametrize("address", ["http://[", "//[x", "\\"])
def test_an_address_that_is_none_leads_nowhere_and_harms_nothing(staff, address):
    assert staff.get(f"{MEMORY}/add", headers={"HX-Request": "true", "HX-Current-URL": address}).status_code == 200
    assert staff.get(f"{MEMORY}/add", {"next": address}).status_code == 200
