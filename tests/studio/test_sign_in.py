"""The operator's way in and out, and what no page of the studio is sent without."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from studio.sign_in_tries import SignInTries

PAGES = (
    "/dashboard",
    "/dashboard/overview",
    "/dashboard/memory",
    "/dashboard/memory?tab=playground",
    "/dashboard/memory?tab=engine",
    "/dashboard/requests",
    "/dashboard/settings",
)
SIGN_IN = "/dashboard/sign-in"
ADMIN_SIGN_IN = "/admin/login/"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_tries_remembered(settings):
    cache.clear()
    # The real one is slow on purpose.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def operator():
    return User.objects.create_user("ona", password="correct horse", is_staff=True)


def sign_in(client, password="correct horse", **fields):
    return client.post(SIGN_IN, {"username": "ona", "password": password, **fields})


@pytest.mark.parametrize("path", PAGES[1:])
def test_a_stranger_is_asked_to_sign_in_and_then_gets_where_they_were_going(client, operator, path):
    asked = client.get(path)

    assert asked.status_code == 302
    assert asked.headers["location"].startswith(f"{SIGN_IN}?next=")
    shown = client.get(asked.headers["location"])
    assert sign_in(client, next=shown.context["next"]).headers["location"] == path


@pytest.mark.parametrize("path", PAGES[1:])
def test_every_page_forbids_scripts_of_others_and_is_kept_by_nobody(client, operator, path):
    client.force_login(operator)

    answer = client.get(path)

    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert " style=" not in answer.content.decode()
    assert " onclick=" not in answer.content.decode()


def test_the_front_door_leads_to_the_memories(client):
    assert client.get("/").headers["location"] == "/dashboard/memory"


@pytest.mark.parametrize(
    "elsewhere", ["https://example.org/", "//example.org/", "javascript:alert(1)", "\\\\example.org", "/\\example.org"]
)
def test_signing_in_never_leads_to_another_server(client, operator, elsewhere):
    assert sign_in(client, next=elsewhere).headers["location"] == "/dashboard/memory"


def test_a_wrong_password_is_told_without_telling_which_of_the_two_is_wrong(client, operator):
    wrong = sign_in(client, "wrong")
    unknown = client.post(SIGN_IN, {"username": "nobody", "password": "wrong"})

    assert wrong.status_code == unknown.status_code == 422
    assert "That did not match." in wrong.content.decode()
    assert "4 tries are left" in wrong.content.decode()
    assert "4 tries are left" in unknown.content.decode()


def test_after_five_wrong_passwords_there_is_a_pause_for_the_right_one_too(client, operator):
    for _ in range(5):
        last = sign_in(client, "wrong")

    assert "Too many tries." in last.content.decode()
    assert sign_in(client).status_code == 429


def test_a_pause_holds_for_one_name_from_one_address_only(client, operator):
    for _ in range(5):
        client.post(SIGN_IN, {"username": "somebody", "password": "wrong"})

    assert sign_in(client).status_code == 302
    for _ in range(5):
        Client(REMOTE_ADDR="192.0.2.7").post(SIGN_IN, {"username": "ona", "password": "wrong"})
    client.logout()
    assert sign_in(client).status_code == 302


def test_tries_that_are_made_at_once_are_no_more_than_those_made_in_turn():
    tries = SignInTries("ona", "192.0.2.7")

    with ThreadPoolExecutor(10) as threads:
        left = list(threads.map(lambda _: tries.take(), range(20)))

    assert sorted(left) == list(range(-15, 5))


@pytest.mark.parametrize("spelling", ["ona ", "\u00a0ona", "ONA", "\uff4fna"])
def test_another_spelling_of_a_name_is_no_new_try(client, operator, spelling):
    for _ in range(5):
        client.post(SIGN_IN, {"username": spelling, "password": "wrong"})

    assert sign_in(client).status_code == 429


def test_the_sign_in_of_the_admin_counts_the_same_tries(client, operator):
    for _ in range(3):
        sign_in(client, "wrong")
    for _ in range(2):
        client.post(ADMIN_SIGN_IN, {"username": "ona", "password": "wrong"})

    refused = client.post(ADMIN_SIGN_IN, {"username": "ona", "password": "correct horse"})

    assert "Too many tries. Wait 10 minutes." in refused.content.decode()
    assert client.get("/admin/").status_code == 302
    assert sign_in(client).status_code == 429


def test_the_admin_lets_its_operator_in_and_forgets_what_went_wrong_before(client, operator):
    client.post(ADMIN_SIGN_IN, {"username": "ona", "password": "wrong"})

    client.post(ADMIN_SIGN_IN, {"username": "ona", "password": "correct horse"})

    assert client.get("/admin/").status_code == 200
    client.logout()
    assert "4 tries are left" in sign_in(client, "wrong").content.decode()


def test_who_is_no_staff_is_told_so_and_sees_nothing(client):
    client.force_login(User.objects.create_user("guest", password="x"))

    answer = client.get("/dashboard/memory")

    assert answer.status_code == 403
    assert "no member of staff" in answer.content.decode()


def test_signing_out_ends_the_session(client, operator):
    client.force_login(operator)

    assert client.post("/dashboard/sign-out").headers["location"] == SIGN_IN
    assert client.get("/dashboard/memory").status_code == 302


def test_a_link_cannot_sign_anybody_out(client, operator):
    client.force_login(operator)

    assert client.get("/dashboard/sign-out").status_code == 405
    assert client.get("/dashboard/memory").status_code == 200


def test_forms_need_their_token(operator):
    client = Client(enforce_csrf_checks=True)
    client.force_login(operator)

    answer = client.post("/dashboard/sign-out")

    assert answer.status_code == 403
    assert "nothing was saved" in answer.content.decode()
    assert client.get("/dashboard/memory").status_code == 200


def test_a_session_that_ended_sends_the_whole_page_to_sign_in_not_a_piece_of_it(client):
    answer = client.get(
        "/dashboard/memory?q=tea",
        headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/dashboard/memory?page=3"},
    )

    assert answer.headers["HX-Redirect"] == f"{SIGN_IN}?next=%2Fdashboard%2Fmemory%3Fpage%3D3"
    assert answer.content == b""


@pytest.mark.parametrize("broken", ["http://[", "//[x", "http://[::1]bad"])
def test_a_page_address_that_is_none_is_passed_over(client, operator, broken):
    headers = {"HX-Request": "true", "HX-Current-URL": broken}

    assert client.get("/dashboard/memory", headers=headers).headers["HX-Redirect"].startswith(SIGN_IN)
    client.force_login(operator)
    assert client.post("/dashboard/theme", headers=headers).headers["location"] == "/dashboard/memory"


def test_the_theme_of_the_cookie_stands_in_the_page_before_any_script(client, operator):
    client.force_login(operator)

    client.post("/dashboard/theme", {"theme": "dark", "next": "/dashboard/overview"})

    assert 'data-theme="dark"' in client.get("/dashboard/memory").content.decode()
    client.post("/dashboard/theme", {"theme": '"><script>', "next": "/dashboard/overview"})
    assert 'data-theme="dark"' in client.get("/dashboard/memory").content.decode()


def test_an_address_that_is_none_is_told_in_the_studios_own_page(client, operator):
    client.force_login(operator)

    answer = client.get("/dashboard/nowhere")

    assert answer.status_code == 404
    assert "There is nothing at this address" in answer.content.decode()
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_programs_still_get_their_errors_as_json(client):
    assert client.get("/api/nowhere").json()["error"]["code"] == "not_found"
