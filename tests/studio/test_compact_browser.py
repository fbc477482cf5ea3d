"""Compaction of more memories than a page waits for, in a real Chromium: counted, done and undone beside the page."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.live_server import Key, LiveServer
from tests.studio.browser import PHONE, StudioPage

MEMORY = "/dashboard/memory"
# A few more than are compacted while somebody waits, of some sessions.
GROUPS, MEMORIES = 9, 2007
FILL = """
from datetime import timedelta
from uuid import uuid4
from django.utils import timezone
from memory.models import Memory
old = timezone.now() - timedelta(days=40)
text = "Note {{number}} says what this is about. " + "The rest of it only goes on and on. " * 3
Memory.objects.bulk_create(
    Memory(uuid=str(uuid4()), api_key_id="{owner}", session_id=f"s{{number % {groups}}}", type="factual",
           key=f"k{{number}}", content=text.format(number=number), created_at=old, updated_at=old, needs_reindex=False)
    for number in range({memories})
)
"""


@pytest.fixture(scope="module")
def key(studio_server: LiveServer) -> Key:
    """The key of many old memories, which every test leaves as they are."""
    key = studio_server.take_key()
    script = FILL.format(owner=key.id, groups=GROUPS, memories=MEMORIES)
    studio_server.run_command("shell", "--verbosity", "0", "-c", script)
    return key


def open_dialog(page: Page) -> Locator:
    page.get_by_label("More actions").click()
    page.get_by_role("link", name=re.compile("Compact old")).click()
    return page.locator("dialog[open]")


def test_many_are_counted_compacted_and_put_back_while_the_page_tells_how_far_it_is(studio_page: StudioPage, key: Key):
    page = studio_page.open(f"{MEMORY}?key={key.id}")
    dialog = open_dialog(page)
    expect(dialog.locator("#compact-plan")).to_contain_text("Counting what would be compacted")
    expect(dialog.locator("#compact-go")).to_be_disabled()
    assert studio_page.find_axe_faults() == []
    # Closed and loaded anew, it is the same count.
    page.keyboard.press("Escape")
    studio_page.settle()
    page.reload()
    studio_page.settle()
    dialog = open_dialog(page)
    expect(dialog.locator("#compact-go")).to_have_text(re.compile("Compact 2,007 memories"))
    expect(page.locator("#compact-told")).to_have_text("2,007 memories would be compacted; summaries written: 9")
    assert studio_page.find_axe_faults() == []
    # A choice that leaves none is told at once, and the field keeps the focus.
    dialog.locator("#cd").fill("300")
    expect(dialog.locator("#compact-go")).to_have_text(re.compile("Nothing to compact"))
    expect(dialog.locator("#cd")).to_be_focused()
    dialog.locator("#cd").fill("0")
    expect(dialog.locator("#compact-days-told")).to_contain_text("greater than or equal to 1")
    expect(page.locator("#compact-told")).to_be_empty()
    dialog.locator("#cd").fill("30")
    expect(dialog.locator("#compact-go")).to_be_enabled()
    expect(dialog.locator("#compact-days-told")).to_be_empty()
    dialog.locator("#compact-go").click()
    expect(dialog).to_have_count(0)
    expect(page.locator("#changes")).to_contain_text("Compacting in the background")
    toast = page.locator(".toast", has_text="Compacted 2,007 memories into 9")
    expect(toast).to_be_visible()
    expect(page.locator("#changes .progress")).to_have_count(0)
    toast.get_by_role("button", name=re.compile("Undo")).click()
    expect(page.locator(".toast", has_text="Undone: 2,007 memories")).to_be_visible()
    studio_page.settle()


def test_a_phone_shows_the_count_without_scrolling_sideways(open_studio, key: Key):
    studio = open_studio(viewport=PHONE)
    page = studio.open(f"{MEMORY}/compact?days=30&owner={key.id}")
    expect(page.locator("#compact-go")).to_be_enabled()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert studio.find_axe_faults() == []


def test_without_a_script_the_page_counts_when_asked_and_is_looked_at_again(open_studio, key: Key):
    studio = open_studio(java_script_enabled=False)
    page = studio.open(f"{MEMORY}/compact?next={MEMORY}?key={key.id}")
    page.select_option("#co", key.id)
    page.get_by_role("button", name="Count").click()
    while page.get_by_role("link", name="Look again").count():
        page.get_by_role("link", name="Look again").click()
    expect(page.locator("#compact-go")).to_have_text(re.compile("Compact 2,007 memories"))
