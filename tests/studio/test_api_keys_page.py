"""API keys: listed with what they have and cost, made and shown once, renamed, revoked, erased after a typed number."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core.accounts.keys import create_api_key, find_caller
from core.accounts.models import ApiKey
from gateway.models import RequestLog
from memory import services
from memory.models import Memory
from memory.records import MemoryDraft
from tests.studio.page_text import read

PAGE = "/dashboard/settings/keys"

pytestmark = pytest.mark.django_db


def remember(key, count):
    for number in range(count):
        services.create(MemoryDraft(key.id, f"k{number}", f"fact {number}"))


def log_request(key, tokens):
    RequestLog.objects.create(
        request_id="r", created_at=timezone.now(), status=200, outcome="answered", duration_ms=9,
        api_key_id=key.id, key_name=key.name, memory_tokens=tokens, memories_injected=1,
    )  # fmt: skip


def test_before_there_is_a_key_the_page_says_what_one_is_for(staff):
    assert "No API key yet" in read(staff.get(PAGE))


def test_a_key_is_listed_with_its_memories_and_what_they_cost(staff):
    key, bare_key = create_api_key("assistant", ("chat", "read:memory"))
    remember(key, 3)
    log_request(key, 1200)

    page = read(staff.get(PAGE))

    assert "assistant" in page
    assert f"{bare_key[:12]}…" in page
    assert bare_key not in page
    assert f'/dashboard/memory?key={key.id}">3' in page
    assert "1,200" in page
    assert "read:memory" in page
    assert "never" in page


def test_a_page_of_keys_costs_as_many_queries_as_one_key(staff):
    def count_queries():
        with CaptureQueriesContext(connection) as captured:
            assert staff.get(PAGE).status_code == 200
        return len(captured)

    first, _ = create_api_key("first")
    remember(first, 1)
    of_one = count_queries()
    for number in range(30):
        key, _ = create_api_key(f"key {number}")
        log_request(key, 5)
    remember(key, 2)

    assert count_queries() == of_one
    assert of_one <= 10


def test_many_keys_come_in_pages(staff):
    for number in range(51):
        create_api_key(f"key-{number:02}")

    first, second = read(staff.get(PAGE)), read(staff.get(PAGE, {"page": 2}))

    assert "1–50 of 51" in first
    assert "51–51 of 51" in second
    assert "key-00" not in first
    assert "key-00" in second
    assert staff.get(PAGE, {"page": "999"}).status_code == 200


def test_a_new_key_is_shown_once_and_works(staff):
    answer = staff.post(f"{PAGE}/new", {"name": "laptop", "scopes": ["chat", "write:memory"]})

    bare_key = answer.context["bare_key"]
    assert answer.status_code == 201
    assert bare_key in read(answer)
    assert f"Authorization: Bearer {bare_key}" in read(answer)
    assert "http://testserver/v1/chat/completions" in read(answer)
    caller = find_caller(bare_key)
    assert caller is not None
    assert caller.scopes == {"chat", "write:memory"}
    for address in (PAGE, f"{PAGE}/new", f"{PAGE}/{caller.key_id}"):
        assert bare_key not in read(staff.get(address))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"name": "", "scopes": ["chat"]}, "name-error"),
        ({"name": "x" * 101, "scopes": ["chat"]}, "name-error"),
        ({"name": "laptop"}, "Choose what the key may do."),
        ({"name": "laptop", "scopes": ["everything"]}, "scopes-error"),
    ],
)
def test_a_key_that_can_not_be_is_told_and_not_made(staff, fields, told):
    answer = staff.post(f"{PAGE}/new", fields)

    assert answer.status_code == 422
    assert told in read(answer)
    assert not ApiKey.objects.exists()


def test_a_key_gets_another_name(staff):
    key, bare_key = create_api_key("old")

    staff.post(f"{PAGE}/{key.id}", {"name": "  <b>new</b> "})

    assert ApiKey.objects.get().name == "<b>new</b>"
    assert "&lt;b&gt;new&lt;/b&gt;" in staff.get(PAGE).content.decode()
    assert staff.post(f"{PAGE}/{key.id}", {"name": ""}).status_code == 422
    assert find_caller(bare_key) is not None


def test_revoking_asks_first_and_then_holds_at_once(staff):
    key, bare_key = create_api_key("laptop")
    remember(key, 2)

    asked = read(staff.get(f"{PAGE}/{key.id}/revoke"))
    assert "Its 2 memories stay until you erase them." in asked
    assert find_caller(bare_key) is not None

    staff.post(f"{PAGE}/{key.id}/revoke")
    assert find_caller(bare_key) is None
    assert Memory.objects.owned_by(key.id).count() == 2
    assert staff.post(f"{PAGE}/{key.id}/revoke").status_code == 409


@pytest.mark.parametrize("action", ["", "/revoke", "/erase"])
def test_a_key_that_is_not_there_is_not_found(staff, action):
    assert staff.get(f"{PAGE}/nobody{action}").status_code == 404


@pytest.mark.parametrize("typed", ["", "erase", "3", "erase 4", "ERASE 3", "erase 3 please"])
def test_nothing_is_erased_unless_the_exact_number_was_typed(staff, typed):
    key, _ = create_api_key("laptop")
    remember(key, 3)

    answer = staff.post(f"{PAGE}/{key.id}/erase", {"typed": typed})

    assert answer.status_code == 422
    assert "othing was erased" in read(answer)
    assert Memory.objects.owned_by(key.id).count() == 3


@pytest.mark.django_db(transaction=True)
def test_erasing_counts_first_takes_only_what_is_the_keys_and_gives_a_receipt(staff):
    key, _ = create_api_key("laptop")
    other, _ = create_api_key("other")
    remember(key, 3)
    remember(other, 1)
    log_request(key, 10)

    asked = read(staff.get(f"{PAGE}/{key.id}/erase"))
    assert "<code>erase 3</code>" in asked

    told = read(staff.post(f"{PAGE}/{key.id}/erase", {"typed": "erase 3"}))

    assert "All of it is gone." in told
    assert '"erasedBy": "ona"' in told
    assert not Memory.objects.owned_by(key.id).exists()
    assert Memory.objects.owned_by(other.id).count() == 1
    assert not RequestLog.objects.exists()
    assert ApiKey.objects.filter(id=key.id).exists()
    assert "Nothing is kept of this API key." in read(staff.get(f"{PAGE}/{key.id}/erase"))


def test_the_environments_key_is_listed_and_has_no_buttons(staff, settings):
    settings.OMNIROUTE_API_KEY = "a-management-key"

    page = read(staff.get(PAGE))

    assert "OMNIROUTE_API_KEY" in page
    assert "a-management-key" not in page
    assert "Revoke" not in page
