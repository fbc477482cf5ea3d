"""What a model or a stranger wrote stays text on the Memories page, and nothing is changed but by its own forms."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client

from memory.models import Memory
from tests.studio.hostile_texts import XSS, find_strangers
from tests.studio.memories_page import MEMORY, read, remember, upload

pytestmark = pytest.mark.django_db


def test_rw_061_what_a_model_wrote_stays_text_wherever_it_is_shown(staff):
    for number, text in enumerate(XSS):
        remember(text, f"{text} {number}", session_id=text, metadata={"source": text, "statement": text, text: text})
    record = remember(XSS[0], XSS[1], session_id=XSS[0], metadata={"statement": XSS[0], "polarity": XSS[5]})
    pages = [
        read(staff),
        read(staff, id=record.id),
        read(staff, f"{MEMORY}/edit/{record.id}"),
        read(staff, f"{MEMORY}/delete", id=record.id),
        read(staff, q="<svg onload=alert(1)>"),
        read(staff, q='" autofocus onfocus="alert(1)'),
        read(staff, session=XSS[0]),
        read(staff, f"{MEMORY}/figures", session=XSS[3]),
    ]
    for page in pages:
        assert find_strangers(page) == []
    assert "&lt;img src=x onerror=alert(1)&gt;" in pages[0]
    assert "{{7*7}}" in pages[0]
    assert "&lt;svg onload=alert(1)&gt;" in pages[4]
    assert 'dir="auto"' in pages[0]


def test_rw_061_every_form_that_changes_something_needs_its_token():
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_user("ona", is_staff=True))
    record = remember("tea", "k")
    for path in ("add", f"edit/{record.id}", "delete", "retype", "merge", "erase", "compact", "import", "undo/x"):
        assert client.post(f"{MEMORY}/{path}", {"id": record.id}).status_code == 403, path
    assert Memory.objects.get().content == "tea"


def test_what_changes_something_never_answers_a_link(staff):
    record = remember("tea", "k")
    for path in ("merge", "undo/x", f"restore/{record.id}"):
        assert staff.get(f"{MEMORY}/{path}", {"id": record.id, "kept": record.id}).status_code == 405
    for path in ("delete", "retype", "compact", "add", f"edit/{record.id}"):
        staff.get(f"{MEMORY}/{path}", {"id": record.id, "content": "x", "to": "semantic"})
    assert Memory.objects.get().content == "tea"


def test_the_way_back_stays_on_this_server(staff):
    record = remember("tea")
    answer = staff.post(f"{MEMORY}/delete", {"id": record.id, "next": "https://example.org/"})
    assert answer.headers["location"] == MEMORY
    back = staff.post(f"{MEMORY}/delete", {"id": "gone", "next": f"{MEMORY}?q=tea&page=2"}).headers["location"]
    assert parse_qs(urlsplit(back).query) == {"q": ["tea"], "page": ["2"]}


def test_rw_061_what_a_file_says_stays_text_in_the_preview(staff):
    rows = [{"key": text, "content": text} for text in XSS] + [{"key": XSS[0], "content": XSS[1], "type": XSS[0]}]
    page = upload(staff, rows).content.decode()
    assert find_strangers(page) == []
    assert "&lt;img src=x" in page
