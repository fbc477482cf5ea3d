"""API keys in the admin: shown once, never edited but in name and scopes, revoked after a question."""

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from core.accounts import keys
from core.accounts.models import ApiKey

pytestmark = pytest.mark.django_db
LIST = "/admin/accounts/apikey/"


@pytest.fixture
def browser(client):
    client.force_login(User.objects.create_superuser("operator", password="x"))
    return client


def find_keys_in(page: str) -> list[str]:
    return re.findall(r"omr_[\w-]{43}", page)


def test_a_new_key_is_shown_once(browser):
    response = browser.post(f"{LIST}add/", {"name": "laptop", "scopes": ["chat", "manage"]}, follow=True)
    [bare_key] = find_keys_in(response.content.decode())
    assert keys.find_caller(bare_key).scopes == {"chat", "manage"}
    assert find_keys_in(browser.get(LIST).content.decode()) == []


def test_the_list_tells_keys_apart_and_shows_no_hash(browser):
    active, _ = keys.create_api_key("laptop")
    revoked, _ = keys.create_api_key("phone")
    keys.revoke_keys([revoked.id])
    page = browser.get(LIST).content.decode()
    for text in ("laptop", "phone", active.prefix, "active", "revoked"):
        assert text in page
    assert active.key_hash not in page


def test_only_name_and_scopes_can_be_changed(browser):
    row, bare_key = keys.create_api_key("laptop")
    url = reverse("admin:accounts_apikey_change", args=[row.id])
    assert row.key_hash not in browser.get(url).content.decode()
    response = browser.post(
        url, {"name": "desk", "scopes": ["manage"], "key_hash": "0" * 64, "prefix": "omr_evil", "id": "x"}
    )
    assert response.status_code == 302
    assert keys.find_caller(bare_key) == keys.Caller(row.id, "desk", frozenset({"manage"}))
    assert ApiKey.objects.get().prefix == row.prefix


@pytest.mark.parametrize("fields", [{"name": "", "scopes": ["chat"]}, {"name": "x"}, {"name": "x", "scopes": ["r"]}])
def test_a_wrong_form_makes_no_key(browser, fields):
    assert browser.post(f"{LIST}add/", fields).status_code == 200
    assert not ApiKey.objects.exists()


def test_revoking_asks_first_and_says_how_many(browser):
    rows = [keys.create_api_key(name)[0] for name in ("one", "two", "three")]
    keys.revoke_keys([rows[2].id])
    form = {"action": "revoke_selected", "_selected_action": [row.id for row in rows]}
    question = browser.post(LIST, form).content.decode()
    assert "Revoke 2 keys?" in question
    assert ApiKey.objects.filter(revoked_at=None).count() == 2
    answer = browser.post(LIST, {**form, "confirmed": "yes"}, follow=True)
    assert "Revoked 2 of 3 selected keys." in answer.content.decode()
    assert not ApiKey.objects.filter(revoked_at=None).exists()


def test_a_key_in_use_cannot_be_deleted_and_a_revoked_one_can(browser):
    row, _ = keys.create_api_key("laptop")
    url = reverse("admin:accounts_apikey_delete", args=[row.id])
    assert browser.post(url, {"post": "yes"}).status_code == 403
    assert ApiKey.objects.exists()
    keys.revoke_keys([row.id])
    assert browser.post(url, {"post": "yes"}).status_code == 302
    assert not ApiKey.objects.exists()


def test_the_list_offers_no_deletion_of_many(browser):
    row, _ = keys.create_api_key("laptop")
    keys.revoke_keys([row.id])
    browser.post(LIST, {"action": "delete_selected", "_selected_action": [row.id], "post": "yes"})
    assert ApiKey.objects.exists()
