"""The Memories page in a real Chromium when something is in the way: where the focus goes, and what is kept."""

import re

from playwright.sync_api import Page, expect

from tests.studio.browser import PHONE, StudioPage
from tests.studio.memories_browser import remember, see_rows
from tests.studio.memories_page import MEMORY


def open_edit(page: Page, number: int = 0) -> None:
    row = page.locator("tr.open").nth(number)
    row.hover()
    row.get_by_label(re.compile("^Edit ")).click()
    expect(page.locator("#e-content")).to_be_focused()


def fill_add(page: Page, key: str, content: str) -> None:
    page.get_by_role("link", name="Add memory").click()
    page.locator("#a-key").fill(key)
    page.locator("#a-content").fill(content)


# --- focus ---
def test_the_focus_stays_where_it_was_whatever_is_swapped(studio_page, key):
    for number in range(25):
        remember(studio_page.server, key, f"note {number}", name=f"n:{number:02}")
    page = studio_page.open(f"{MEMORY}?key={key.id}")
    studio_page.settle()
    page.locator("#sort-key").press("Enter")
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("Memory")
    expect(page.locator("#sort-key")).to_be_focused()
    # On the last page there is no next one to stay on.
    page.locator("#pager-next").press("Enter")
    expect(page.locator("#pager-told")).to_have_text(re.compile("21–25"))
    expect(page.locator("#pager-previous")).to_be_focused()


def test_the_focus_is_on_the_row_after_its_form_and_keys_act_on_it(listed):
    page = listed.page
    open_edit(page, 1)
    page.keyboard.press("Escape")
    row = page.locator("tr.open").nth(1)
    expect(row.locator("a.mem-text")).to_be_focused()
    page.keyboard.press("e")
    page.locator("#e-content").fill("Python no more")
    page.keyboard.press("Control+Enter")
    expect(row.locator("a.mem-text")).to_be_focused()
    page.keyboard.press("z")
    see_rows(page, "Postgres here", "Python for build scripts", "TypeScript for every new service")
    listed.settle()
    page.keyboard.press("x")
    expect(page.locator("tbody .check:checked")).to_have_count(1)


def test_a_form_in_error_leads_to_the_first_field_in_error_and_counts_what_it_holds(listed):
    page = listed.page
    fill_add(page, "new:key", "I drink tea")
    page.locator("dialog summary").click()
    page.locator("#a-metadata").fill("{bad")
    page.locator("dialog[open] button[type=submit]").click()
    expect(page.locator("#a-metadata")).to_be_focused()
    expect(page.locator("#a-content-told")).to_contain_text("11 characters, about 3 tokens")


def test_the_open_memory_is_marked_in_the_list(listed):
    page = listed.page
    page.locator("a.mem-text").nth(1).click()
    expect(page.locator("tr.current")).to_have_count(1)
    expect(page.locator("tr.open").nth(1)).to_have_class(re.compile("current"))
    expect(page).to_have_title(re.compile("^preference:1"))
    page.keyboard.press("Escape")
    expect(page.locator("tr.current")).to_have_count(0)
    expect(page).to_have_title(re.compile("^Memories"))


# --- what goes wrong on the way ---
def test_a_server_that_is_gone_is_told_in_the_dialog_and_nothing_typed_is_lost(listed):
    page = listed.page
    fill_add(page, "late:key", "Kept while the server was away")
    page.context.set_offline(True)
    page.locator("dialog[open] button[type=submit]").click()
    told = page.locator("dialog[open] [role=alert]")
    expect(told).to_contain_text("What you typed is still here")
    expect(page.locator("#toasts .toast")).to_have_count(0)
    assert listed.find_axe_faults() == []
    page.context.set_offline(False)
    page.locator("dialog[open] button[type=submit]").click()
    expect(page.locator("dialog[open]")).to_have_count(0)
    see_rows(
        page,
        "Kept while the server was away",
        "Postgres here",
        "Python for build scripts",
        "TypeScript for every new service",
    )
    listed.watch.faults.clear()


def test_a_form_that_was_open_while_somebody_signed_in_anew_is_still_saved(listed, operator):
    page = listed.page
    open_edit(page)
    page.locator("#e-content").fill("Typed before, saved after")
    page.context.clear_cookies(name="sessionid")
    other = page.context.new_page()
    other.goto(f"{listed.server.base_url}/dashboard/sign-in")
    other.fill("#u", operator.name)
    other.fill("#p", operator.password)
    other.click("button[type=submit]")
    other.wait_for_url(f"**{MEMORY}")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#toasts")).to_contain_text("Saved 1 memory")
    expect(page.locator("tr.open a.mem-text").first).to_have_text("Typed before, saved after")


def test_a_session_that_ended_leads_to_sign_in_and_back(listed, operator, key):
    page = listed.page
    page.context.clear_cookies(name="sessionid")
    page.locator("a.mem-text").first.click()
    page.wait_for_url("**/dashboard/sign-in?next=*")
    page.fill("#u", operator.name)
    page.fill("#p", operator.password)
    page.click("button[type=submit]")
    page.wait_for_url(f"**{MEMORY}?key={key.id}")


# --- other ways in ---
def open_own_list(studio: StudioPage, key_id: str, more: str = "") -> Page:
    page = studio.open(f"{MEMORY}?key={key_id}{more}")
    expect(page.locator("tr.open").first).to_be_visible()
    return page


def test_without_a_script_ticked_memories_are_deleted_and_nothing_is_waited_for(open_studio, key):
    studio = open_studio(java_script_enabled=False)
    for name in ("one", "two", "three"):
        remember(studio.server, key, name)
    page = open_own_list(studio, key.id)
    expect(page.locator("#figures")).to_be_hidden()
    expect(page.get_by_text("looking …")).to_be_hidden()
    for number in (0, 1):
        page.locator("tbody .check").nth(number).check()
    page.locator(".selbar").get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete 2 memories").click()
    see_rows(page, "one")
    page.get_by_role("button", name="Undo").click()
    see_rows(page, "three", "two", "one")


def test_on_a_phone_nothing_sticks_out_and_a_form_is_not_covered(open_studio, key):
    studio = open_studio(viewport=PHONE, has_touch=True, is_mobile=True)
    for name in ("one", "two"):
        remember(studio.server, key, name, type="factual")
    page = open_own_list(studio, key.id, "&type=factual&used=never")
    studio.settle()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.locator("tbody .check").first.check()
    expect(page.locator(".selbar")).to_be_visible()
    page.locator("a.mem-text").nth(1).click()
    page.locator("[data-drawer-edit]").click()
    expect(page.locator("#e-content")).to_be_visible()
    expect(page.locator(".selbar")).to_be_hidden()


# --- a row's form ---
def test_what_is_typed_into_a_row_outlasts_a_list_that_comes_anew(listed, key):
    page = listed.page
    open_edit(page, 0)
    page.locator("#e-content").fill("Half a sentence")
    # Another memory is deleted meanwhile; the list that would show it waits for the form.
    other = page.locator("tr.open").nth(0)
    other.hover()
    other.get_by_label(re.compile("^Delete ")).click()
    page.locator("dialog[open] .dialog-foot button[type=submit]").click()
    expect(page.locator("#toasts")).to_contain_text("Deleted 1 memory")
    listed.settle()
    expect(page.locator("#e-content")).to_have_value("Half a sentence")
    # Neither a search nor another row's form takes its place.
    page.locator("#q").fill("TypeScript")
    expect(page.locator("#toasts [role=alert]")).to_contain_text("Save or cancel what you are editing first")
    expect(page.locator("#e-content")).to_be_focused()
    page.keyboard.press("Control+Enter")
    see_rows(page, "Half a sentence", "TypeScript for every new service")


def test_one_row_at_a_time_has_a_form(listed):
    page = listed.page
    open_edit(page, 0)
    page.locator("tr.open").nth(1).hover()
    page.locator("tr.open").nth(1).get_by_label(re.compile("^Edit ")).click()
    expect(page.locator("tr.edit-row")).to_have_count(1)
    expect(page.locator("#e-content")).to_have_value("TypeScript for every new service")
    expect(page.locator("#e-content")).to_be_focused()
