"""The OpenAPI document: valid, whole, true to the routes, with examples that fit; and who may see it."""

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.validation import validate_schema
from jsonschema import Draft202012Validator
from rest_api import Api

from core.accounts.keys import create_api_key
from memory.models import Memory
from omniroute.openapi.document import build_document
from tests.docs.api_examples import FILE, collect_examples

JSON = "application/json"
# Beside Django in the same server.
FOREIGN_PATHS = {"/mcp"}


def list_routes(resolver: URLResolver, prefix: str = "/") -> Iterator[tuple[str, Any]]:
    for pattern in resolver.url_patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route), pattern.callback
        else:
            yield from list_routes(pattern, route)


def list_operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in build_document()["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return build_document()


def test_the_document_is_valid_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    validate_schema(document)


def test_the_version_is_the_products_own(document: dict[str, Any]) -> None:
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())
    assert document["info"]["version"] == settings.VERSION == project["project"]["version"]


def test_every_route_for_programs_is_in_the_document_and_no_other_one(document: dict[str, Any]) -> None:
    routes = {route for route, _ in list_routes(get_resolver()) if route.startswith(("/api/", "/v1/"))}
    assert set(document["paths"]) == routes | FOREIGN_PATHS


def test_every_method_of_a_route_is_described_and_no_other_one(document: dict[str, Any]) -> None:
    compared = 0
    for route, callback in list_routes(get_resolver()):
        if not route.startswith("/api/") or not hasattr(callback, "cls"):
            continue
        answered = {name for name in ("get", "post", "put", "patch", "delete") if hasattr(callback.cls, name)}
        assert set(document["paths"][route]) == answered, route
        compared += 1
    assert compared >= 15


def test_every_operation_says_who_may_what_it_answers_and_how_it_fails() -> None:
    names = []
    for path, method, operation in list_operations():
        names.append(operation["operationId"])
        assert operation["summary"] and operation["tags"], path
        assert {"bearer": []} in operation["security"], path
        for status in ("200", "401", "429", "500"):
            assert status in operation["responses"], (path, method, status)
        assert set(re.findall(r"{(\w+)}", path)) == {
            item["name"] for item in operation.get("parameters", []) if item["in"] == "path"
        }
    assert len(names) == len(set(names))


def test_every_schema_in_the_document_is_one(document: dict[str, Any]) -> None:
    count = 0
    for _path, _, operation in list_operations():
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for content in (content for body in bodies for content in body.get("content", {}).values()):
            Draft202012Validator.check_schema(content["schema"])
            count += 1
        for parameter in operation.get("parameters", []):
            Draft202012Validator.check_schema(parameter["schema"])
    assert count > 100


def test_examples_fit_the_schemas_they_stand_beside(document: dict[str, Any]) -> None:
    count = 0
    for path, _, operation in list_operations():
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for content in (content for body in bodies for content in body.get("content", {}).values()):
            if "example" in content:
                schema = {**content["schema"], "components": document["components"]}
                faults = list(Draft202012Validator(schema).iter_errors(content["example"]))
                assert not faults, (path, faults[0].json_path, faults[0].message)
                count += 1
    assert count >= 15


def test_examples_are_the_answers_of_the_page_that_a_running_server_is_held_against() -> None:
    assert json.loads(FILE.read_text(encoding="utf-8")) == collect_examples(), "run tests.docs.api_examples"


@pytest.mark.django_db
def test_rw_075_every_operation_under_api_is_for_managers_alone(anonymous: Api) -> None:
    chat_key = Api(create_api_key("chat", ("chat", "read:memory", "write:memory"))[1])
    wrong_key = Api("omr_wrong")
    before = Memory.objects.count()
    for path, method, _ in list_operations():
        if not path.startswith("/api/"):
            continue
        address = path.replace("{memory_id}", "0c9edcff-2bfc-4beb-bd0f-69c32a2f3b6f")
        for caller, status in ((anonymous, 401), (wrong_key, 401), (chat_key, 403)):
            answer = caller.send(method.upper(), address, {"key": "k", "content": "c", "apiKeyId": "", "confirm": 0})
            assert (answer.status_code, answer.headers["Content-Type"]) == (status, JSON), (method, path)
            assert set(answer.json()) == {"error"}
    assert Memory.objects.count() == before


@pytest.mark.django_db
def test_the_document_is_served_to_managers_alone(api: Api, anonymous: Api, document: dict[str, Any]) -> None:
    answer = api.get("/api/schema")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, JSON)
    assert answer.json() == document
    assert anonymous.get("/api/schema").status_code == 401
    chat_key = Api(create_api_key("chat")[1])
    for path in ("/api/schema", "/api/docs"):
        answer = chat_key.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "missing_scope")
    assert api.post("/api/schema").status_code == api.post("/api/docs").status_code == 405


@pytest.mark.django_db
def test_the_page_is_for_managers_and_sends_browsers_to_sign_in(
    anonymous: Api, client: Client, admin_client: Client, django_user_model: Any
) -> None:
    assert anonymous.get("/api/docs").status_code == 401
    assert Api("omr_wrong").get("/api/docs").status_code == 401
    redirect = client.get("/api/docs", headers={"accept": "text/html,*/*"})
    assert redirect.status_code == 302
    assert redirect.headers["Location"] == f"{settings.LOGIN_URL}?next=/api/docs"
    client.force_login(django_user_model.objects.create_user("nobody"))
    assert client.get("/api/docs").status_code == 401
    page = admin_client.get("/api/docs")
    assert (page.status_code, page.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "csrftoken" in page.cookies


def test_the_page_has_its_assets_with_it_and_nothing_inline(admin_client: Client) -> None:
    text = admin_client.get("/api/docs").content.decode()
    used = re.findall(r'(?:src|href)="([^"]+)"', text)
    assert len(used) == 5
    for address in used:
        assert address.startswith("/static/")
        assert finders.find(address.removeprefix("/static/").partition("?")[0]), address
    assert not re.findall(r"<script(?![^>]*\bsrc=)[^>]*>|<style|\son\w+=|\sstyle=|javascript:", text)
