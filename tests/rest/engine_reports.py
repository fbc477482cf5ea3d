"""Calls about the engine: how it stands, and a reindex."""

from typing import Any

from rest_api import Api

STATUS, REINDEX, SETTINGS = "/api/memory/engine-status", "/api/memory/reindex", "/api/settings/memory"


def read_status(api: Api) -> dict[str, Any]:
    answer = api.get(STATUS)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def ask_reindex(api: Api, body: Any = b"") -> dict[str, Any]:
    answer = api.post(REINDEX, body)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())
