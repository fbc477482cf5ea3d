"""Management auth (contract B13) as a REST view meets it: every credential, right, wrong and missing."""

import pytest
from django.contrib.auth.models import User
from django.urls import path
from rest_framework.response import Response
from rest_framework.test import APIClient
from rest_framework.views import APIView

from core.accounts import keys

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]


class WhoView(APIView):
    def get(self, request):
        return Response({"user": getattr(request.user, "name", None) or request.user.username})

    def post(self, request):
        return self.get(request)


urlpatterns = [path("api/who", WhoView.as_view())]


@pytest.fixture
def client() -> APIClient:
    return APIClient(enforce_csrf_checks=True)


@pytest.fixture
def make_key():
    return lambda *scopes: keys.create_api_key("-".join(scopes), scopes)[1]


def call(client, header=None, method="get"):
    extra = {} if header is None else {"HTTP_AUTHORIZATION": header}
    return getattr(client, method)("/api/who", **extra)


def assert_refused(response, status, message, code):
    assert response.status_code == status
    assert response.json()["error"]["message"] == message
    assert response.json()["error"]["code"] == code
    assert response.json()["error"]["type"] == "invalid_request"


@pytest.mark.parametrize("header", [None, "", "Bearer", "Basic b3BlcmF0b3I6eA==", "Token abc"])
def test_no_credential_is_401_and_names_the_scheme(client, header):
    response = call(client, header)
    assert_refused(response, 401, "Authentication required", "authentication_required")
    assert response["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("header", ["Bearer nope", "bearer omr_nope", "Bearer \xff\xfe", "Bearer a b"])
def test_a_wrong_key_is_401(client, header):
    response = call(client, header)
    assert_refused(response, 401, "Invalid API key", "invalid_api_key")
    assert response["WWW-Authenticate"] == "Bearer"


def test_a_revoked_key_is_401(client, make_key):
    bare_key = make_key("manage")
    assert call(client, f"Bearer {bare_key}").status_code == 200
    keys.revoke_keys([row.id for row in keys.find_keys(bare_key)])
    assert_refused(call(client, f"Bearer {bare_key}"), 401, "Invalid API key", "invalid_api_key")


def test_a_chat_key_is_403_and_told_what_it_lacks(client, make_key):
    response = call(client, f"Bearer {make_key('chat')}")
    assert_refused(
        response,
        403,
        "API key lacks 'manage' scope. Enable it in the admin under API keys.",
        "missing_scope",
    )


@pytest.mark.parametrize("scope", ["manage", "admin"])
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_a_managing_key_is_let_through_in_any_case(client, make_key, scope, scheme):
    assert call(client, f"{scheme} {make_key(scope)}").json() == {"user": scope}
    assert call(client, f"{scheme} {make_key(scope)}", "post").status_code == 200


def test_the_key_of_the_environment_is_let_through(client, settings):
    settings.OMNIROUTE_API_KEY = "operator-secret"
    assert call(client, "Bearer operator-secret").json() == {"user": "OMNIROUTE_API_KEY"}
    assert call(client, "Bearer operator-secre").status_code == 401


def test_a_key_in_another_header_or_in_the_query_is_no_credential(client, make_key):
    bare_key = make_key("admin")
    assert client.get("/api/who", HTTP_X_API_KEY=bare_key).status_code == 401
    assert client.get("/api/who", {"api_key": bare_key}).status_code == 401


def log_in(client, *, is_staff=True, is_active=True) -> None:
    user = User.objects.create_user("ona", password="x", is_staff=is_staff)
    client.force_login(user)
    if not is_active:
        User.objects.update(is_active=False)


def test_a_staff_session_reads(client):
    log_in(client)
    assert call(client).json() == {"user": "ona"}


def test_a_staff_session_writes_only_with_the_csrf_token(client):
    log_in(client)
    response = call(client, method="post")
    assert response.status_code == 403
    assert response.json()["error"]["code"] == "csrf_failed"
    client.cookies["csrftoken"] = token = "t" * 32
    assert client.post("/api/who", HTTP_X_CSRFTOKEN=token).status_code == 200


@pytest.mark.parametrize("state", [{"is_staff": False}, {"is_active": False}])
def test_a_session_of_somebody_else_is_no_credential(client, state):
    log_in(client, **state)
    assert_refused(call(client), 401, "Authentication required", "authentication_required")


def test_a_key_that_is_given_decides_even_in_a_staff_session(client, make_key):
    log_in(client)
    assert call(client, "Bearer nope").status_code == 401
    assert call(client, f"Bearer {make_key('chat')}").status_code == 403
    assert call(client, f"Bearer {make_key('manage')}", "post").json() == {"user": "manage"}
