"""What every request passes through, tried on views of its own, synchronous and asynchronous."""

import asyncio
import io
from typing import Any
from unittest.mock import patch

import pytest
import structlog
from asgiref.sync import SyncToAsync
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.test import AsyncClient, Client
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from core.middleware import read_request_id

SECRET = "secret-words-of-an-exception"


def tell_context(request: HttpRequest) -> HttpResponse:
    return JsonResponse(
        {
            "id": read_request_id(request),
            "bound": structlog.contextvars.get_contextvars().get("request_id"),
            "hasSession": hasattr(request, "session"),
        }
    )


async def tell_context_async(request: HttpRequest) -> HttpResponse:
    return tell_context(request)


async def take_post(request: HttpRequest) -> HttpResponse:
    return HttpResponse("taken")


def fail(request: HttpRequest) -> HttpResponse:
    raise RuntimeError(SECRET)


def refuse(request: HttpRequest) -> HttpResponse:
    raise PermissionDenied(SECRET)


def read_body(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(len(request.body)))


class Failing(APIView):
    authentication_classes = ()
    permission_classes = ()

    def get(self, request: Request) -> Response:
        raise RuntimeError(SECRET)


urlpatterns = [
    path("admin/", admin.site.urls),
    path("page", tell_context),
    path("page/fail", fail),
    path("page/refuse", refuse),
    path("page/form", read_body),
    path("api/fail", fail),
    path("api/rest-fail", Failing.as_view()),
    path("api/refuse", refuse),
    path("api/form", read_body),
    path("v1/context", tell_context_async),
    path("v1/post", take_post),
]

handler400 = "core.error_handler.show_bad_request"
handler403 = "core.error_handler.show_forbidden"
handler404 = "core.error_handler.show_not_found"
handler500 = "core.error_handler.show_server_failure"

pytestmark = pytest.mark.urls(__name__)


@pytest.fixture
def browser() -> Client:
    return Client(raise_request_exception=False)


# --- request ids ---------------------------------------------------------------


@pytest.mark.parametrize("route", ["/page", "/v1/context"])
def test_a_request_has_an_id_in_answer_view_and_logs(browser: Client, route: str) -> None:
    answer = browser.get(route)
    assert len(answer["x-request-id"]) == 32
    assert answer["x-request-id"] == answer.json()["id"] == answer.json()["bound"]
    assert browser.get(route)["x-request-id"] != answer["x-request-id"]


def test_an_id_from_the_caller_is_kept(browser: Client) -> None:
    assert browser.get("/page", headers={"x-request-id": "job-7:a.b_c"})["x-request-id"] == "job-7:a.b_c"


@pytest.mark.parametrize("given", ["", " ", "a b", "x" * 129, "a\nb", "<script>", "ž", "a=b;c"])
def test_an_id_that_could_spoil_a_log_is_replaced(browser: Client, given: str) -> None:
    assert len(browser.get("/page", headers={"x-request-id": given})["x-request-id"]) == 32


def test_the_id_is_unbound_when_the_request_is_over(browser: Client) -> None:
    browser.get("/page")
    assert "request_id" not in structlog.contextvars.get_contextvars()


def test_asynchronous_requests_at_once_keep_their_own_ids() -> None:
    ids = [f"request-{number}" for number in range(20)]

    async def ask_all() -> list[Any]:
        client = AsyncClient()
        return await asyncio.gather(*(client.get("/v1/context", headers={"x-request-id": given}) for given in ids))

    answers = asyncio.run(ask_all())
    assert [answer.json()["bound"] for answer in answers] == ids
    assert [answer["x-request-id"] for answer in answers] == ids


# --- headers ---------------------------------------------------------------


@pytest.mark.parametrize("route", ["/page", "/v1/context", "/nowhere", "/api/fail", "/api/rest-fail"])
def test_every_answer_has_the_security_headers(browser: Client, route: str) -> None:
    answer = browser.get(route)
    policy = answer["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer["x-content-type-options"] == "nosniff"
    assert answer["referrer-policy"] == "same-origin"
    assert answer["x-request-id"]


@pytest.mark.parametrize("route", ["/page", "/v1/context", "/nowhere"])
def test_a_host_name_that_is_not_ours_is_refused(browser: Client, route: str) -> None:
    answer = browser.get(route, headers={"host": "attacker.example"})
    assert answer.status_code == 400
    assert answer["x-request-id"]
    assert "attacker" not in answer.content.decode()


def test_a_strange_host_is_refused_asynchronously_too() -> None:
    async def ask() -> Any:
        return await AsyncClient().get("/v1/context", headers={"host": "attacker.example"})

    answer = asyncio.run(ask())
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "Bad request"


# --- the way of a chat request ---------------------------------------------------------------


def run_asgi(method: str, route: str) -> tuple[HttpResponse, int]:
    """Run a request through the asynchronous handler and count the calls that went to a thread."""
    hops = 0
    call = SyncToAsync.__call__

    async def count_call(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal hops
        hops += 1
        return await call(self, *args, **kwargs)

    async def run() -> Any:
        scope = {"type": "http", "method": method, "path": route, "headers": [(b"host", b"testserver")]}
        return await ASGIHandler().get_response_async(ASGIRequest(scope, io.BytesIO()))

    with patch.object(SyncToAsync, "__call__", count_call):
        return asyncio.run(run()), hops


def test_a_chat_request_costs_no_thread_hop() -> None:
    answer, hops = run_asgi("POST", "/v1/post")
    assert (answer.status_code, answer.content, hops) == (200, b"taken", 0)


def test_other_requests_have_session_and_form_token_check() -> None:
    answer, hops = run_asgi("GET", "/page")
    assert b'"hasSession": true' in answer.content
    assert hops > 0
    refused, _ = run_asgi("POST", "/page")
    assert refused.status_code == 403


def test_a_chat_request_is_treated_alike_without_an_event_loop() -> None:
    browser = Client(enforce_csrf_checks=True)
    assert browser.get("/v1/context").json()["hasSession"] is False
    assert browser.post("/v1/post").content == b"taken"
    assert browser.post("/page").status_code == 403


# --- errors ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("route", "status", "code"),
    [
        ("/api/nowhere", 404, "not_found"),
        ("/v1/nowhere", 404, "not_found"),
        ("/mcp", 404, "not_found"),
        ("/healthz", 404, "not_found"),
        ("/api/fail", 500, "internal_error"),
        ("/api/rest-fail", 500, "internal_error"),
        ("/api/refuse", 403, "forbidden"),
    ],
)
def test_programs_get_errors_as_json(browser: Client, route: str, status: int, code: str) -> None:
    answer = browser.get(route)
    assert answer.status_code == status
    assert answer["content-type"] == "application/json"
    assert answer.json()["error"].keys() >= {"message", "type", "code"}
    assert answer.json()["error"]["code"] == code
    assert SECRET not in answer.content.decode()


@pytest.mark.parametrize(("route", "status"), [("/nowhere", 404), ("/page/fail", 500), ("/page/refuse", 403)])
def test_people_get_errors_as_a_page(browser: Client, route: str, status: int) -> None:
    answer = browser.get(route)
    assert answer.status_code == status
    assert answer["content-type"].startswith("text/html")
    assert f"<h1>{status}</h1>" in answer.content.decode()
    assert SECRET not in answer.content.decode()
    assert "Traceback" not in answer.content.decode()


@pytest.mark.parametrize(("route", "kind"), [("/page/form", "text/html"), ("/api/form", "application/json")])
def test_a_body_beyond_the_limit_is_a_413(browser: Client, settings: Any, route: str, kind: str) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    answer = browser.post(route, b"x" * 1001, content_type="text/plain")
    assert answer.status_code == 413
    assert answer["content-type"].startswith(kind)


@pytest.mark.parametrize(("route", "kind"), [("/page", "text/html"), ("/api/form", "application/json")])
def test_a_missing_form_token_is_told_in_words(route: str, kind: str) -> None:
    answer = Client(enforce_csrf_checks=True).post(route)
    assert answer.status_code == 403
    assert answer["content-type"].startswith(kind)
    assert "load the page again" in answer.content.decode()


def test_the_traceback_of_a_failure_is_in_the_log(browser: Client, caplog: Any) -> None:
    browser.get("/api/rest-fail", headers={"x-request-id": "find-me"})
    record = next(record for record in caplog.records if "http.request.failed" in str(record.msg))
    assert record.exc_info or "exc_info" in record.msg
    assert record.msg["request_id"] == "find-me"
