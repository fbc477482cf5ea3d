"""Providers: listed with masked keys, added, changed, tried with what is on the screen, removed after a question."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.providers.configuration import ProviderChanges, save_provider
from core.providers.models import Provider
from core.providers.routing import resolve_route
from gateway.models import RequestLog
from memory import services
from tests.studio.page_text import read
from tests.upstream_replies import json_reply
from tests.upstream_stub import UpstreamStub

PAGE = "/dashboard/settings/providers"
KEY = "sk-a-long-and-secret-key-7788"

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def running_stub():
    with UpstreamStub() as started:
        yield started


@pytest.fixture
def stub(running_stub):
    running_stub.reset()
    return running_stub


def test_without_any_provider_the_page_says_who_answers_and_what_to_do(staff):
    page = read(staff.get(PAGE))

    assert "No provider yet" in page
    assert "Built-in echo" in page


def test_a_known_provider_needs_only_its_key(staff):
    offered = read(staff.get(f"{PAGE}/add", {"name": "openrouter"}))
    assert 'value="openrouter"' in offered
    assert 'placeholder="https://openrouter.ai/api/v1"' in offered
    assert "OPENROUTER_API_KEY" in offered

    answer = staff.post(f"{PAGE}/add", {"name": "openrouter", "api_key": KEY, "is_default": "on"})

    assert answer.headers["location"] == PAGE
    route = resolve_route("anything")
    assert (route.provider, route.base_url, route.api_key) == ("openrouter", "https://openrouter.ai/api/v1", KEY)


def test_a_key_goes_in_and_never_comes_out(staff):
    staff.post(f"{PAGE}/add", {"name": "openai", "api_key": KEY})

    for address in (PAGE, f"{PAGE}/openai", f"{PAGE}/openai/remove"):
        page = read(staff.get(address))
        assert KEY not in page
        assert KEY[:8] not in page
    assert "••••7788" in read(staff.get(PAGE))


def test_an_empty_key_keeps_the_stored_one_and_a_tick_removes_it(staff):
    save_provider("openai", ProviderChanges(api_key=KEY))

    staff.post(f"{PAGE}/openai", {"base_url": "", "api_key": "", "system_role": "first"})
    assert resolve_route("openai/m").api_key == KEY
    assert resolve_route("openai/m").system_role == "first"

    staff.post(f"{PAGE}/openai", {"base_url": "", "api_key": "", "remove_key": "on"})
    assert not Provider.objects.get().has_key


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"name": "My Provider"}, "1 to 64 of the characters"),
        ({"name": "mine"}, "give its base URL"),
        ({"name": "mine", "base_url": "http://169.254.169.254/v1"}, "base-url-error"),
        ({"name": "mine", "base_url": "file:///etc/passwd"}, "base-url-error"),
        ({"name": "openai", "api_key": "ключ"}, "visible ASCII"),
        ({"name": "echo"}, "built in"),
        ({"name": ""}, "required"),
    ],
)
def test_what_can_not_be_is_told_at_its_field_and_stays_on_the_screen(staff, fields, told):
    answer = staff.post(f"{PAGE}/add", fields)

    assert answer.status_code == 422
    assert told in read(answer)
    assert f'value="{fields["name"]}"' in read(answer)
    assert not Provider.objects.exists()


def test_a_name_that_is_taken_is_not_overwritten_by_adding(staff):
    save_provider("openai", ProviderChanges(api_key=KEY))

    answer = staff.post(f"{PAGE}/add", {"name": "OpenAI", "api_key": "another-key-entirely"})

    assert answer.status_code == 422
    assert "already" in read(answer)
    assert resolve_route("openai/m").api_key == KEY


def test_removing_asks_first_and_tells_what_goes(staff):
    save_provider("openai", ProviderChanges(api_key=KEY))

    asked = staff.get(f"{PAGE}/openai/remove", headers={"HX-Request": "true"})
    assert "<dialog" in asked.content.decode()
    assert "can't be had back" in read(asked)
    assert Provider.objects.exists()

    staff.post(f"{PAGE}/openai/remove")
    assert not Provider.objects.exists()
    assert staff.post(f"{PAGE}/openai/remove").status_code == 404


def try_out(staff, **fields):
    return read(staff.post(f"{PAGE}/test", fields, headers={"HX-Request": "true"}))


def test_a_try_uses_what_is_on_the_screen_and_saves_nothing_of_it(staff, stub):
    stub.reply_with(json_reply({"data": [{"id": "one"}, {"id": "two"}]}))

    told = try_out(staff, name="mine", base_url=stub.base_url, api_key=KEY)

    assert "It answers, in" in told
    assert "It lists 2 models." in told
    assert stub.requests[-1].header("authorization") == f"Bearer {KEY}"
    assert not Provider.objects.exists()


def test_the_list_remembers_the_last_try_of_a_provider_that_is_saved(staff, stub):
    stub.reply_with(json_reply({"data": [{"id": "one"}]}))
    save_provider("mine", ProviderChanges(base_url=stub.base_url, api_key=KEY))
    assert "not tested" in read(staff.get(PAGE))

    try_out(staff, name="mine", base_url=stub.base_url)

    assert "1 model" in read(staff.get(PAGE))
    assert stub.requests[-1].header("authorization") == f"Bearer {KEY}"
    try_out(staff, name="mine", base_url="http://127.0.0.1:9/v1")
    assert "1 model" in read(staff.get(PAGE))
    staff.post(f"{PAGE}/mine", {"base_url": "http://127.0.0.1:9/v1"})
    assert "not tested" in read(staff.get(PAGE))


def test_without_script_a_try_shows_the_form_again_but_not_the_key(staff, stub):
    stub.reply_with(json_reply({"data": []}))

    answer = staff.post(f"{PAGE}/test", {"name": "mine", "base_url": stub.base_url, "api_key": KEY})

    assert "It answers, in" in read(answer)
    assert f'value="{stub.base_url}"' in read(answer)
    assert "Type the key again" in read(answer)
    assert KEY not in read(answer)


def test_a_stored_key_is_sent_to_no_other_address(staff, stub):
    stub.reply_with(json_reply({"data": []}))
    save_provider("mine", ProviderChanges(base_url="http://127.0.0.1:9/v1", api_key=KEY))

    try_out(staff, name="mine", base_url=stub.base_url)

    assert stub.requests[-1].header("authorization") is None


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (401, {"error": "no"}, "does not take this key (HTTP 401)"),
        (404, {"error": "no"}, "lists no models there (HTTP 404)"),
        (500, {"error": "secret-stack-trace"}, "answers with HTTP 500"),
        (200, {"unexpected": 1}, "listed no models"),
    ],
)
def test_what_is_wrong_is_told_in_words(staff, stub, status, body, told):
    stub.reply_with(json_reply(body, status=status))

    answer = try_out(staff, name="mine", base_url=stub.base_url, api_key=KEY)

    assert told in answer
    assert "secret-stack-trace" not in answer


def test_a_server_that_is_not_there_and_a_key_that_is_missing_are_told_too(staff):
    assert "It did not work." in try_out(staff, name="mine", base_url="http://127.0.0.1:9/v1", api_key=KEY)
    assert "Set OPENAI_API_KEY" in try_out(staff, name="openai", base_url="")


def test_removing_says_first_what_uses_the_provider(staff):
    save_provider("lab", ProviderChanges(base_url="http://127.0.0.1:9/v1", api_key=KEY))
    assert "What uses it now" not in read(staff.get(f"{PAGE}/lab/remove"))
    services.change_settings({"embeddingProviderModel": "lab/e5", "rerankProviderModel": "lab/order"})
    RequestLog.objects.create(
        request_id="r", created_at=timezone.now(), provider="lab", status=200, outcome="answered", duration_ms=1
    )

    page = read(staff.get(f"{PAGE}/lab/remove"))

    assert "Embedding source, lab/e5: without it searches go by words" in page
    assert "1 chat of the last 7 days went there." in page
    assert "lab/order" not in page  # reranking is off
    services.change_settings({"rerankEnabled": True})
    assert "Rerank, lab/order: without it results keep their order." in read(staff.get(f"{PAGE}/lab/remove"))
    services.change_settings({"embeddingSource": "static"})
    assert "lab/e5" not in read(staff.get(f"{PAGE}/lab/remove"))


def test_a_provider_that_nobody_knows_is_not_found(staff):
    assert staff.get(f"{PAGE}/nowhere").status_code == 404


def test_the_list_costs_as_many_queries_for_many_as_for_one(staff):
    def count_queries():
        with CaptureQueriesContext(connection) as captured:
            staff.get(PAGE)
        return len(captured)

    save_provider("p0", ProviderChanges(base_url="http://127.0.0.1:9/v1"))
    of_one = count_queries()
    for number in range(1, 12):
        save_provider(f"p{number}", ProviderChanges(base_url="http://127.0.0.1:9/v1"))

    assert count_queries() == of_one
