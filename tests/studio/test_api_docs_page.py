"""The page of the REST API in a real Chromium: it works under the strict content policy and asks nobody else."""

from tests.studio.browser import StudioPage

WATCH_POLICY = """
window.policyFaults = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.policyFaults.push(`${event.violatedDirective} ${event.blockedURI}`));
"""


def test_an_operator_reads_the_schema_and_tries_a_request(studio_page: StudioPage) -> None:
    page = studio_page.page
    page.add_init_script(WATCH_POLICY)
    studio_page.open("/api/docs")
    page.wait_for_selector(".opblock")
    assert page.locator(".opblock").count() > 20

    storing = page.locator("#operations-Memories-storeMemory")
    storing.locator(".opblock-summary-control").click()
    storing.get_by_role("button", name="Try it out").click()
    storing.locator("textarea").fill('{"key": "tried-in-the-docs", "content": "tea"}')
    storing.locator(".btn.execute").click()
    status = storing.locator(".live-responses-table .response .response-col_status").first
    status.wait_for()
    assert status.inner_text().startswith("200")
    assert page.evaluate("window.policyFaults") == []
    assert studio_page.watch.faults == []
