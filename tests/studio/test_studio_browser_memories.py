"""The Memories page in a real Chromium: found, paged and read with the mouse, the keyboard and a phone."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.studio.browser import DESKTOP, PHONE
from tests.studio.hostile_texts import XSS
from tests.studio.memories_browser import remember, see_rows
from tests.studio.memories_page import MEMORY


def test_an_operator_signs_in_and_is_where_they_wanted_to_be(open_studio, operator):
    studio = open_studio(signed_in=False)
    page = studio.open(f"{MEMORY}?q=tea")
    page.fill("#u", operator.name)
    page.fill("#p", "wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("That did not match.")
    expect(page.locator("#p")).to_be_focused()
    assert studio.find_axe_faults() == []
    page.fill("#p", operator.password)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{MEMORY}?q=tea")
    page.get_by_label("Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_the_search_waits_for_the_last_letter_and_stays_in_the_address(listed, key):
    page = listed.page
    asked = []
    page.on("request", lambda request: asked.append(request.url) if f"{MEMORY}?" in request.url else None)
    # One after the other, but in one go: a busy machine may take longer for six keys than the search waits.
    page.locator("#q").evaluate("""field => [..."postgr"].forEach((letter) => {
        field.focus();
        field.value += letter;
        field.dispatchEvent(new InputEvent("input", {bubbles: true}));
    })""")
    see_rows(page, "Postgres here")
    assert len(asked) == 1
    page.wait_for_url(f"**{MEMORY}?q=postgr&key={key.id}")
    expect(page.locator("#q")).to_be_focused()
    expect(page.locator("#told")).to_contain_text("Memories 1 to 1")
    page.reload()
    see_rows(page, "Postgres here")
    assert page.locator("#q").input_value() == "postgr"
    page.locator("#q").fill("nothing like it")
    expect(page.get_by_role("heading", name="No memory says “nothing like it”")).to_be_visible()
    page.get_by_role("link", name="Clear", exact=True).click()
    page.wait_for_url(f"**{MEMORY}")


def test_a_row_found_by_a_search_opens_and_stays_open(listed):
    page = listed.page
    page.locator("#q").fill("postgr")
    page.wait_for_url("**q=postgr*")
    listed.settle()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.headers.get("hx-target", "")))
    # Leaving the field, whose text has changed, must not ask for the list again, which would close the drawer.
    page.locator("tr.open a.mem-text").first.click()
    expect(page.locator(".drawer")).to_be_visible()
    listed.settle()
    assert "list" not in asked
    expect(page.locator(".drawer")).to_be_visible()


def test_filters_mark_themselves_and_go_back_to_the_first_page(listed, key):
    page = listed.page
    page.locator("#f-type").select_option("episodic")
    expect(page.locator("#f-type")).to_have_class(re.compile(r"\bon\b"))
    page.wait_for_url(f"**{MEMORY}?type=episodic&key={key.id}")
    expect(page.get_by_text("exist outside these filters")).to_be_visible()


def test_paging_is_in_the_history(studio_page, key):
    for number in range(25):
        remember(studio_page.server, key, f"memory {number}")
    page = studio_page.open(f"{MEMORY}?key={key.id}")
    expect(page.locator("#pager-told")).to_have_text("1–20 of 25")
    page.get_by_role("link", name="Next", exact=True).click()
    expect(page.locator("#pager-told")).to_have_text("21–25 of 25")
    page.wait_for_url(f"**{MEMORY}?key={key.id}&page=2")
    page.go_back()
    expect(page.locator("#pager-told")).to_have_text("1–20 of 25")
    expect(page.locator("tbody tr.open")).to_have_count(20)


def test_the_keyboard_is_enough(listed):
    page = listed.page
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("tr.cursor a.mem-text")).to_have_text("Python for build scripts")
    page.keyboard.press("Enter")
    expect(page.locator("aside.drawer")).to_contain_text("preference:1")
    expect(page.locator("aside.drawer")).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator("aside.drawer")).to_contain_text("preference:0")
    expect(page.locator("aside.drawer")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("aside.drawer")).to_have_count(0)
    page.keyboard.press("k")
    page.keyboard.press("x")
    expect(page.locator(".selbar")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".selbar")).to_be_hidden()
    page.keyboard.press("?")
    dialog = page.locator("dialog#keys")
    expect(dialog).to_be_visible()
    assert listed.find_axe_faults() == []
    dialog.get_by_label("Single keys act").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.locator("#q")).not_to_be_focused()
    page.reload()
    page.keyboard.press("/")
    expect(page.locator("#q")).not_to_be_focused()


def test_the_drawer_has_an_address_of_its_own(listed):
    page = listed.page
    page.locator("a.mem-text", has_text="Postgres here").click()
    expect(page.locator("aside.drawer .said")).to_have_text("Postgres here")
    assert "&id=" in page.url
    page.reload()
    expect(page.locator("aside.drawer .said")).to_have_text("Postgres here")
    page.locator("aside.drawer").get_by_role("link", name="Edit").click()
    expect(page.locator(".edit-row #e-content")).to_be_visible()
    page.locator(".edit-row").get_by_role("button", name="Cancel").click()
    page.locator("a.mem-text", has_text="Postgres here").click()
    expect(page.locator("aside.drawer")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("a.mem-text", has_text="Postgres here")).to_be_focused()


def test_rw_061_nothing_that_a_model_wrote_runs(studio_page, key):
    """The watch fails the test if a dialog opens, the policy is violated or anything is loaded from elsewhere."""
    for number, text in enumerate(XSS):
        metadata = {"statement": text, "source": text, "polarity": "negative", text: text}
        remember(studio_page.server, key, text, name=f"{text}{number}", sessionId=text, metadata=metadata)
    page = studio_page.open(f"{MEMORY}?key={key.id}")
    expect(page.locator("tbody tr.open")).to_have_count(len(XSS))
    see_rows(page, *reversed(XSS))
    assert page.locator("main img, main script, main iframe, [onerror], [onload], [onmouseover]").count() == 0
    for number in range(len(XSS)):
        page.locator("a.mem-text").nth(number).click()
        expect(page.locator("aside.drawer .said")).to_have_text(XSS[len(XSS) - 1 - number])
    expect(page.locator("aside.drawer")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("e")
    expect(page.locator("#e-content")).to_have_value(XSS[0])
    page.locator(".edit-row [data-cancel]").click()
    page.locator("#q").fill("<svg onload=alert(1)>")
    see_rows(page, "<svg onload=alert(1)>")
    page.locator("#q").fill('"><svg onload=alert(1)> nowhere')
    expect(page.locator(".empty h2")).to_contain_text("<svg onload=alert(1)>")


def test_long_texts_and_other_scripts_stay_in_their_columns(open_studio, key):
    studio = open_studio(viewport=PHONE)
    soon = (datetime.now(UTC) + timedelta(days=2)).isoformat()
    remember(studio.server, key, "x" * 3000, name="k" * 500, sessionId="s" * 250, expiresAt=soon)
    remember(studio.server, key, "يفضل الاتصال بعد الساعة الخامسة مساءً", name="contact:callback")
    page = studio.open(f"{MEMORY}?key={key.id}")
    expect(page.locator("tbody tr.open")).to_have_count(2)
    for width in (320, 390, 768, 1024, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    direction = page.locator("a.mem-text").first.evaluate("node => getComputedStyle(node).direction")
    assert direction == "rtl"


@pytest.mark.parametrize(("theme", "viewport"), [("light", DESKTOP), ("dark", DESKTOP), ("dark", PHONE)])
def test_no_serious_accessibility_fault_in_any_state(open_studio, key, theme, viewport):
    studio = open_studio(viewport=viewport)
    studio.set_theme(theme)
    record = remember(
        studio.server, key, "Postgres for this project", name="decision:db", metadata={"polarity": "negative"}
    )
    remember(studio.server, key, "postgres for this PROJECT", name="decision:twin")
    page = studio.open(f"{MEMORY}?key={key.id}")
    assert page.locator("html").get_attribute("data-theme") == theme
    studio.settle()
    assert studio.find_axe_faults() == []
    paths = (
        f"?key={key.id}&id={record['id']}",
        "?q=nowhere-to-be-found",
        f"/add?next={MEMORY}",
        f"/edit/{record['id']}",
        "/import",
        "/compact",
    )
    # A phone shows the forms as a narrow desktop would.
    for path in paths if viewport == DESKTOP else paths[:1]:
        studio.open(f"{MEMORY}{path}")
        assert (path, studio.find_axe_faults()) == (path, [])


def test_the_theme_is_switched_without_a_reload_and_kept(studio_page):
    page = studio_page.open(MEMORY)
    before = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    page.get_by_label("Switch between light and dark").click()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") != before
    after = page.locator("html").get_attribute("data-theme")
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == after


def test_dates_are_in_the_operators_zone(open_studio, key):
    studio = open_studio(timezone_id="Asia/Tokyo")
    remember(studio.server, key, "tea")
    studio.open(MEMORY)
    page = studio.open(f"{MEMORY}?key={key.id}")
    expect(page.locator("tbody time")).to_have_attribute("title", re.compile(r"\(Asia/Tokyo\)$"))


def test_what_the_server_cannot_do_is_told_and_the_page_stays(listed):
    page = listed.page
    page.route("**/dashboard/memory?**", lambda route: route.fulfill(status=502, body="<h1>Bad gateway</h1>"))
    page.locator("#q").fill("anything")
    expect(page.locator("#toasts [role=alert]")).to_contain_text("did not answer as it should")
    see_rows(page, "Postgres here", "Python for build scripts", "TypeScript for every new service")
    page.unroute_all()
    listed.watch.faults.clear()
