"""The list of memories in a real Chromium: some of one key, its rows, and a row that is deleted."""

import re
import secrets
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.live_server import Key, LiveServer
from tests.studio.browser import StudioPage
from tests.studio.memories_page import MEMORY


@pytest.fixture
def key(studio_server: LiveServer) -> Key:
    return studio_server.take_key()


@pytest.fixture
def listed(studio_page: StudioPage, key: Key) -> StudioPage:
    """The list of one key with three memories in it."""
    for number, content in enumerate(("TypeScript for every new service", "Python for build scripts", "Postgres here")):
        remember(studio_page.server, key, content, name=f"preference:{number}", metadata={"source": "user_message"})
    studio_page.open(f"{MEMORY}?key={key.id}")
    studio_page.settle()
    return studio_page


def remember(server: LiveServer, key: Key, content: str, *, name: str = "", **fields: Any) -> dict[str, Any]:
    body = {"apiKeyId": key.id, "key": name or secrets.token_hex(4), "content": content, **fields}
    response = server.manage("POST", "/api/memory", json=body)
    assert response.status_code == 200, response.text
    return dict(response.json()["memory"])


def see_rows(page: Page, *texts: str) -> None:
    expect(page.locator("tbody a.mem-text")).to_have_text(list(texts))


def delete_row(page: Page, number: int) -> None:
    row = page.locator("tr.open").nth(number)
    row.hover()
    row.get_by_label(re.compile("^Delete ")).click()
    page.locator("dialog[open] button[type=submit]").click()
    expect(page.locator("dialog[open]")).to_have_count(0)
