"""Providers in the admin: keys go in and are never shown."""

from typing import Any

import pytest
from django.test import Client

from core.providers.configuration import ProviderChanges, save_provider
from core.providers.models import Provider
from core.providers.routing import resolve_route

pytestmark = pytest.mark.django_db
SECRET = "sk-test-LEAKME"
ADD = "/admin/providers/provider/add/"


def post(client: Client, url: str, **fields: Any) -> str:
    form = {"base_url": "", "new_api_key": "", "system_role": "", **fields}
    response = client.post(url, {name: value for name, value in form.items() if value is not None}, follow=True)
    assert response.status_code == 200
    text = response.content.decode()
    assert SECRET not in text
    return text


def change_url(provider: Provider) -> str:
    return f"/admin/providers/provider/{provider.pk}/change/"


def test_a_provider_is_added_with_its_key(admin_client: Client) -> None:
    told = post(
        admin_client, ADD, name=" Box ", base_url="http://127.0.0.1:9/v1/", new_api_key=SECRET, use_as_default="on"
    )
    assert "was added successfully" in told and "…AKME" in told
    route = resolve_route("m")
    assert (route.provider, route.base_url, route.api_key) == ("box", "http://127.0.0.1:9/v1", SECRET)


def test_an_empty_key_field_keeps_the_key_and_the_box_removes_it(admin_client: Client) -> None:
    box, _ = save_provider("box", ProviderChanges(base_url="http://127.0.0.1:9", api_key=SECRET))
    page = admin_client.get(change_url(box)).content.decode()
    assert SECRET not in page and box.api_key_encrypted not in page and "…AKME" in page
    post(admin_client, change_url(box), base_url="http://127.0.0.1:10", system_role="first")
    route = resolve_route("box/m")
    assert (route.base_url, route.api_key, route.system_role) == ("http://127.0.0.1:10", SECRET, "first")
    post(admin_client, change_url(box), base_url="http://127.0.0.1:10", remove_api_key="on")
    assert resolve_route("box/m").api_key == ""


def test_the_default_moves(admin_client: Client) -> None:
    one, _ = save_provider("one", ProviderChanges(base_url="http://127.0.0.1:9", is_default=True))
    two, _ = save_provider("two", ProviderChanges(base_url="http://127.0.0.1:9"))
    post(admin_client, change_url(two), base_url="http://127.0.0.1:9", use_as_default="on")
    assert list(Provider.objects.filter(is_default=True)) == [two]
    post(admin_client, change_url(one), base_url="http://127.0.0.1:9")
    assert list(Provider.objects.filter(is_default=True)) == [two]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": "box"}, "give its base URL"),
        ({"name": "a b", "base_url": "http://box"}, "a-z, 0-9"),
        ({"name": "echo", "base_url": "http://box"}, "built in"),
        ({"name": "box", "base_url": "http://169.254.169.254/"}, "blocked by the outbound policy"),
        ({"name": "box", "base_url": "http://box?x=1"}, "without credentials, query"),
        ({"name": "box", "base_url": "http://box", "new_api_key": "two words"}, "visible ASCII"),
        ({"name": "groq", "new_api_key": SECRET, "remove_api_key": "on"}, "Either give a new key"),
        ({"name": "taken", "base_url": "http://box"}, "already exists"),
    ],
)
def test_mistakes_are_told_beside_their_field(admin_client: Client, fields: dict[str, str], message: str) -> None:
    save_provider("taken", ProviderChanges(base_url="http://box"))
    assert message in post(admin_client, ADD, **fields)
    assert Provider.objects.count() == 1


def test_the_list_shows_no_key(admin_client: Client) -> None:
    box, _ = save_provider("box", ProviderChanges(base_url="http://127.0.0.1:9", api_key=SECRET))
    page = admin_client.get("/admin/providers/provider/").content.decode()
    assert "…AKME" in page and SECRET not in page and box.api_key_encrypted not in page
