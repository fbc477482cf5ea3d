"""Static files: an address that names its content may be kept for a year, any other for minutes."""

import re

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from starlette.testclient import TestClient

from omniroute.static_files import build_static_application
from studio import assets

STYLESHEET = "studio/studio.css"


@pytest.fixture(scope="module")
def files() -> TestClient:
    return TestClient(build_static_application())


def test_a_named_content_is_kept_for_a_year(files):
    answer = files.get(assets.address_asset(STYLESHEET))
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize("query", ["", "?v=", "?v=0123456789ab", "?other=1", "?v=%00"])
def test_any_other_address_is_kept_for_minutes(files, query):
    assert files.get(f"/static/{STYLESHEET}{query}").headers["cache-control"] == "public, max-age=300"


def test_another_content_has_another_address(tmp_path, monkeypatch):
    sheet = tmp_path / "a.css"
    sheet.write_text("a")
    monkeypatch.setattr(finders, "find", lambda name: str(sheet))
    before = assets.address_asset("a.css")
    sheet.write_text("another")
    assert assets.address_asset("a.css") != before


def test_a_file_that_is_not_there_is_no_silent_gap():
    with pytest.raises(FileNotFoundError):
        assets.address_asset("studio/nothing.css")


@pytest.mark.django_db
def test_a_page_loads_only_named_contents_of_this_server():
    page = Client().get("/dashboard/sign-in").content.decode()
    loaded = re.findall(r'<(?:script|link)[^>]+(?:src|href)="([^"]+)"', page)
    addresses = [address for address in loaded if not address.startswith("data:")]
    assert len(addresses) >= 3
    assert all(re.fullmatch(r"/static/[\w./-]+\?v=[0-9a-f]{12}", address) for address in addresses)
