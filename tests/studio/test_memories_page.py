"""The Memories page over HTTP, as a browser without a script sees it, and the pieces that htmx asks for."""

import json
import re
from datetime import timedelta
from html.parser import HTMLParser
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.accounts.keys import create_api_key
from memory import services
from memory.models import Compaction, Memory, MemoryUse
from memory.records import MemoryDraft, MemoryRecord

MEMORY = "/dashboard/memory"
XSS = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "{{7*7}}",
    '" onmouseover="alert(1)',
    "javascript:alert(1)",
    "<svg onload=alert(1)>",
    "abc\u202etxt.exe",
    "'; alert(1) //",
    "<template><script>alert(1)</script></template>",
]

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator() -> User:
    return User.objects.create_user("ona", password="x", is_staff=True)


@pytest.fixture
def client(operator: User) -> Client:
    client = Client()
    client.force_login(operator)
    return client


def remember(content: str = "tea", key: str = "", owner: str = "A", **fields) -> MemoryRecord:
    return services.create(MemoryDraft(owner, key, content, **fields))


def read(client: Client, path: str = MEMORY, **parameters: str) -> str:
    answer = client.get(f"{path}?{urlencode(parameters, doseq=True)}" if parameters else path)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def list_texts(page: str) -> list[str]:
    return [text.strip() for text in re.findall(r'<a class="mem-text"[^>]*>([^<]*)</a>', page)]


def ask_as_htmx(client: Client, path: str, *, target: str = "", trigger: str = "", method: str = "get", data=None):
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver{MEMORY}"}
    headers |= {"HX-Target": target} if target else {}
    headers |= {"HX-Trigger": trigger} if trigger else {}
    return getattr(client, method)(path, data or {}, headers=headers)


# --- the list ---
def test_without_a_memory_the_page_shows_the_first_steps_with_commands(client):
    page = read(client)
    assert "No memories yet" in page
    assert "manage.py create_api_key my-app" in page
    assert "http://testserver/v1/chat/completions" in page


def test_the_first_memory_takes_the_place_of_the_first_steps(client):
    assert ask_as_htmx(client, f"{MEMORY}/first").status_code == 200
    remember()
    assert ask_as_htmx(client, f"{MEMORY}/first").headers["HX-Refresh"] == "true"


def test_the_newest_change_comes_first_twenty_a_page(client):
    for number in range(45):
        remember(f"memory {number}")
    first, second, third = (read(client, page=number) for number in ("1", "2", "3"))
    assert list_texts(first) == [f"memory {number}" for number in range(44, 24, -1)]
    assert list_texts(second) == [f"memory {number}" for number in range(24, 4, -1)]
    assert list_texts(third) == [f"memory {number}" for number in range(4, -1, -1)]
    assert f'href="{MEMORY}?page=2"' in first
    assert "41–45 of 45" in third
    assert 'rel="next"' not in third


def test_the_figures_know_how_many_pages_there_are(client):
    for number in range(45):
        remember(f"memory {number}", type="episodic" if number % 3 else "factual")
    figures = read(client, f"{MEMORY}/figures", page="2")
    assert "21–40 of 45" in figures
    assert "page 2 of 3" in figures
    assert 'aria-label="15 factual, 30 episodic"' in figures


@pytest.mark.parametrize("page", ["0", "-1", "x", "99999999999", "1e3", "٣"])
def test_a_page_number_that_is_none_does_no_harm(client, page):
    remember("tea")
    assert client.get(MEMORY, {"page": page}).status_code == 200


def test_far_beyond_the_end_the_way_back_is_shown(client):
    remember("tea")
    page = read(client, page="50")
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
def test_every_filter_shows_what_it_says(client, parameters, expected):
    a = remember("a", "k1", session_id="s1", metadata={"source": "user_message"})
    remember("b", "k2", type="episodic", metadata={"polarity": "negative"})
    remember("c", "k3", owner="B", expires_at=timezone.now() + timedelta(days=2))
    d = remember("d", "", owner="")
    MemoryUse.objects.create(memory_uuid=a.id, api_key_id="A", count=3, last_injected_at=timezone.now())
    Memory.objects.filter(uuid=d.id).update(needs_reindex=False)
    assert list_texts(read(client, **parameters)) == expected


@pytest.mark.parametrize(
    "parameters", [{"type": "facts"}, {"polarity": "x"}, {"expiry": "x"}, {"used": "x"}, {"index": "x"}, {"sort": "x"}]
)
def test_a_filter_that_nobody_knows_shows_nothing_instead_of_everything(client, parameters):
    remember("tea")
    answer = client.get(MEMORY, parameters)
    assert answer.status_code == 400
    assert "tea" not in answer.content.decode()
    if "sort" not in parameters:
        assert client.post(f"{MEMORY}/delete", {"whole": "1", **parameters}).status_code == 400
        assert Memory.objects.exists()


@pytest.mark.parametrize("text", ["%", "_", "'", '"', "\\", "\x00", "a" * 5000, "ž", "🙂"])
def test_any_text_can_be_searched_for(client, text):
    remember("tea")
    assert "No memory says" in read(client, q=text) or not text.strip("\0")


def test_nothing_found_says_what_the_filter_hides(client):
    remember("green tea", type="factual")
    page = read(client, q="tea", type="episodic")
    assert "No memory says “tea”" in page
    assert "1 exists outside these filters." in page
    assert f'href="{MEMORY}?q=tea"' in page


def test_the_search_swaps_the_list_and_cleans_the_address(client):
    remember("green tea")
    path = f"{MEMORY}?q=tea&type=&key=&session=&source=&polarity=&expiry="
    answer = ask_as_htmx(client, path, target="list", trigger="toolbar")
    assert answer.headers["HX-Replace-Url"] == f"{MEMORY}?q=tea"
    assert answer.content.decode().lstrip().startswith('<div id="list"')
    assert "<html" not in answer.content.decode()


def test_going_back_loads_the_whole_page(client):
    remember("tea")
    answer = client.get(MEMORY, headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})
    assert "<html" in answer.content.decode()


# --- cost ---
@pytest.mark.parametrize("path", [MEMORY, f"{MEMORY}/figures", "/dashboard/shell"])
def test_the_number_of_queries_does_not_depend_on_the_number_of_rows(client, path):
    def count_queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert client.get(path).status_code == 200
        return len(captured)

    for number in range(20):
        remember(f"memory {number}", owner=f"owner {number}", session_id=f"s{number}")
    with_twenty = count_queries()
    for number in range(20, 200):
        remember(f"memory {number}", owner=f"owner {number}", session_id=f"s{number}")
    assert count_queries() == with_twenty
    assert with_twenty <= 20


def test_the_list_counts_nothing_that_it_does_not_show(client):
    for number in range(60):
        remember(f"memory {number}")
    with CaptureQueriesContext(connection) as captured:
        client.get(MEMORY)
    assert not [query["sql"] for query in captured if "COUNT(" in query["sql"].upper()]


# --- the drawer ---
def test_the_drawer_has_an_address_and_shows_all_of_a_memory(client):
    key, _ = create_api_key("dev-assistant")
    metadata = {"source": "user_message", "statement": "I really like tea", "polarity": "positive", "category": "drink"}
    record = remember("tea, always", "preference:tea", owner=key.id, session_id="s-1", metadata=metadata)
    MemoryUse.objects.create(
        memory_uuid=record.id, api_key_id=key.id, count=7, last_injected_at=timezone.now(), last_request_id="req-1"
    )
    page = read(client, id=record.id)
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
    assert "waiting for index" in page


def test_the_drawer_alone_is_sent_to_htmx(client):
    record = remember("tea")
    answer = ask_as_htmx(client, f"{MEMORY}?id={record.id}", target="drawer")
    assert answer.content.decode().lstrip().startswith("<aside")
    assert 'id="list"' not in answer.content.decode()


def test_a_memory_that_is_gone_leaves_the_list_and_says_so(client):
    remember("tea")
    page = read(client, id="no-such-id")
    assert "is not there any more" in page
    assert list_texts(page) == ["tea"]


def test_twins_of_one_owner_are_shown_and_merged_and_those_of_others_are_not(client):
    kept, twin = remember("I drink tea", "a"), remember("i drink TEA", "b")
    remember("I drink tea", "c", owner="B")
    page = read(client, id=kept.id)
    assert page.count('name="kept"') == 1
    client.post(f"{MEMORY}/merge", {"kept": kept.id, "id": twin.id})
    assert sorted(Memory.objects.values_list("key", flat=True)) == ["a", "c"]


# --- add and edit ---
def test_a_memory_is_added_by_hand(client):
    key, _ = create_api_key("dev-assistant")
    fields = {"type": "procedural", "owner": key.id, "key": "k", "content": "make ship", "session": "s"}
    answer = client.post(f"{MEMORY}/add", {**fields, "metadata": '{"team": "x"}', "expires": "2999-01-02T03:04"})
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
    assert "Added 1 memory" in read(client)


def test_the_expiry_is_meant_in_the_operators_zone(client):
    client.cookies["studio_zone"] = "Europe%2FVilnius"
    fields = {"type": "factual", "owner": "~none", "key": "k", "content": "c", "expires": "2999-01-02T03:04"}
    client.post(f"{MEMORY}/add", fields)
    assert Memory.objects.get().expires_at.isoformat() == "2999-01-02T01:04:00+00:00"
    assert "2 Jan 2999, 03:04:00 (Europe/Vilnius)" in read(client, id=Memory.objects.get().uuid)


@pytest.mark.parametrize("zone", ["Nowhere/Atall", "../../etc/passwd", "%00", "UTC; x", ""])
def test_a_zone_that_is_none_is_ignored(client, zone):
    remember("tea")
    client.cookies["studio_zone"] = zone
    assert client.get(MEMORY).status_code == 200


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
def test_what_is_wrong_with_a_new_memory_is_told_at_its_field(client, fields, told):
    body = {"type": "factual", "owner": "A", "key": "k", "content": "c", **fields}
    answer = client.post(f"{MEMORY}/add", body)
    assert answer.status_code == 422
    assert told in answer.content.decode()
    assert not Memory.objects.exists()


def test_adding_never_overwrites_a_memory_of_that_key(client):
    record = remember("tea", "k")
    answer = client.post(f"{MEMORY}/add", {"type": "factual", "owner": "A", "key": "k", "content": "coffee"})
    assert answer.status_code == 422
    assert "A already has this key." in answer.content.decode()
    assert f"?id={record.id}" in answer.content.decode()
    assert Memory.objects.get().content == "tea"


def test_an_edit_is_saved_and_can_be_undone(client):
    record = remember("tea", "k")
    body = {"type": "semantic", "key": "k", "content": "line one\r\nline two", "seen": record.updated_at.isoformat()}
    client.post(f"{MEMORY}/edit/{record.id}", body)
    row = Memory.objects.get()
    assert (row.type, row.content) == ("semantic", "line one\nline two")
    undo = re.search(rf'action="({MEMORY}/undo/[^"]+)"', read(client))[1]
    client.post(undo)
    assert (Memory.objects.get().type, Memory.objects.get().content) == ("factual", "tea")


def test_an_edit_over_somebody_elses_is_refused_and_keeps_what_was_typed(client):
    record = remember("tea", "k")
    Memory.objects.update(content="coffee", updated_at=timezone.now())
    body = {"type": "factual", "key": "k", "content": "my text", "seen": record.updated_at.isoformat()}
    answer = client.post(f"{MEMORY}/edit/{record.id}", body)
    assert answer.status_code == 409
    assert "my text" in answer.content.decode()
    assert "Somebody changed this memory" in answer.content.decode()
    assert Memory.objects.get().content == "coffee"


def test_a_key_of_another_memory_is_refused_at_the_field(client):
    remember("tea", "k")
    record = remember("coffee", "l")
    body = {"type": "factual", "key": "k", "content": "coffee", "seen": record.updated_at.isoformat()}
    answer = client.post(f"{MEMORY}/edit/{record.id}", body)
    assert answer.status_code == 409
    assert "has this key" in answer.content.decode()


def test_an_earlier_version_is_brought_back(client):
    record = remember("one", "k")
    body = {"type": "factual", "key": "k", "content": "two", "seen": record.updated_at.isoformat()}
    client.post(f"{MEMORY}/edit/{record.id}", body)
    version = re.search(r'name="version" value="(\d+)"', read(client, id=record.id))[1]
    client.post(f"{MEMORY}/restore/{record.id}", {"version": version})
    assert Memory.objects.get().content == "one"


# --- many at once ---
def test_deleting_asks_first_with_the_count_and_is_undone(client):
    records = [remember(f"memory {number}", f"k{number}") for number in range(3)]
    asked = read(client, f"{MEMORY}/delete", id=[records[0].id, records[1].id])
    assert "Delete 2 memories?" in asked
    assert Memory.objects.count() == 3
    client.post(f"{MEMORY}/delete", {"id": [records[0].id, records[1].id]})
    assert list(Memory.objects.values_list("key", flat=True)) == ["k2"]
    page = read(client)
    assert "Deleted 2 memories" in page
    client.post(re.search(rf'action="({MEMORY}/undo/[^"]+)"', page)[1])
    assert Memory.objects.count() == 3
    assert "2 memories are as they were" in read(client)


def test_all_that_the_filter_shows_can_be_selected(client):
    for number in range(30):
        remember(f"memory {number}", owner="AB"[number % 2])
    assert "Delete 15 memories?" in read(client, f"{MEMORY}/delete", whole="1", key="B")
    client.post(f"{MEMORY}/delete", {"whole": "1", "key": "B"})
    assert set(Memory.objects.values_list("api_key_id", flat=True)) == {"A"}


def test_nothing_selected_is_told_and_never_means_all(client):
    remember("tea")
    for path in ("delete", "retype", "erase"):
        assert client.post(f"{MEMORY}/{path}", {"to": "factual", "key": "A"}).status_code == 400
    assert Memory.objects.count() == 1


def test_several_are_retyped(client):
    records = [remember(f"memory {number}") for number in range(3)]
    client.post(f"{MEMORY}/retype", {"id": [record.id for record in records[:2]], "to": "semantic"})
    assert sorted(Memory.objects.values_list("type", flat=True)) == ["factual", "semantic", "semantic"]
    assert client.post(f"{MEMORY}/retype", {"id": records[0].id, "to": "facts"}).status_code == 400


def test_erasing_needs_the_very_number_typed_and_cannot_be_undone(client):
    for number in range(3):
        remember(f"memory {number}", owner="AB"[number % 2])
    assert "erase 2" in read(client, f"{MEMORY}/erase", whole="1", key="A")
    for typed in ("", "erase", "erase 3", "2", "delete 2"):
        assert client.post(f"{MEMORY}/erase", {"whole": "1", "key": "A", "typed": typed}).status_code == 422
    assert Memory.objects.count() == 3
    client.post(f"{MEMORY}/erase", {"whole": "1", "key": "A", "typed": "erase 2"})
    assert list(Memory.objects.values_list("api_key_id", flat=True)) == ["B"]
    assert not Compaction.objects.exists()


def test_compaction_shows_what_it_would_do_then_does_it_and_is_undone(client):
    for number in range(4):
        remember(f"Note {number}. " + "It goes on about the weather that day. " * 12, f"k{number}")
    Memory.objects.update(created_at=timezone.now() - timedelta(days=40))
    asked = read(client, f"{MEMORY}/compact", days="30", owner="A")
    assert "Compact 4 memories" in asked
    assert Memory.objects.count() == 4
    client.post(f"{MEMORY}/compact", {"days": "30", "owner": "A"})
    assert Memory.objects.get().metadata["source"] == "compaction"
    client.post(re.search(rf'action="({MEMORY}/undo/[^"]+)"', read(client))[1])
    assert Memory.objects.count() == 4


# --- export ---
def test_the_filtered_set_is_exported_as_an_array_of_memories(client):
    remember("a", "k1", type="episodic", metadata={"x": 1})
    remember("b", "k2")
    answer = client.get(f"{MEMORY}/export", {"type": "episodic", "page": "7"})
    assert re.fullmatch(r'attachment; filename="memory-export-[\dTZ:-]+\.json"', answer.headers["content-disposition"])
    told = json.loads(b"".join(answer.streaming_content))
    assert [(memory["key"], memory["metadata"]) for memory in told] == [("k1", {"x": 1})]


def test_an_export_of_memories_that_are_gone_is_not_found(client):
    answer = client.get(f"{MEMORY}/export", {"id": "4f1c9a52-5f0e-4b57-9a27-0d6a1f2f3e11"})
    assert answer.status_code == 404


@pytest.mark.parametrize("address", ["http://[", "//[x", "\\"])
def test_an_address_that_is_none_leads_nowhere_and_harms_nothing(client, address):
    assert client.get(f"{MEMORY}/add", headers={"HX-Request": "true", "HX-Current-URL": address}).status_code == 200
    assert client.get(f"{MEMORY}/add", {"next": address}).status_code == 200


def test_the_ticked_ones_alone_are_exported(client):
    records = [remember(f"memory {number}") for number in range(3)]
    answer = client.get(f"{MEMORY}/export", {"id": [records[2].id, records[0].id]})
    told = json.loads(b"".join(answer.streaming_content))
    assert [memory["id"] for memory in told] == [records[2].id, records[0].id]


# --- RW-061 ---
class Elements(HTMLParser):
    """What a browser would make of a page: its elements and their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.strangers: list[str] = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag in ("img", "iframe", "object", "embed", "style") or (tag == "script" and not values.get("src")):
            self.strangers.append(tag)
        self.strangers += [f"{tag} {name}" for name in values if name.startswith("on") or name == "style"]
        self.strangers += [f"{tag} {value}" for value in values.values() if (value or "").startswith("javascript:")]

    handle_startendtag = handle_starttag


def find_strangers(page: str) -> list[str]:
    """Elements and attributes that none of our templates writes. A field may hold anything; it does nothing."""
    elements = Elements()
    elements.feed(page)
    harmless = ("option javascript:", "input javascript:", "span javascript:")
    return [told for told in elements.strangers if not told.startswith(harmless)]


def test_rw_061_what_a_model_wrote_stays_text_wherever_it_is_shown(client, operator):
    for number, text in enumerate(XSS):
        remember(text, f"{text} {number}", session_id=text, metadata={"source": text, "statement": text, text: text})
    record = remember(XSS[0], XSS[1], session_id=XSS[0], metadata={"statement": XSS[0], "polarity": XSS[5]})
    pages = [
        read(client),
        read(client, id=record.id),
        read(client, f"{MEMORY}/edit/{record.id}"),
        read(client, f"{MEMORY}/delete", id=record.id),
        read(client, q="<svg onload=alert(1)>"),
        read(client, q='" autofocus onfocus="alert(1)'),
        read(client, session=XSS[0]),
        read(client, f"{MEMORY}/figures", session=XSS[3]),
    ]
    for page in pages:
        assert find_strangers(page) == []
    assert "&lt;img src=x onerror=alert(1)&gt;" in pages[0]
    assert "{{7*7}}" in pages[0]
    assert "&lt;svg onload=alert(1)&gt;" in pages[4]
    assert 'dir="auto"' in pages[0]


def test_rw_061_every_form_that_changes_something_needs_its_token(operator):
    client = Client(enforce_csrf_checks=True)
    client.force_login(operator)
    record = remember("tea", "k")
    for path in ("add", f"edit/{record.id}", "delete", "retype", "merge", "erase", "compact", "import", "undo/x"):
        assert client.post(f"{MEMORY}/{path}", {"id": record.id}).status_code == 403, path
    assert Memory.objects.get().content == "tea"


def test_what_changes_something_never_answers_a_link(client):
    record = remember("tea", "k")
    for path in ("merge", "undo/x", f"restore/{record.id}"):
        assert client.get(f"{MEMORY}/{path}", {"id": record.id, "kept": record.id}).status_code == 405
    for path in ("delete", "retype", "compact", "add", f"edit/{record.id}"):
        client.get(f"{MEMORY}/{path}", {"id": record.id, "content": "x", "to": "semantic"})
    assert Memory.objects.get().content == "tea"


def test_the_way_back_stays_on_this_server(client):
    record = remember("tea")
    answer = client.post(f"{MEMORY}/delete", {"id": record.id, "next": "https://example.org/"})
    assert answer.headers["location"] == MEMORY
    back = client.post(f"{MEMORY}/delete", {"id": "gone", "next": f"{MEMORY}?q=tea&page=2"}).headers["location"]
    assert parse_qs(urlsplit(back).query) == {"q": ["tea"], "page": ["2"]}


# --- import ---
def upload(client: Client, rows, **fields):
    content = rows if isinstance(rows, bytes) else json.dumps(rows).encode()
    file = SimpleUploadedFile("../../memories.json", content, "application/json")
    return client.post(f"{MEMORY}/import", {"file": file, "owner": "A", **fields})


def test_an_import_is_shown_before_anything_is_written(client):
    remember("old", "k1")
    remember("same", "k2")
    rows = [
        {"key": "k1", "content": "new"},
        {"key": "k2", "content": "same"},
        {"key": "k3", "content": "more"},
        {"key": "k4", "content": "bad", "type": "facts"},
        {"key": "", "content": ""},
    ]
    page = upload(client, rows, overwrites="on").content.decode()
    figures = dict(re.findall(r'data-testid="import-([\w-]+)">\s*([\d,]+)\s*<', page))
    assert figures == {"new": "1", "updates": "1", "unchanged": "1", "left-out": "2"}
    assert "facts" in page
    assert Memory.objects.count() == 2
    run = re.search(rf'action="({MEMORY}/import/[^"]+/run)"', page)[1]
    client.post(run, {"owner": "A", "overwrites": "on"})
    contents = dict(Memory.objects.values_list("key", "content"))
    assert contents == {"k1": "new", "k2": "same", "k3": "more"}
    done = read(client)
    assert "Imported 2 memories; 2 entries were left out" in done
    client.post(re.search(rf'action="({MEMORY}/undo/[^"]+)"', done)[1])
    assert dict(Memory.objects.values_list("key", "content")) == {"k1": "old", "k2": "same"}


@pytest.mark.parametrize("content", [b"", b"{", b"\x00\x01\x02", b"[1, 2"])
def test_a_file_that_cannot_be_read_is_told_in_the_dialog(client, content):
    answer = upload(client, content)
    assert answer.status_code in (200, 422)
    assert not Memory.objects.exists()
    assert "Traceback" not in answer.content.decode()


def test_rw_061_what_a_file_says_stays_text_in_the_preview(client):
    rows = [{"key": text, "content": text} for text in XSS] + [{"key": XSS[0], "content": XSS[1], "type": XSS[0]}]
    page = upload(client, rows).content.decode()
    assert find_strangers(page) == []
    assert "&lt;img src=x" in page


def test_rw_067_a_file_never_overwrites_another_owners_memory(client):
    foreign = remember("I prefer tea", "preference:tea", owner="B")
    rows = [
        {"key": "preference:tea", "content": "changed", "apiKeyId": "B"},
        {"id": foreign.id, "key": "x", "content": "changed by id"},
    ]
    page = upload(client, rows).content.decode()
    run = re.search(rf'action="({MEMORY}/import/[^"]+/run)"', page)[1]
    client.post(run, {"owner": "A"})
    row = Memory.objects.get(uuid=foreign.id)
    assert (row.api_key_id, row.content, row.updated_at) == ("B", "I prefer tea", foreign.updated_at)
