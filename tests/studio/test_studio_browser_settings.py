"""Settings and overview in a real Chromium: saved and still there, errors at their fields, keys once, charts drawn."""

import re
import secrets
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.live_server import LiveServer
from tests.studio.browser import DESKTOP, PHONE, StudioPage
from tests.upstream_replies import json_reply
from tests.upstream_stub import UpstreamStub

SETTINGS = "/dashboard/settings"
OVERVIEW = "/dashboard/overview"
FILL = """
from datetime import timedelta
from django.utils import timezone
from core.accounts.keys import create_api_key
from gateway.models import RequestLog
from memory.models import Memory
from memory import services
from memory.records import MemoryDraft
key, _ = create_api_key("charted")
now = timezone.now()
for day in range(8):
    record = services.create(MemoryDraft(key.id, f"chart {day}", f"what was said {day} days ago"))
    Memory.objects.owned_by(key.id).filter(uuid=record.id).update(created_at=now - timedelta(days=day))
    for tier in ("adaptive", "fts5"):
        RequestLog.objects.create(
            request_id=f"{tier}-{day}", created_at=now - timedelta(days=day), api_key_id=key.id, key_name=key.name,
            status=200, outcome="answered", duration_ms=9, tier=tier, retrieval_ms=2.0 + day, memories_injected=2,
            memory_tokens=40 + day)
"""
# How many colours a canvas shows, where an empty one has one, and which of them is the most frequent.
READ_COLOURS = """canvas => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const {data} = copy.getImageData(0, 0, canvas.width, canvas.height);
  const counts = {};
  for (let at = 0; at < data.length; at += 4) {
    const colour = data.slice(at, at + 4).join();
    counts[colour] = (counts[colour] || 0) + 1;
  }
  const opaque = Object.entries(counts).filter(([colour]) => colour.endsWith(",255"));
  return {count: Object.keys(counts).length, main: opaque.sort((a, b) => b[1] - a[1])[0]?.[0]};
}"""


@pytest.fixture(scope="module")
def filled_server(studio_server: LiveServer) -> LiveServer:
    studio_server.run_command("shell", "--verbosity", "0", "-c", FILL)
    return studio_server


@pytest.fixture(autouse=True)
def settings_as_they_were(studio_server: LiveServer):
    before = studio_server.manage("GET", "/api/settings/memory").json()
    yield
    changed = {name: before[name] for name in ("enabled", "maxTokens", "retentionDays", "strategy")}
    studio_server.change_settings(**changed)


def read_settings(server: LiveServer) -> dict[str, object]:
    return dict(server.manage("GET", "/api/settings/memory").json())


def has_sideways_scroll(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


def test_settings_are_counted_saved_together_and_there_after_a_reload(studio_page: StudioPage) -> None:
    studio_page.server.change_settings(strategy="hybrid", maxTokens=2000)
    page = studio_page.open(SETTINGS)
    bar = page.locator("[data-savebar]")
    expect(bar).to_be_hidden()

    page.fill("#f-maxTokens", "1234")
    page.check("input[name=strategy][value=adaptive]")
    expect(bar).to_contain_text("2 changes not saved")
    page.fill("#f-maxTokens", "2000")
    expect(bar).to_contain_text("1 change not saved")
    page.fill("#f-maxTokens", "1234")
    page.keyboard.press("Control+Enter")

    expect(page.locator("#toasts")).to_contain_text("Settings are saved")
    expect(bar).to_be_hidden()
    page.reload()
    expect(page.locator("#f-maxTokens")).to_have_value("1234")
    expect(page.locator("input[value=adaptive]")).to_be_checked()
    assert read_settings(studio_page.server)["strategy"] == "adaptive"


def test_an_impossible_value_is_told_at_its_field_which_gets_the_focus(studio_page: StudioPage) -> None:
    studio_page.server.change_settings(retentionDays=30, maxTokens=2000)
    page = studio_page.open(SETTINGS)
    page.fill("#f-retentionDays", "400")
    page.fill("#f-maxTokens", "900")
    page.click("[data-savebar] button[type=submit]")

    field = page.locator("#f-retentionDays")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_be_focused()
    expect(page.locator("#retentionDays-error")).to_contain_text("Must be between 1 and 365")
    expect(page.locator("#f-maxTokens")).to_have_value("900")
    expect(page.locator("[data-savebar]")).to_contain_text("2 changes not saved")
    assert read_settings(studio_page.server)["maxTokens"] != 900
    assert studio_page.find_axe_faults() == []


def test_leaving_with_changes_asks_and_discarding_them_does_not(studio_page: StudioPage) -> None:
    page = studio_page.open(SETTINGS)
    asked: list[str] = []
    page.on("dialog", lambda dialog: asked.append(dialog.type))

    page.fill("#f-maxTokens", "77")
    page.click("nav.tabs a:has-text('Providers')")
    expect(page.locator("#f-maxTokens")).to_have_value("77")
    assert asked == ["beforeunload"]

    page.click("[data-discard]")
    expect(page.locator("#f-maxTokens")).not_to_have_value("77")
    assert asked == ["beforeunload"]


def test_turning_memory_on_tells_what_it_costs_before_it_is_saved(studio_page: StudioPage) -> None:
    studio_page.server.change_settings(enabled=False)
    page = studio_page.open(SETTINGS)
    warning = page.locator("#token-cost")
    expect(warning).to_be_hidden()

    page.locator("#f-enabled").check()
    expect(warning).to_be_visible()
    expect(warning).to_contain_text("tokens a request")
    expect(page.locator(".when-text")).to_be_hidden()
    page.locator("#f-requestLogText").check()
    expect(page.locator(".when-text")).to_be_visible()
    page.locator("[data-discard]").click()


def test_a_key_is_shown_once_works_and_is_revoked_after_a_question(studio_page: StudioPage) -> None:
    server, name = studio_page.server, f"laptop-{secrets.token_hex(3)}"
    page = studio_page.open(f"{SETTINGS}/keys/new")
    page.fill("#f-name", name)
    page.click("button:has-text('Make key')")

    bare_key = page.locator("#bare-key").inner_text()
    assert re.fullmatch(r"omr_[\w-]{43}", bare_key)
    assert studio_page.find_axe_faults() == []
    answer = server.client.get("/v1/models", headers={"Authorization": f"Bearer {bare_key}"})
    assert answer.status_code == 200
    page.reload()
    expect(page.locator("#f-name")).to_have_value("")
    assert bare_key not in page.content()

    page = studio_page.open(f"{SETTINGS}/keys")
    page.get_by_role("link", name=f"Revoke {name}").click()
    expect(page.locator("dialog[open]")).to_contain_text("refused from now on")
    assert studio_page.find_axe_faults() == []
    page.click("dialog[open] button:has-text('Revoke key')")
    expect(page.locator("tr", has_text=name)).to_contain_text("revoked")
    assert server.client.get("/v1/models", headers={"Authorization": f"Bearer {bare_key}"}).status_code == 401


def test_erasing_a_key_needs_the_exact_number(studio_page: StudioPage) -> None:
    server = studio_page.server
    key = server.take_key()
    server.remember(key, "The user has a cat.")
    page = studio_page.open(f"{SETTINGS}/keys/{key.id}/erase")
    button = page.locator("[data-when-typed]")

    page.locator("#f-typed").press_sequentially("erase 2")
    expect(button).to_be_disabled()
    page.fill("#f-typed", "erase 1")
    expect(button).to_be_enabled()
    assert studio_page.find_axe_faults() == []
    button.click()

    expect(page.locator("main")).to_contain_text("memories")
    expect(page.locator("pre")).to_contain_text('"apiKeyId"')
    assert server.list_memories(key) == []


def test_a_provider_is_tried_before_it_is_added_and_removed_after_a_question(
    studio_page: StudioPage, session_upstream: UpstreamStub
) -> None:
    session_upstream.reset()
    session_upstream.reply_with(json_reply({"data": [{"id": "one"}, {"id": "two"}]}))
    name = f"mine-{secrets.token_hex(3)}"
    page = studio_page.open(f"{SETTINGS}/providers/add")
    page.fill("#f-name", name)
    page.fill("#f-base-url", "http://127.0.0.1:9/v1")
    page.fill("#f-api-key", "a-key-for-the-stub-0042")
    page.click("button:has-text('Test connection')")
    expect(page.locator("#provider-test")).to_contain_text("It did not work.")

    page.fill("#f-base-url", session_upstream.base_url)
    page.click("button:has-text('Test connection')")
    expect(page.locator("#provider-test")).to_contain_text("It lists 2 models.")
    expect(page.locator("#f-api-key")).to_have_value("a-key-for-the-stub-0042")
    assert studio_page.find_axe_faults() == []
    page.get_by_role("button", name="Add provider").click()

    row = page.locator("tr", has_text=name)
    expect(row).to_contain_text("••••0042")
    page.get_by_role("link", name=f"Remove {name}").click()
    page.click("dialog[open] button:has-text('Remove provider')")
    expect(page.locator("#toasts")).to_contain_text(f"{name} is removed")
    session_upstream.reset()


def test_charts_are_drawn_and_take_the_colours_of_the_theme(
    open_studio: Callable[..., StudioPage], filled_server: LiveServer
) -> None:
    studio = open_studio()
    studio.set_theme("light")
    page = studio.open(f"{OVERVIEW}?days=30")
    canvases = page.locator("[data-chart] canvas")
    expect(canvases).to_have_count(3)
    light = [canvases.nth(at).evaluate(READ_COLOURS) for at in range(3)]
    assert all(colours["count"] > 5 for colours in light)
    assert studio.find_axe_faults() == []

    page.locator(".plot").first.hover()
    expect(page.locator("[data-told]").first).to_contain_text("factual")
    page.locator("summary").first.click()
    expect(page.locator("details[open] td").first).to_be_visible()

    page.click("[data-theme-toggle]")
    expect(page.locator("[data-chart] canvas")).to_have_count(3)
    dark = [canvases.nth(at).evaluate(READ_COLOURS) for at in range(3)]
    assert all(before["main"] != after["main"] for before, after in zip(light, dark, strict=True))
    assert studio.find_axe_faults() == []


def test_charts_shrink_with_the_window(open_studio: Callable[..., StudioPage], filled_server: LiveServer) -> None:
    page = open_studio().open(OVERVIEW)
    canvas = page.locator("[data-chart] canvas").first
    wide = canvas.evaluate("canvas => canvas.clientWidth")

    page.set_viewport_size(PHONE)
    page.wait_for_function("wide => document.querySelector('[data-chart] canvas').clientWidth < wide", arg=wide - 50)
    assert not has_sideways_scroll(page)


@pytest.mark.parametrize(("viewport", "theme"), [(PHONE, "dark"), (DESKTOP, "light")], ids=["phone", "desktop"])
def test_every_page_fits_its_window_and_is_accessible(
    open_studio: Callable[..., StudioPage], filled_server: LiveServer, viewport: dict[str, int], theme: str
) -> None:
    paths = (OVERVIEW, SETTINGS, f"{SETTINGS}/providers", f"{SETTINGS}/providers/add?name=openai", f"{SETTINGS}/keys")
    studio = open_studio(viewport=viewport)
    studio.set_theme(theme)
    for path in paths:
        page = studio.open(path)
        assert not has_sideways_scroll(page), path
        assert studio.find_axe_faults() == [], path


def test_without_script_settings_are_saved_and_charts_are_tables(
    open_studio: Callable[..., StudioPage], filled_server: LiveServer
) -> None:
    studio = open_studio(java_script_enabled=False)
    page = studio.open(SETTINGS)
    page.fill("#f-maxTokens", "1777")
    page.click("[data-savebar] button[type=submit]")
    expect(page.locator("#f-maxTokens")).to_have_value("1777")
    assert read_settings(filled_server)["maxTokens"] == 1777

    page = studio.open(OVERVIEW)
    page.locator("summary", has_text="Show as table").first.click()
    expect(page.locator("details[open] td").first).to_be_visible()
    expect(page.locator("[data-chart]").first).to_be_hidden()
