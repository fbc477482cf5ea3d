"""The icon that browsers ask for by themselves, on every page that this server has."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

pytestmark = pytest.mark.django_db
ICON = re.compile(r'<link rel="icon"\s+href="/static/studio/icon\.svg\?v=[0-9a-f]{12}"')


def test_a_browser_that_asks_for_an_icon_by_itself_is_shown_the_way_to_ours():
    answer = Client().get("/favicon.ico")
    assert answer.status_code == 302
    assert re.fullmatch(r"/static/studio/icon\.svg\?v=[0-9a-f]{12}", answer.headers["Location"])
    assert answer.headers["Cache-Control"] == "public, max-age=300"
    assert Client().head("/favicon.ico").status_code == 302
    assert Client().post("/favicon.ico").status_code == 405


@pytest.fixture
def operator() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("operator"))
    return client


@pytest.mark.parametrize("address", ["/dashboard/sign-in", "/admin/login/"])
def test_the_ways_in_name_the_icon(address):
    assert ICON.search(Client().get(address).content.decode())


@pytest.mark.parametrize("address", ["/dashboard/memory", "/admin/", "/admin/memory/memory/", "/api/docs"])
def test_every_page_names_the_icon(operator, address):
    assert ICON.search(operator.get(address).content.decode())


def test_the_pages_of_the_admin_keep_their_names(operator):
    page = operator.get("/admin/memory/memory/").content.decode()
    assert re.search(r"<title>\s*Select memory to change \| OmniRoute Memory\s*<", page)
    assert 'href="/admin/">OmniRoute Memory</a>' in page
