"""Memories changed in a real Chromium: added, edited, deleted, merged, imported, erased, and taken back."""

import json

from playwright.sync_api import expect

from tests.studio.memories_browser import delete_row, remember, see_rows
from tests.studio.memories_page import MEMORY


def test_a_memory_is_added_with_its_owner_named(listed, key):
    page = listed.page
    page.get_by_role("link", name="Add memory").click()
    dialog = page.locator("dialog[open]")
    assert dialog.locator("#a-owner").input_value() == key.id
    dialog.locator("#a-key").fill("preference:0")
    dialog.locator("#a-content").fill("I drink tea")
    expect(dialog.locator("#a-content-told")).to_contain_text("11 characters, about 3 tokens")
    dialog.get_by_role("button", name="Add memory").click()
    expect(dialog.locator("#a-key-e")).to_contain_text("already has this key")
    assert listed.find_axe_faults() == []
    dialog.locator("#a-key").fill("preference:tea")
    dialog.get_by_role("button", name="Add memory").click()
    see_rows(page, "I drink tea", "Postgres here", "Python for build scripts", "TypeScript for every new service")
    expect(page.locator("#toasts")).to_contain_text("Added 1 memory")
    expect(page.get_by_role("link", name="Add memory")).to_be_focused()


def test_a_row_is_edited_in_its_place_and_the_edit_undone(listed):
    page = listed.page
    page.locator("tr.open").nth(1).hover()
    page.get_by_label("Edit preference:1").click()
    expect(page.locator("#e-content")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".edit-row")).to_have_count(0)
    page.locator("tr.open").nth(1).hover()
    page.get_by_label("Edit preference:1").click()
    expect(page.locator("#e-content")).to_be_focused()
    page.locator("#e-key").fill("preference:0")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#e-key-e")).to_contain_text("has this key")
    expect(page.locator("#e-key")).to_be_focused()
    page.locator("#e-key").fill("preference:1")
    page.locator("#e-content").fill("Rust for build scripts")
    page.keyboard.press("Control+Enter")
    see_rows(page, "Postgres here", "Rust for build scripts", "TypeScript for every new service")
    page.locator("#toasts [data-undo]").click()
    see_rows(page, "Postgres here", "Python for build scripts", "TypeScript for every new service")


def test_a_deletion_asks_and_is_undone_with_a_key(listed):
    page = listed.page
    delete_row(page, 0)
    see_rows(page, "Python for build scripts", "TypeScript for every new service")
    expect(page.locator("#toasts")).to_contain_text("Deleted 1 memory")
    page.keyboard.press("z")
    see_rows(page, "Postgres here", "Python for build scripts", "TypeScript for every new service")
    expect(page.locator("#toasts")).to_contain_text("1 memory is as it was")


def test_a_duplicate_is_merged_and_a_deletion_closes_what_is_open(studio_page, key):
    kept = remember(studio_page.server, key, "Postgres for this project", name="decision:db")
    remember(studio_page.server, key, "postgres for this PROJECT", name="decision:twin")
    page = studio_page.open(f"{MEMORY}?key={key.id}&id={kept['id']}")
    expect(page.locator("tr.cursor a.mem-text")).to_have_text("Postgres for this project")
    page.get_by_role("button", name="Merge").click()
    expect(page.locator("#toasts")).to_contain_text("Merged 2 memories")
    see_rows(page, "Postgres for this project")
    expect(page.locator("aside.drawer")).to_contain_text("No other memory of this API key says nearly the same.")
    expect(page.locator("aside.drawer pre")).to_contain_text("mergedFrom")
    page.locator("#toasts [data-undo]").click()
    expect(page.locator("tbody tr.open")).to_have_count(2)
    expect(page.get_by_role("button", name="Merge")).to_be_visible()
    page.locator("aside.drawer").get_by_role("link", name="Delete").click()
    page.locator("dialog[open] button[type=submit]").click()
    expect(page.locator("aside.drawer")).to_have_count(0)
    see_rows(page, "postgres for this PROJECT")
    page.wait_for_url(f"**{MEMORY}?key={key.id}")


def test_ticked_memories_are_retyped_exported_and_deleted(listed, key, tmp_path):
    page = listed.page
    page.get_by_label("Select preference:0").check()
    page.get_by_label("Select preference:2").check()
    expect(page.locator(".selbar")).to_contain_text("2 selected")
    with page.expect_download() as taken:
        page.locator(".selbar").get_by_role("button", name="Export").click()
    told = json.loads(taken.value.path().read_text())
    assert sorted(memory["key"] for memory in told) == ["preference:0", "preference:2"]
    page.locator(".selbar").get_by_role("button", name="Retype").click()
    page.locator("dialog[open]").get_by_text("Semantic").click()
    page.locator("dialog[open] button[type=submit]").click()
    expect(page.locator("tbody .badge.semantic")).to_have_count(2)
    page.get_by_label("Select all on this page").check()
    page.get_by_role("button", name="Select all 3").click()
    page.locator(".selbar").get_by_role("button", name="Delete").click()
    expect(page.locator("dialog[open]")).to_contain_text("Delete 3 memories?")
    page.locator("dialog[open] button[type=submit]").click()
    expect(page.get_by_role("heading", name="No memory matches")).to_be_visible()
    page.keyboard.press("z")
    expect(page.locator("tbody tr.open")).to_have_count(3)
    assert len(listed.server.list_memories(key)) == 3


def test_an_import_with_a_fault_in_it_is_previewed_run_and_undone(listed, key, tmp_path):
    page = listed.page
    rows = [
        {"key": "preference:0", "content": "TypeScript for every new service"},
        {"key": "import:1", "content": "<img src=x onerror=alert(1)>"},
        {"key": "import:2", "content": "x", "type": "facts"},
    ]
    file = tmp_path / "memories.json"
    file.write_text(json.dumps(rows))
    broken = tmp_path / "broken.json"
    broken.write_text('[{"key": ')
    page.locator("details.menu summary").click()
    page.get_by_role("link", name="Import…").click()
    page.locator("#i-file").set_input_files(broken)
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("dialog[open] [role=alert]")).to_be_visible()
    page.locator("#i-file").set_input_files(file)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_test_id("import-new")).to_have_text("1")
    expect(page.get_by_test_id("import-left-out")).to_have_text("1")
    expect(page.locator("dialog[open]")).to_contain_text("facts")
    assert len(listed.server.list_memories(key)) == 3
    assert listed.find_axe_faults() == []
    page.get_by_role("button", name="Import 1 memory").click()
    see_rows(page, rows[1]["content"], "Postgres here", "Python for build scripts", "TypeScript for every new service")
    page.keyboard.press("z")
    see_rows(page, "Postgres here", "Python for build scripts", "TypeScript for every new service")


def test_erasing_waits_for_the_exact_words(listed, key):
    page = listed.page
    page.locator("details.menu summary").click()
    page.get_by_role("link", name="Erase all of these…").click()
    button = page.locator("dialog[open] button[type=submit]")
    expect(button).to_be_disabled()
    assert listed.find_axe_faults() == []
    page.locator("#er-w").fill("erase 4")
    expect(button).to_be_disabled()
    page.locator("#er-w").fill("erase 3")
    button.click()
    expect(page.locator("#toasts")).to_contain_text("Erased 3 memories for good")
    assert listed.server.list_memories(key) == []


def test_without_a_script_everything_still_works(open_studio, key):
    studio = open_studio(java_script_enabled=False)
    remember(studio.server, key, "tea", name="k")
    page = studio.open(f"{MEMORY}?key={key.id}")
    page.fill("#q", "TEA")
    page.locator("#q").press("Enter")
    see_rows(page, "tea")
    page.get_by_label("Edit k").click(force=True)
    page.fill("#e-content", "coffee")
    page.get_by_role("button", name="Save").click()
    page.goto(f"{studio.server.base_url}{MEMORY}?key={key.id}")
    see_rows(page, "coffee")
    page.get_by_label("Delete k").click(force=True)
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Undo").click()
    page.goto(f"{studio.server.base_url}{MEMORY}?key={key.id}")
    see_rows(page, "coffee")
