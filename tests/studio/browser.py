"""Pages of the studio in a real Chromium, watched: whatever a page does wrong fails the test that used it.

Playwright's loop runs in this thread as long as it is started, and Django's ORM refuses to work beside a running loop.
So a module that uses a browser touches no row itself; it asks the server, like everybody else.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Response,
    expect,
    sync_playwright,
)

from tests.live_server import LiveServer, Preparation

# Nothing waits this long but what fails; a busy machine may take a while.
expect.set_options(timeout=15_000)
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
DESKTOP = {"width": 1440, "height": 1000}
PHONE = {"width": 390, "height": 844}
# Without motion nothing has to be waited for.
DEFAULTS: dict[str, Any] = {"viewport": DESKTOP, "reduced_motion": "reduce", "timezone_id": "Europe/Vilnius"}
OPERATOR = "studio-operator"
# Answers that a page is meant to get: a form in error, a conflict, a refusal. The browser logs each as an error.
EXPECTED_STATUS = ("400", "404", "409", "422", "429")
# What a newer request replaces is aborted, and htmx logs that as two errors; one that failed has a third, sendError.
ABORTED = ("htmx:afterRequest,", "htmx:sendAbort,")
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@dataclass
class Watch:
    """What went wrong while a page was open."""

    base_url: str
    faults: list[str] = field(default_factory=list)

    def observe(self, context: BrowserContext) -> None:
        context.on("console", self._hear)
        context.on("weberror", lambda error: self.faults.append(f"script error: {error.error}"))
        context.on("request", self._see_request)
        context.on("response", self._see_response)
        context.on("dialog", self._see_dialog)

    def _hear(self, message: ConsoleMessage) -> None:
        is_expected = any(
            f"status of {status}" in message.text or f"Error Code {status} from" in message.text
            for status in EXPECTED_STATUS
        )
        is_expected = is_expected or message.text.startswith(ABORTED)
        if message.type in ("error", "warning") and not is_expected:
            self.faults.append(f"console: {message.text}")

    def _see_request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob") and f"{address.scheme}://{address.netloc}" != self.base_url:
            self.faults.append(f"request to another host: {request.url}")

    def _see_response(self, response: Response) -> None:
        if response.status >= 500 or (response.status == 404 and "/static/" in response.url):
            self.faults.append(f"{response.status} {response.url}")

    def _see_dialog(self, dialog: Any) -> None:
        if dialog.type != "beforeunload":
            self.faults.append(f"a dialog of the browser opened: {dialog.message!r}")
        with suppress(Exception):
            dialog.dismiss()


@dataclass(frozen=True)
class Operator:
    name: str
    password: str


@dataclass
class StudioPage:
    """A page of a signed-in operator. `page` is Playwright's; the rest are things that every test wants."""

    page: Page
    server: LiveServer
    watch: Watch

    def open(self, path: str) -> Page:
        self.page.goto(f"{self.server.base_url}{path}")
        return self.page

    def settle(self) -> None:
        """Wait until htmx has nothing under way and what it has swapped has settled."""
        self.page.wait_for_function(
            "() => !document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling, .htmx-added')"
        )

    def find_axe_faults(self) -> list[str]:
        """Serious and critical accessibility faults of the page as it stands, in words."""
        self.settle()
        options = {"resultTypes": ["violations"], "runOnly": {"type": "tag", "values": AXE_TAGS}}
        found = Axe().run(self.page, options=options).response["violations"]
        return [
            f"{fault['id']} ({fault['impact']}): {node['target']} {node['html'][:160]}"
            for fault in found
            if fault["impact"] in ("serious", "critical")
            for node in fault["nodes"]
        ]

    def set_theme(self, theme: str) -> None:
        """As the server knows it: by cookie, from the next page on."""
        self.page.context.add_cookies([{"name": "studio_theme", "value": theme, "url": self.server.base_url}])


@pytest.fixture(scope="session")
def operator() -> Operator:
    return Operator(OPERATOR, secrets.token_urlsafe(12))


@pytest.fixture(scope="session")
def studio_server(
    preparation: Preparation, operator: Operator, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveServer]:
    """One server for every page of the studio, with memory on and an operator who can sign in.

    Tests stay apart by using a key of their own: `studio_server.take_key()`.
    """
    data_dir: Path = tmp_path_factory.mktemp("studio")
    server = preparation.start(data_dir, DJANGO_SUPERUSER_PASSWORD=operator.password, MEMORY_STATIC_MODEL="bundled")
    server.run_command("createsuperuser", "--noinput", "--username", operator.name, "--email", "operator@example.org")
    server.change_settings(enabled=True)
    yield server
    server.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, for one module: after it Playwright's loop is gone again."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def signed_in_state(browser: Browser, studio_server: LiveServer, operator: Operator) -> Any:
    """Cookies of a browser in which the operator has signed in."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{studio_server.base_url}/dashboard/sign-in")
    page.fill("#u", operator.name)
    page.fill("#p", operator.password)
    page.click("button[type=submit]")
    page.wait_for_url("**/dashboard/memory")
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def open_studio(
    browser: Browser, studio_server: LiveServer, signed_in_state: Any
) -> Iterator[Callable[..., StudioPage]]:
    """Open browsers: `open_studio(viewport=PHONE, timezone_id="Europe/Vilnius", signed_in=False, server=…)`."""
    opened: list[tuple[BrowserContext, Watch]] = []

    def open_one(*, signed_in: bool = True, server: LiveServer = studio_server, **options: Any) -> StudioPage:
        state = signed_in_state if signed_in else None
        context = browser.new_context(**{**DEFAULTS, "storage_state": state, **options})
        watch = Watch(server.base_url)
        watch.observe(context)
        opened.append((context, watch))
        return StudioPage(context.new_page(), server, watch)

    yield open_one
    for context, _ in opened:
        context.close()
    faults = [fault for _, watch in opened for fault in watch.faults]
    assert not faults, "\n".join(faults)


@pytest.fixture
def studio_page(open_studio: Callable[..., StudioPage]) -> StudioPage:
    """A desktop browser of the operator; every fault of its pages fails the test."""
    return open_studio()
