"""Who may call the management endpoints (RW-075)."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_api import Api

from core.accounts.keys import create_api_key, revoke_keys
from core.models import Setting
from core.providers.configuration import ProviderChanges, save_provider
from memory.models import Memory
from omniroute.openapi.document import build_document

pytestmark = pytest.mark.django_db

ENDPOINTS = [
    ("GET", "/api/memory", None),
    ("POST", "/api/memory", {"key": "new", "content": "c"}),
    ("PATCH", "/api/memory", {}),
    ("OPTIONS", "/api/memory", None),
    ("GET", "/api/memory/{id}", None),
    ("PUT", "/api/memory/{id}", {"content": "changed"}),
    ("DELETE", "/api/memory/{id}", None),
    ("GET", "/api/memory/not-a-uuid", None),
    ("GET", "/api/memory/health", None),
    ("POST", "/api/memory/retrieve-preview", {"query": "private"}),
    ("GET", "/api/settings/memory", None),
    ("PUT", "/api/settings/memory", {"enabled": True}),
]


@pytest.fixture
def stored(api: Api) -> dict[str, Any]:
    return api.remember(content="private words")


def call_all(caller: Api, memory: dict[str, Any], status: int, **extra: Any) -> list[Any]:
    """Call every endpoint and check that each refuses and none has done anything."""
    answers = []
    for verb, route, body in ENDPOINTS:
        raw: Any = b"" if body is None else body
        answer = caller.send(verb, route.format(id=memory["id"]), raw, **extra)
        assert answer.status_code == status, (verb, route)
        assert answer["content-type"] == "application/json"
        assert answer.json()["error"]["type"] == "invalid_request"
        assert "private" not in answer.content.decode()
        answers.append(answer)
    assert Memory.objects.values_list("content", flat=True).get() == "private words"
    assert not Setting.objects.exists()
    return answers


def test_rw_075_nobody_gets_in_without_a_credential(anonymous: Api, stored: dict[str, Any]) -> None:
    for answer in call_all(anonymous, stored, 401):
        assert answer.json()["error"]["message"] == "Authentication required"
        assert answer["www-authenticate"] == "Bearer"


def test_rw_075_a_wrong_or_revoked_key_is_a_401(stored: dict[str, Any]) -> None:
    row, revoked = create_api_key("old", ("manage",))
    revoke_keys([row.id])
    for key in ("wrong", revoked):
        for answer in call_all(Api(key), stored, 401):
            assert answer.json()["error"]["message"] == "Invalid API key"


def test_rw_075_a_chat_key_is_a_403(stored: dict[str, Any]) -> None:
    _, chat_key = create_api_key("chat")
    for answer in call_all(Api(chat_key), stored, 403):
        assert "manage" in answer.json()["error"]["message"]


def test_rw_075_other_headers_and_schemes_are_no_credential(anonymous: Api, stored: dict[str, Any]) -> None:
    _, key = create_api_key("m", ("manage",))
    for headers in ({"x-api-key": key}, {"authorization": key}, {"authorization": f"Basic {key}"}):
        call_all(anonymous, stored, 401, headers=headers)


def test_rw_075_an_expired_session_is_a_401(stored: dict[str, Any]) -> None:
    caller = Api(None)
    caller.client.force_login(User.objects.create_user("boss", is_staff=True))
    assert caller.get("/api/memory").status_code == 200
    caller.client.session.flush()
    call_all(caller, stored, 401)


def test_rw_075_a_user_who_is_not_staff_is_a_401(stored: dict[str, Any]) -> None:
    caller = Api(None)
    caller.client.force_login(User.objects.create_user("guest"))
    call_all(caller, stored, 401)


@pytest.mark.parametrize("scope", ["manage", "admin"])
def test_a_key_with_the_scope_gets_in(scope: str) -> None:
    _, key = create_api_key("m", (scope,))
    assert Api(key).get("/api/memory").status_code == 200
    lower = Client(headers={"Authorization": f"bEaReR {key}"})
    assert lower.get("/api/settings/memory").status_code == 200


def test_a_staff_session_needs_the_form_token_to_change_things(stored: dict[str, Any]) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(User.objects.create_user("boss", is_staff=True))
    assert browser.get("/api/memory").status_code == 200
    body = {"key": "k2", "content": "c"}
    for content_type in ("application/json", "text/plain", "multipart/form-data; boundary=x", ""):
        refused = browser.generic("POST", "/api/memory", '{"key":"k2","content":"c"}', content_type=content_type)
        assert (refused.status_code, refused["content-type"]) == (403, "application/json"), content_type
        assert refused.json()["error"]["code"] == "csrf_failed"
    assert browser.put("/api/settings/memory", {"enabled": True}, content_type="application/json").status_code == 403
    browser.get("/admin/login/")
    browser.cookies["csrftoken"] = "t" * 32
    accepted = browser.post("/api/memory", body, content_type="application/json", headers={"x-csrftoken": "t" * 32})
    assert accepted.status_code == 200


def test_rw_075_a_failure_shows_neither_traceback_nor_settings(api: Api, settings: Any, monkeypatch: Any) -> None:
    settings.SECRET_KEY = "sk-test-LEAKME"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-LEAKME")

    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError("sk-test-LEAKME at /srv/app/file.py")

    monkeypatch.setattr("memory.views.preview_retrieval", fail)
    answer = api.post("/api/memory/retrieve-preview", {"query": "x"})
    text = answer.content.decode()
    assert answer.status_code == 500
    assert answer.json()["error"] == {
        "message": "Something went wrong on the server",
        "type": "server_error",
        "code": "internal_error",
        "requestId": answer["x-request-id"],
    }
    for forbidden in ("LEAKME", "Traceback", "/srv/", "RuntimeError"):
        assert forbidden not in text


@pytest.mark.usefixtures("fresh_engine")
def test_rw_075_no_answer_to_a_manager_holds_a_stored_secret(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    secret = "sk-test-LEAKME"
    save_provider("openai", ProviderChanges(base_url="http://127.0.0.1:9", api_key=secret))
    assert api.put("/api/settings/qdrant", {"host": "127.0.0.1", "port": 9, "apiKey": secret}).status_code == 200
    backend = {"baseUrl": "http://127.0.0.1:9", "apiKey": secret, "headers": {"x-api-key": secret}}
    assert api.put("/api/settings/memory", {"backendConfigs": {"generic": backend}}).status_code == 200
    memory = api.remember(content="private words")
    paths = [path for path, methods in build_document()["paths"].items() if "get" in methods and "/api/" in path]
    assert len(paths) > 12
    for path in paths:
        answer = api.get(path.replace("{memory_id}", memory["id"]))
        assert "LEAKME" not in answer.getvalue().decode(), path
    for path in ("/api/settings/qdrant/search", "/api/memory/retrieve-preview"):
        assert "LEAKME" not in api.post(path, {"query": "private"}).getvalue().decode(), path
    assert "LEAKME" not in caplog.text
