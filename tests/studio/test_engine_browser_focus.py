"""The Engine page under the keyboard: tests keep the focus where it was, and asking saves nothing."""

import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.studio.browser import StudioPage


def test_a_test_gives_the_focus_back_to_its_button(open_studio: Callable[..., StudioPage]) -> None:
    studio = open_studio()
    page = studio.open("/dashboard/memory?tab=engine")
    page.locator("#engine-config-embedding input[value=static]").check(force=True)
    page.get_by_role("button", name="Test what is on the screen").press("Enter")
    expect(page.locator("#engine-config-embedding")).to_contain_text("256 numbers")
    expect(page.get_by_role("button", name="Test what is on the screen")).to_be_focused()


def test_enter_in_the_test_search_searches_and_saves_nothing(open_studio: Callable[..., StudioPage]) -> None:
    studio = open_studio()
    page = studio.open("/dashboard/memory?tab=engine")
    page.get_by_label("Host").fill("127.0.0.1")
    page.locator("#qdrant-query").fill("tea")
    page.locator("#qdrant-query").press("Enter")
    expect(page.locator("#qdrant-result")).to_contain_text(re.compile(r"\w+"))
    expect(page.get_by_label("Host")).to_have_value("127.0.0.1")
    page.get_by_role("button", name="Test search").press("Enter")
    expect(page.get_by_role("button", name="Test search")).to_be_focused()
    assert studio.server.manage("GET", "/api/settings/qdrant").json()["host"] == ""


def test_a_form_in_error_has_the_focus_on_its_first_wrong_field(open_studio: Callable[..., StudioPage]) -> None:
    page = open_studio().open("/dashboard/settings/providers/add")
    page.locator("input[name=name]").fill("Bad Name!")
    page.get_by_role("button", name="Add provider").click()
    expect(page.locator("input[name=name]")).to_be_focused()
