"""The Playground and the Engine page in a real Chromium: keyboard, address, poll, tests, themes, phone, no script.

Rows are touched through the server alone, see tests.studio.browser.
"""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.studio.browser import PHONE

PLAYGROUND = "/dashboard/memory?tab=playground"
ENGINE = "/dashboard/memory?tab=engine"
QUERY, SUBMIT = "[data-testid=playground-query-input]", "[data-testid=playground-submit]"
RESULTS = "#playground-results"
LONG = "tea " * 90
HOSTILE = "<img src=x onerror=alert(1)> </script><script>alert(1)</script> tea"


@pytest.fixture(scope="module")
def key(studio_server):
    """A key with a memory of each kind that a page could stumble over."""
    key = studio_server.take_key()
    contents = {
        "preference:tea": "green tea in the morning",
        "hostile": HOSTILE,
        "long" * 100: LONG,
        "rtl": "תה ירוק tea \u202etxt.exe",
    }
    for name, content in contents.items():
        body = {"apiKeyId": key.id, "key": name, "content": content}
        assert studio_server.manage("POST", "/api/memory", json=body).status_code == 200
    return key


@pytest.fixture(scope="module", autouse=True)
def static_model(studio_server):
    # Other modules leave texts that no static model can embed; they would be tried again and again.
    while memories := studio_server.manage("GET", "/api/memory", params={"limit": 200}).json()["data"]:
        for memory in memories:
            studio_server.manage("DELETE", f"/api/memory/{memory['id']}")
    studio_server.change_settings(staticEnabled=True, strategy="adaptive")
    studio_server.wait_until_idle()


def find_overflow(page) -> str:
    return page.evaluate(
        "() => document.documentElement.scrollWidth > innerWidth"
        " ? `page is ${document.documentElement.scrollWidth} wide` : ''"
    )


# --- the playground ---
def test_a_query_is_typed_entered_and_passed_on_as_a_link(studio_page, key):
    page = studio_page.open(f"{PLAYGROUND}&key={key.id}")
    expect(page.locator(SUBMIT)).to_be_disabled()
    page.fill(QUERY, "   ")
    expect(page.locator(SUBMIT)).to_be_disabled()
    page.fill(QUERY, "tea")
    expect(page.locator(SUBMIT)).to_be_enabled()

    page.press(QUERY, "Enter")

    expect(page.locator(f"{RESULTS} .hit").first).to_be_visible()
    expect(page.locator(QUERY)).to_be_focused()
    asked = parse_qs(urlsplit(page.url).query)
    assert asked["q"] == ["tea"]
    assert asked["key"] == [key.id]
    told = page.locator(".hit .mem-text").all_inner_texts()
    page.reload()
    assert page.locator(".hit .mem-text").all_inner_texts() == told
    assert any("<img src=x onerror" in text for text in told), "hostile text is shown as text"
    assert studio_page.find_axe_faults() == []


def test_two_strategies_are_compared_and_back_leads_to_one(studio_page, key):
    page = studio_page.open(f"{PLAYGROUND}&key={key.id}&q=tea&a=adaptive")
    seg_b = page.locator("[data-testid=playground-strategy-select-b]")
    expect(seg_b).to_be_hidden()
    page.check("#playground-compare")
    expect(seg_b).to_be_visible()
    seg_b.get_by_label("Exact").check()

    page.click(SUBMIT)

    expect(page.locator("#r-B")).to_have_text("Exact")
    assert page.locator(f"{RESULTS} .ranked").count() == 2
    assert studio_page.find_axe_faults() == []
    page.go_back()
    expect(page.locator("#r-A")).to_be_visible()
    expect(page.locator("#r-B")).to_have_count(0)


def test_a_memory_that_the_budget_cut_is_asked_why(studio_page, key):
    page = studio_page.open(f"{PLAYGROUND}&key={key.id}&q=tea&a=exact&budget=100")

    page.locator(".hit.left").get_by_role("link", name="Why?").first.click()

    expect(page.locator(".step.stop")).to_contain_text("This kept it out.")
    expect(page.locator(".step.stop")).to_contain_text("Token budget")
    assert studio_page.find_axe_faults() == []


def test_the_playground_works_before_any_script(open_studio, key):
    page = open_studio(java_script_enabled=False).open(f"{PLAYGROUND}&key={key.id}")

    page.fill(QUERY, "tea")
    page.click(SUBMIT)

    assert page.locator(f"{RESULTS} .hit").count() == 4
    assert "q=tea" in page.url


# --- the engine ---
def test_a_reindex_is_started_and_seen_to_its_end(studio_page, key):
    page = studio_page.open(ENGINE)
    card = page.locator("#reindex")
    card.locator("summary").click()

    card.get_by_role("button", name=re.compile("Rebuild the vectors of all")).click()

    expect(page.locator("#toasts")).to_contain_text("Reindexing")
    page.evaluate("() => { window.isSamePage = true; }")
    studio_page.server.wait_until_idle()
    page.get_by_role("button", name="Check now").click()
    expect(card).to_contain_text(re.compile(r"(\d+) of \1 memories"))
    expect(card.locator("[data-testid=reindex-now-button]")).to_be_enabled()
    assert page.evaluate("() => window.isSamePage"), "the poll brought it, not a reload"
    assert studio_page.find_axe_faults() == []


def test_a_source_is_tested_with_what_is_on_the_screen_and_a_poll_leaves_fields_alone(studio_page):
    before = studio_page.server.manage("GET", "/api/settings/memory").json()
    page = studio_page.open(ENGINE)
    page.get_by_label("Static model", exact=False).first.check()
    page.fill("#qd-h", "qdrant.example")

    page.click("[data-testid=embedding-test-button]")

    expect(page.locator("#embedding-test-result")).to_contain_text(re.compile(r"\d+ numbers in [\d.]+ ms"))
    page.focus("#qd-h")
    with page.expect_response(lambda response: "engine/status" in response.url):
        page.evaluate("() => htmx.trigger('#engine-poll', 'engine-check')")
    studio_page.settle()
    expect(page.locator("#qd-h")).to_have_value("qdrant.example")
    expect(page.locator("#qd-h")).to_be_focused()
    assert studio_page.server.manage("GET", "/api/settings/memory").json() == before


def test_an_endpoint_that_does_not_answer_is_told_beside_the_button(studio_page):
    page = studio_page.open(ENGINE)
    page.get_by_label("Custom endpoint", exact=False).first.check()
    page.fill("#em-url", "http://127.0.0.1:9/v1")
    page.fill("#em-mid", "m")

    page.click("[data-testid=embedding-test-button]")

    expect(page.locator("#embedding-test-result .dot.bad")).to_be_visible()
    assert studio_page.find_axe_faults() == []


def test_the_poll_rests_while_nobody_looks(studio_page):
    page = studio_page.open(ENGINE)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "engine/status" in request.url else None)
    page.evaluate("() => Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
    page.evaluate("() => htmx.trigger('#engine-poll', 'engine-check')")
    assert asked == []

    page.evaluate("() => Object.defineProperty(document, 'hidden', { value: false, configurable: true })")
    with page.expect_response(lambda response: "engine/status" in response.url):
        page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    studio_page.settle()


def test_a_link_of_a_row_leads_to_its_form_by_keyboard(studio_page):
    page = studio_page.open(ENGINE)
    page.get_by_role("link", name="Configure Rerank").focus()
    page.keyboard.press("Enter")

    expect(page.locator("#engine-config-rerank")).to_be_focused()
    assert page.url.endswith("#engine-config-rerank")


# --- themes and sizes ---
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("path", [ENGINE, f"{PLAYGROUND}&q=tea&compare=on&a=adaptive&b=hybrid&budget=100"])
def test_both_pages_stand_in_both_themes_on_desktop_and_phone(open_studio, key, theme, size, path):
    opened = open_studio(viewport=PHONE, is_mobile=True, has_touch=True) if size == "phone" else open_studio()
    opened.set_theme(theme)

    page = opened.open(path)

    ground = page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor")
    assert (ground == "rgb(13, 18, 19)") == (theme == "dark"), ground
    assert find_overflow(page) == ""
    assert opened.find_axe_faults() == []
