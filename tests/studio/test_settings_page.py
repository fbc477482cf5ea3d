"""Settings of memory: every setting with its help, saved together, refused at its field, and what memory costs."""

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.utils import timezone

from core.models import Setting
from gateway.models import RequestLog
from gateway.request_settings import REQUEST_SECTION
from memory import services
from memory.config import MEMORY_SECTION
from studio.forms.settings_words import MEASURED_QUESTIONS, STRATEGY_FACTS

PAGE = "/dashboard/settings"
ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.django_db


def read_page(staff):
    return unescape(staff.get(PAGE).content.decode())


class FormReader(HTMLParser):
    """What a browser sends back of a page that nobody has touched: the fields of its form, by name."""

    def __init__(self):
        super().__init__()
        self.fields: dict[str, list[str]] = {}
        self.select = self.textarea = None

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        is_off = given.get("type") in ("checkbox", "radio") and "checked" not in given
        if tag == "input" and given.get("name") and not is_off:
            is_box = given.get("type") in ("checkbox", "radio")
            self.fields.setdefault(given["name"], []).append(given.get("value", "on" if is_box else ""))
        if tag == "select":
            self.select = given["name"]
        if tag == "option" and "selected" in given:
            self.fields[self.select] = [given["value"]]
        if tag == "textarea":
            self.textarea = given["name"]
            self.fields[self.textarea] = [""]

    def handle_data(self, data):
        if self.textarea:
            self.fields[self.textarea][0] += data

    def handle_endtag(self, tag):
        if tag == "textarea":
            self.textarea = None


def read_fields(staff):
    reader = FormReader()
    reader.feed(staff.get(PAGE).content.decode().split("data-settings>")[1].split("</form>")[0])
    return reader.fields


def save(staff, **changes):
    fields = {**read_fields(staff), **changes}
    return staff.post(PAGE, {name: value for name, value in fields.items() if value is not None})


def test_every_setting_is_on_the_page_with_its_help(staff):
    page = read_page(staff)

    for setting in (*MEMORY_SECTION.fields, *REQUEST_SECTION.fields):
        assert setting.help in page, setting.name
        if setting.kind != "object":
            assert f'name="{setting.name}"' in page, setting.name


def test_a_changed_setting_is_saved_and_nothing_else_is_written(staff):
    answer = save(staff, maxTokens="1500")

    assert answer.status_code == 302
    assert MEMORY_SECTION.read()["maxTokens"] == 1500
    assert list(Setting.objects.values_list("key", flat=True)) == ["memoryMaxTokens"]
    assert "Settings are saved" in read_page(staff)


def test_saving_leads_back_to_what_was_changed(staff):
    page = staff.get(PAGE).content.decode()
    for change, group in (({"requestLogDays": "9"}, "requests"), ({"strategy": "adaptive"}, "strategy")):
        location = save(staff, **change).headers["location"]
        assert f'id="{location.partition("#")[2]}"' in page
        assert location.endswith(f"#group-{group}")


def test_a_page_that_nobody_touched_changes_nothing(staff):
    services.change_settings(
        {
            "enabled": True,
            "customBaseUrl": "http://127.0.0.1:9/v1",
            "fallbackBackends": ["notion", "obsidian"],
            "backendConfigs": {
                "obsidian": {"baseUrl": "http://127.0.0.1:27123", "apiKey": "a-secret-of-obsidian", "timeout": 900},
                "generic": {"baseUrl": "http://127.0.0.1:9", "headers": {"X-One": "1", "X-Token": "token-of-generic"}},
            },
        }
    )
    before = list(Setting.objects.order_by("key").values_list("key", "value"))

    assert save(staff).status_code == 302

    assert list(Setting.objects.order_by("key").values_list("key", "value")) == before
    assert "Nothing was changed" in read_page(staff)


def test_a_primary_backend_that_nobody_knows_any_more_is_not_replaced_in_passing(staff):
    Setting.objects.create(key="memoryPrimaryBackend", value="gone")

    save(staff, maxTokens="900")

    assert MEMORY_SECTION.read()["primaryBackend"] == "gone"


def test_two_operators_who_change_different_things_both_keep_theirs(staff):
    first, second = read_fields(staff), read_fields(staff)

    staff.post(PAGE, {**first, "maxTokens": "700"})
    staff.post(PAGE, {**second, "retentionDays": "90"})

    values = MEMORY_SECTION.read()
    assert (values["maxTokens"], values["retentionDays"]) == (700, 90)


def test_a_switch_that_is_off_is_what_a_form_does_not_send(staff):
    save(staff, enabled="on", injectionEnabled=None)

    values = MEMORY_SECTION.read()
    assert values["enabled"] is True
    assert values["injectionEnabled"] is False


@pytest.mark.parametrize(
    ("name", "sent", "told"),
    [
        ("maxTokens", "20000", "Must be between 0 and 16000"),
        ("maxTokens", "many", "Must be a whole number"),
        ("retentionDays", "", "Must be a whole number"),
        ("retentionDays", "-3", "Must be between 1 and 365"),
        ("strategy", "clever", "Must be one of"),
        ("customBaseUrl", "ftp://example.org", "http"),
        ("requestLogDays", "0", "Must be between 1 and 365"),
    ],
)
def test_what_can_not_be_is_told_at_its_field_and_nothing_is_saved(staff, name, sent, told):
    answer = save(staff, **{name: sent, "autoSummarizeOlderThanDays": "77"})

    assert answer.status_code == 422
    page = unescape(answer.content.decode())
    assert told in page[page.index(f'id="{name}-error"') :][:600]
    assert 'value="77"' in page
    assert not Setting.objects.exists()


def test_what_was_typed_wrongly_is_shown_as_it_was_typed(staff):
    page = save(staff, maxTokens='"><script>alert(1)</script>').content.decode()

    assert "&quot;&gt;&lt;script&gt;" in page
    assert "<script>alert" not in page


def test_a_form_with_a_broken_memory_of_what_it_was_compares_with_what_is_saved(staff):
    answer = staff.post(PAGE, {**read_fields(staff), "was": "{broken", "maxTokens": "900"})

    assert answer.status_code == 302
    assert MEMORY_SECTION.read()["maxTokens"] == 900
    assert Setting.objects.count() == 1


def test_the_request_log_is_set_on_the_same_page(staff):
    save(staff, requestLogDays="3", requestLogText="on")

    values = REQUEST_SECTION.read()
    assert (values["requestLogDays"], values["requestLogText"]) == (3, True)
    assert "What people said will stand in the log." in read_page(staff)


def test_before_anything_is_measured_the_cost_is_an_estimate_and_says_so(staff):
    page = " ".join(read_page(staff).split())

    assert "Memory adds tokens to every chat." in page
    assert "an estimate from the budget below: up to 2,000 tokens a request" in page


def test_the_cost_is_the_measured_mean_of_a_request(staff):
    for tokens in (0, 40, 80):
        RequestLog.objects.create(
            request_id=str(tokens), created_at=timezone.now(), status=200, outcome="answered", duration_ms=9,
            retrieval_ms=2.0, memories_injected=tokens // 20, memory_tokens=tokens,
        )  # fmt: skip

    page = " ".join(read_page(staff).split())

    assert "40 tokens a request on average in 3 requests, 17 tokens a day" in page
    assert "At most 2,000 a request" in page


def test_adaptive_is_recommended_with_the_figures_of_the_benchmarks(staff):
    table = (ROOT / "docs/benchmarks.md").read_text().split("LoCoMo turns")[1].split("LoCoMo facts")[0]
    page = read_page(staff)

    assert f"{MEASURED_QUESTIONS} questions" in table
    for facts in STRATEGY_FACTS:
        if facts.in_first_five is None:
            continue
        row = next(line for line in table.splitlines() if line.startswith(f"| `{facts.name}`, bundled"))
        cells = [cell.strip(" *") for cell in row.strip("|").split("|")]
        assert [float(cells[1]), float(cells[5]), float(cells[6])] == [
            facts.in_first_five, facts.within_budget, facts.median_ms,
        ]  # fmt: skip
        assert f"{facts.in_first_five} %" in page
    assert re.search(r"Adaptive</b>\s*<span class=\"badge ok\">recommended", page)


def test_a_backend_is_configured_and_its_secret_never_comes_back(staff):
    secret = "obsidian-secret-0042"
    save(staff, **{"backend.obsidian.baseUrl": "http://127.0.0.1:27123", "backend.obsidian.apiKey": secret})

    stored = MEMORY_SECTION.read()["backendConfigs"]["obsidian"]
    page = read_page(staff)
    assert stored["baseUrl"] == "http://127.0.0.1:27123"
    assert secret not in json.dumps(stored) + page
    assert "***0042" in page

    save(staff, **{"backend.obsidian.baseUrl": "http://127.0.0.1:27124"})
    assert MEMORY_SECTION.read()["backendConfigs"]["obsidian"]["apiKey"] == "***0042"
    save(staff, **{"backend.obsidian.baseUrl": "http://127.0.0.1:27124", "backend.obsidian.apiKey.remove": "on"})
    assert "apiKey" not in MEMORY_SECTION.read()["backendConfigs"]["obsidian"]


def test_a_backends_wrong_address_is_told_at_its_field(staff):
    answer = save(staff, **{"backend.generic.baseUrl": "http://169.254.169.254/latest"})

    page = answer.content.decode()
    assert answer.status_code == 422
    assert 'id="backend.generic.baseUrl-error"' in page
    assert not Setting.objects.exists()


def test_fallbacks_are_chosen_among_the_backends_there_are(staff):
    save(staff, fallbackBackends=["obsidian", "notion"])
    assert MEMORY_SECTION.read()["fallbackBackends"] == ["obsidian", "notion"]

    assert save(staff, fallbackBackends=["nowhere"]).status_code == 422


def test_the_page_costs_few_queries(staff, django_assert_max_num_queries):
    with django_assert_max_num_queries(12):
        staff.get(PAGE)
