"""/api/memory/undo: what can be undone, and its undo, over HTTP."""

import json
from typing import Any

import pytest
from django.test import Client

from tests.rest.rest_api import MANAGEMENT_KEY, Api, fields_of

pytestmark = pytest.mark.django_db
IMPORT, UNDO = "/api/memory/import?apiKeyId=A", "/api/memory/undo"


@pytest.fixture
def api(settings: Any) -> Api:
    settings.OMNIROUTE_API_KEY = MANAGEMENT_KEY
    return Api(MANAGEMENT_KEY)


def import_rows(api: Api, *rows: dict[str, Any]) -> str:
    answer = api.post(IMPORT, json.dumps(rows).encode(), content_type="application/octet-stream").json()
    return str(answer["undoId"])


def list_contents(api: Api) -> dict[str, str]:
    return {it["key"]: it["content"] for it in api.get("/api/memory", {"apiKeyId": "A"}).json()["data"]}


def test_an_import_is_undone_by_the_id_it_told(api: Api) -> None:
    api.remember(apiKeyId="A", key="tea", content="green")
    undo_id = import_rows(api, {"key": "tea", "content": "black"}, {"key": "cup", "content": "blue"})
    assert list_contents(api) == {"tea": "black", "cup": "blue"}
    answer = api.post(UNDO, {"undoId": undo_id.upper()})
    assert answer.json() == {
        "success": True,
        "undoId": undo_id,
        "kind": "import",
        "restoredCount": 1,
        "removedCount": 1,
        "keptNewer": [],
        "wasUndoneBefore": False,
    }
    assert list_contents(api) == {"tea": "green"}
    assert api.post(UNDO, {"undoId": undo_id}).json()["wasUndoneBefore"] is True


def test_what_is_newer_is_in_the_way_and_stays_when_forced(api: Api) -> None:
    undo_id = import_rows(api, {"key": "tea", "content": "black"}, {"key": "cup", "content": "blue"})
    api.remember(apiKeyId="A", key="cup", content="red")
    refused = api.post(UNDO, {"undoId": undo_id})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "undo_conflict")
    assert list_contents(api) == {"tea": "black", "cup": "red"}
    forced = api.post(UNDO, {"undoId": undo_id, "force": True}).json()
    assert (forced["removedCount"], len(forced["keptNewer"])) == (1, 1)
    assert list_contents(api) == {"cup": "red"}


def test_what_can_be_undone_is_listed_the_newest_first(api: Api) -> None:
    first = import_rows(api, {"key": "tea", "content": "black"})
    second = import_rows(api, {"key": "cup", "content": "blue"}, {"key": "pot", "content": "iron"})
    api.post(UNDO, {"undoId": first})
    listed = api.get(UNDO).json()["changes"]
    told = [(it["undoId"], it["kind"], it["label"], it["memories"], it["undoneAt"] is None) for it in listed]
    assert told == [(second, "import", "upload", 2, True), (first, "import", "upload", 0, False)]


def test_unknown_ids_and_bodies_are_refused_in_words(api: Api) -> None:
    answer = api.post(UNDO, {"undoId": "864367bd-83fe-445b-b382-139023d1bc70"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert fields_of(api.post(UNDO, {})) == {"undoId"}
    assert fields_of(api.post(UNDO, {"undoId": 5, "force": "yes", "all": True})) == {"undoId", "force", "all"}


def test_only_management_may(settings: Any) -> None:
    settings.OMNIROUTE_API_KEY = MANAGEMENT_KEY
    stranger = Client(raise_request_exception=False)
    assert stranger.get(UNDO).status_code == 401
    assert stranger.post(UNDO, {"undoId": "x"}, content_type="application/json").status_code == 401
