"""The Requests page in a real browser, with calls that really went through the gateway."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.live_server import LiveServer, wait_until
from tests.studio.browser import PHONE, StudioPage

PAGE = "/dashboard/requests"


@pytest.fixture
def memory_key(studio_server: LiveServer) -> tuple[str, str]:
    """Two chats of a fresh key, one with memories; returns the key of one of them and the API key's id."""
    key = studio_server.take_key()
    memory = studio_server.remember(key, "The user likes green tea")
    for kind in ("black", "white", "mint"):  # several links, one below the other
        studio_server.remember(key, f"The user likes {kind} tea")
    studio_server.chat(key, "I prefer jasmine tea.", headers={"x-omniroute-session-id": f"tea-{key.id}"})
    studio_server.chat(key, "hello", headers={"x-omniroute-no-memory": "1"})
    studio_server.wait_until_idle()
    return str(memory["key"]), key.id


def wait_for_log(studio: StudioPage, query: str, count: int) -> None:
    """The log is written beside the chats, half a second later at the latest."""

    def is_there() -> bool:
        studio.open(f"{PAGE}?{query}")
        return studio.page.locator("#requests tr.open").count() == count

    wait_until(is_there, "the requests are not in the log")


def test_a_request_is_found_opened_and_followed_to_its_memory(
    studio_page: StudioPage, memory_key: tuple[str, str]
) -> None:
    stored_key, owner = memory_key
    wait_for_log(studio_page, f"key={owner}", 2)
    page = studio_page.page
    page.focus("#requests-use")
    page.select_option("#requests-use", "injected")
    expect(page.locator("#requests tr.open")).to_have_count(1)
    assert "use=injected" in page.url
    expect(page.locator("#requests-use")).to_be_focused()
    page.locator("#requests tr.open").click()
    expect(page.locator("tr.detail")).to_contain_text(stored_key)
    expect(page.locator("tr.detail")).to_contain_text("jasmine")
    assert "open=" in page.url
    studio_page.settle()
    assert studio_page.find_axe_faults() == []
    page.go_back()
    expect(page.locator("tr.detail")).to_have_count(0)
    page.fill("#requests-text", "no-such-request")
    expect(page.locator("#requests")).to_contain_text("No request matches")
    page.fill("#requests-text", f"tea-{owner}")
    expect(page.locator("#requests tr.open")).to_have_count(1)
    page.locator("#requests tr.open").click()
    page.get_by_role("link", name="Own page").click()
    page.wait_for_url(re.compile(r"/dashboard/requests/[0-9a-f]{32}"))
    assert studio_page.find_axe_faults() == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_fits_a_phone(open_studio: Callable[..., StudioPage], memory_key: tuple[str, str], theme: str) -> None:
    studio = open_studio(viewport=PHONE)
    studio.set_theme(theme)
    wait_for_log(studio, f"key={memory_key[1]}", 2)
    studio.page.locator("#requests tr.open").first.click()
    expect(studio.page.locator("tr.detail")).to_be_visible()
    studio.settle()
    assert studio.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert studio.find_axe_faults() == []
