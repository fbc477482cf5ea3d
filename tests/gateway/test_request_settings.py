"""What the log of requests keeps is a setting of its own, apart from memory's."""

from typing import Any

import pytest
from django.test import Client

from core.models import Setting
from gateway.request_settings import REQUEST_SECTION, load_request_settings
from tests.docs.markdown import list_rows, read_page, unquote

pytestmark = pytest.mark.django_db
ROUTE = "/api/settings/requests"
DEFAULTS = {"requestLogDays": 14, "requestLogText": False, "requestLogTextHours": 24}


@pytest.fixture
def api(settings: Any) -> Client:
    settings.OMNIROUTE_API_KEY = "management-key-of-the-tests"
    return Client(headers={"authorization": f"Bearer {settings.OMNIROUTE_API_KEY}"})


def put(api: Client, body: Any) -> Any:
    return api.put(ROUTE, body, content_type="application/json")


def test_they_are_read_and_changed_one_by_one(api: Client) -> None:
    assert api.get(ROUTE).json() == DEFAULTS
    assert put(api, {"requestLogDays": 3}).json() == {**DEFAULTS, "requestLogDays": 3}
    assert put(api, {}).json() == {**DEFAULTS, "requestLogDays": 3}
    assert load_request_settings().days == 3


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"requestLogDays": 0}, "requestLogDays"),
        ({"requestLogDays": 366}, "requestLogDays"),
        ({"requestLogText": "yes"}, "requestLogText"),
        ({"requestLogTextHours": 169}, "requestLogTextHours"),
        ({"enabled": True}, "enabled"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_stored(api: Client, body: dict[str, Any], field: str) -> None:
    answer = put(api, {"requestLogDays": 5, **body})
    assert answer.status_code == 400
    assert [detail["field"] for detail in answer.json()["details"]] == [field]
    assert not Setting.objects.exists()


def test_strangers_neither_read_nor_change_them() -> None:
    assert Client().get(ROUTE).status_code == 401
    assert put(Client(), {"requestLogText": True}).status_code == 401


def test_every_one_is_documented_with_its_range_and_its_default() -> None:
    rows = {unquote(row[0]): row for row in list_rows(read_page("docs/configuration.md"), "Log setting")}
    assert list(rows) == [field.name for field in REQUEST_SECTION.fields]
    for field in REQUEST_SECTION.fields:
        _, key, values, default, _ = rows[field.name]
        assert unquote(key) == field.key
        assert unquote(default) == str(field.default).lower()
        assert values == ("true or false" if field.kind == "bool" else f"{field.minimum} to {field.maximum}")
