"""Memories in Django's admin."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_api import Api

from memory.models import Memory

pytestmark = pytest.mark.django_db

LIST = "/admin/memory/memory/"


@pytest.fixture
def browser() -> Client:
    browser = Client()
    browser.force_login(User.objects.create_superuser("boss"))
    return browser


@pytest.fixture
def stored(api: Api) -> Memory:
    memory = api.remember(key="tea", content="Likes ŽALIA arbata <b>", metadata={"a": 1}, apiKeyId="A")
    return Memory.objects.get(uuid=memory["id"])


def test_memories_are_listed_filtered_and_found(browser: Client, stored: Memory) -> None:
    for query in ("", "?q=žalia", "?q=tea", "?type__exact=factual"):
        page = browser.get(LIST + query)
        assert page.status_code == 200
        assert "ŽALIA arbata &lt;b&gt;" in page.content.decode(), query
    assert "ŽALIA" not in browser.get(f"{LIST}?q=coffee").content.decode()


def test_a_change_goes_through_services_and_keeps_what_is_not_shown_for_change(
    browser: Client, stored: Memory, monkeypatch: Any
) -> None:
    route = f"{LIST}{stored.pk}/change/"
    assert stored.uuid in browser.get(route).content.decode()
    answer = browser.post(
        route, {"type": "semantic", "key": "tea", "content": "new words", "uuid": "x", "api_key_id": "B"}
    )
    assert answer.status_code == 302
    after = Memory.objects.get(pk=stored.pk)
    assert (after.type, after.content, after.needs_reindex) == ("semantic", "new words", True)
    assert (after.uuid, after.api_key_id, after.metadata) == (stored.uuid, "A", {"a": 1})
    assert after.updated_at > stored.updated_at


def test_a_key_that_the_owner_has_elsewhere_is_refused_in_the_form(browser: Client, api: Api, stored: Memory) -> None:
    api.remember(key="taken", apiKeyId="A")
    page = browser.post(f"{LIST}{stored.pk}/change/", {"type": "factual", "key": "taken", "content": "c"})
    assert page.status_code == 200
    assert Memory.objects.get(pk=stored.pk).key == "tea"


def test_memories_are_deleted_one_by_one_and_together(browser: Client, api: Api, stored: Memory) -> None:
    others = [Memory.objects.get(uuid=api.remember(key=f"k{number}")["id"]) for number in range(2)]
    browser.post(f"{LIST}{stored.pk}/delete/", {"post": "yes"})
    assert not Memory.objects.filter(pk=stored.pk).exists()
    browser.post(LIST, {"action": "delete_selected", "_selected_action": [row.pk for row in others], "post": "yes"})
    assert not Memory.objects.exists()
    assert api.get("/api/memory", {"q": "c"}).json()["total"] == 0


def test_no_admin_page_needs_what_the_content_policy_forbids(browser: Client, stored: Memory) -> None:
    forbidden = re.compile(r"""<script(?![^>]*(?:src=|application/json))|<style|\sstyle=|\son[a-z]+=|javascript:""")
    for route in (
        "/admin/",
        LIST,
        f"{LIST}{stored.pk}/change/",
        f"{LIST}{stored.pk}/delete/",
        "/admin/auth/user/add/",
    ):
        page = browser.get(route)
        assert page.status_code == 200
        assert forbidden.findall(page.content.decode()) == [], route
    assert forbidden.findall(Client().get("/admin/login/").content.decode()) == []


def test_none_is_added_here(browser: Client) -> None:
    assert browser.get(f"{LIST}add/").status_code == 403
