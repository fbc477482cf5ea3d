"""Moving in and out by HTTP: who may, what is answered, what is refused."""

import hashlib
import json
import secrets

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import AsyncClient, Client

from core.accounts.keys import create_api_key
from memory.backends import restoring
from memory.transfer import export, list_uploads
from tests.transfer.stored import list_contents, load, remember

pytestmark = pytest.mark.django_db
IMPORT, EXPORT, ERASE = "/api/memory/import", "/api/memory/export", "/api/memory/erase"
ROWS = [{"key": "k1", "content": "tea", "apiKeyId": "B"}, {"key": "k2", "content": ""}]


@pytest.fixture
def api(settings):
    settings.OMNIROUTE_API_KEY = secrets.token_hex(8)
    headers = {"authorization": f"Bearer {settings.OMNIROUTE_API_KEY}"}
    return Client(raise_request_exception=False, headers=headers)


def send(api, body, query="apiKeyId=A", path=IMPORT):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return api.post(f"{path}?{query}", raw, content_type="application/octet-stream")


@pytest.mark.parametrize("path", [IMPORT, EXPORT, ERASE])
def test_only_management_may(path):
    anonymous = Client(raise_request_exception=False)
    _, chat_key = create_api_key("chat")
    chatting = Client(raise_request_exception=False, headers={"authorization": f"Bearer {chat_key}"})
    method = "get" if path == EXPORT else "post"
    assert getattr(anonymous, method)(path).status_code == 401
    assert getattr(chatting, method)(path).status_code == 403
    assert load(None) == []


# --- in ---
def test_a_dry_run_tells_and_changes_nothing_and_the_import_does_as_told(api):
    told = send(api, ROWS, "apiKeyId=A&dryRun=true").json()
    assert told == {
        "dryRun": True,
        "format": "memories",
        "formatName": "Memories as JSON or JSON Lines",
        "total": 2,
        "counts": {"new": 1, "update": 0, "unchanged": 0, "older": 0, "repeated": 0, "invalid": 1, "leftOut": 0},
        "problems": [{"row": 2, "key": "k2", "outcome": "invalid", "reason": "content is empty"}],
        "samples": [{"row": 1, "outcome": "new", "apiKeyId": "A", "type": "factual", "key": "k1", "content": "tea"}],
        "notes": [],
        "owners": {"B": 1},
        "isIntact": None,
        "undoId": None,
    }
    assert load(None) == []
    done = send(api, ROWS).json()
    assert done.pop("undoId")
    assert done == {name: value for name, value in told.items() if name != "undoId"} | {"dryRun": False}
    assert list_contents("A") == ["tea"]
    assert list_uploads() == []


def test_a_form_with_a_file_works_too_with_a_key_and_with_a_session(api):
    file = SimpleUploadedFile("../../x.json", json.dumps(ROWS).encode())
    assert api.post(f"{IMPORT}?apiKeyId=A", {"file": file}).json()["counts"]["new"] == 1
    User.objects.create_superuser("root", password="x")
    browser = Client(enforce_csrf_checks=True)
    browser.login(username="root", password="x")
    file = SimpleUploadedFile("x.json", json.dumps(ROWS).encode())
    assert browser.post(f"{IMPORT}?apiKeyId=B", {"file": file}).status_code == 403
    browser.cookies["csrftoken"] = token = "a" * 32
    file.seek(0)
    answer = browser.post(f"{IMPORT}?apiKeyId=B", {"file": file, "csrfmiddlewaretoken": token})
    assert answer.status_code == 200, answer.content
    assert list_contents("B") == ["tea"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "apiKeyId"),
        ("apiKeyId=health-check", "apiKeyId"),
        ("apiKeyId=A&format=xml", "format"),
        ("apiKeyId=A&dryRun=yes", "dryRun"),
        ("apiKeyId=A&apiKeyId=B", "apiKeyId"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_the_parameters_name(api, query, field):
    answer = send(api, ROWS, query)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == field
    assert load(None) == []


def test_the_pool_of_no_key_must_be_asked_for_by_name(api):
    assert send(api, ROWS, "apiKeyId=").status_code == 200
    assert list_contents("") == ["tea"]


@pytest.mark.parametrize("body", [b"", b"null", b'[{"content": "a"', json.dumps(ROWS).encode("utf-16"), b"PK\x03\x04"])
def test_rw_069_a_file_that_cannot_be_read_is_a_400_that_says_why(api, body):
    answer = send(api, body)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "unreadable_file"
    assert (load(None), list_uploads()) == ([], [])


def test_rw_069_an_empty_list_is_fine_and_a_large_body_is_a_413(api, settings):
    assert send(api, b"[]").json()["total"] == 0
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    assert send(api, ROWS * 10).status_code == 413


def test_a_strict_import_is_refused_as_a_whole(api):
    answer = send(api, ROWS, "apiKeyId=A&strict=true")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "import_refused")
    assert load(None) == []


def test_broken_forms_are_a_400(api):
    form = "multipart/form-data; boundary=x"
    assert api.post(f"{IMPORT}?apiKeyId=A", b"nonsense", content_type=form).status_code == 400
    assert api.post(f"{IMPORT}?apiKeyId=A", b"", content_type="multipart/form-data").status_code == 400
    assert api.post(f"{IMPORT}?apiKeyId=A", {"other": "x"}).json()["error"]["param"] == "file"


# --- out ---
def test_the_export_comes_as_a_file_with_a_checksum(api):
    remember("tea")
    remember("of B", owner="B")
    answer = api.get(EXPORT, {"apiKeyId": "A"})
    text = b"".join(answer.streaming_content)
    assert answer["Content-Type"] == "application/x-ndjson"
    assert answer["Content-Disposition"].startswith('attachment; filename="memory-export-')
    assert answer["Cache-Control"] == "no-store"
    lines = text.splitlines(keepends=True)
    assert [json.loads(line).get("content") for line in lines] == [None, "tea", None]
    assert json.loads(lines[-1])["sha256"] == hashlib.sha256(b"".join(lines[:-1])).hexdigest()


def test_the_export_takes_the_lists_filters_and_comes_as_an_array_too(api):
    remember("tea", type="semantic")
    remember("coffee")
    told = json.loads(b"".join(api.get(EXPORT, {"format": "json", "type": "semantic"}).streaming_content))
    assert [memory["content"] for memory in told] == ["tea"]
    assert told[0] == api.get("/api/memory", {"q": "tea"}).json()["data"][0]
    assert api.get(EXPORT, {"type": "facts"}).status_code == 400
    assert api.get(EXPORT, {"format": "xml"}).status_code == 400


def test_what_was_exported_can_be_posted_back(api):
    stored = remember("tea", metadata={"a": 1})
    text = b"".join(api.get(EXPORT).streaming_content)
    assert send(api, text, "keepOwners=true").json()["counts"]["unchanged"] == 1
    assert send(api, text, "apiKeyId=C").json()["counts"]["new"] == 1
    assert load("A") == [stored]


# --- erase ---
@pytest.mark.django_db(transaction=True)
def test_an_erasure_is_counted_first_confirmed_with_that_number_and_proved(api):
    remember("tea")
    remember("of B", owner="B")

    def ask(**body):
        return api.post(ERASE, body, content_type="application/json")

    told = ask(apiKeyId="A", dryRun=True).json()
    assert (told["memories"], len(load("A"))) == (1, 1)
    assert ask(apiKeyId="A").json()["error"]["param"] == "confirm"
    wrong = ask(apiKeyId="A", confirm=2)
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (409, "wrong_count")
    assert len(load("A")) == 1
    receipt = ask(apiKeyId="A", confirm=1).json()["receipt"]
    assert (receipt["apiKeyId"], receipt["erasedBy"], receipt["isProven"]) == ("A", "OMNIROUTE_API_KEY", True)
    assert {"name": "memories", "before": 1, "after": 0, "error": ""} in receipt["places"]
    assert (load("A"), list_contents("B")) == ([], ["of B"])


@pytest.mark.django_db(transaction=True)
def test_under_asgi_an_export_is_read_piece_by_piece_while_it_is_sent(settings, monkeypatch):
    settings.OMNIROUTE_API_KEY = "the-key"
    for number in range(5):
        remember(f"tea {number}")
    monkeypatch.setattr(export, "SLICE_ROWS", 1)
    read = []
    load_stored = restoring.load_stored
    monkeypatch.setattr(restoring, "load_stored", lambda *given: read.append(given) or load_stored(*given))

    async def fetch():
        answer = await AsyncClient().get(EXPORT, headers={"authorization": "Bearer the-key"})
        pieces, reads = [], []
        async for piece in answer.streaming_content:
            pieces.append(piece)
            reads.append(len(read))
        return b"".join(pieces), reads

    text, reads = async_to_sync(fetch)()
    assert json.loads(text.splitlines()[-1])["count"] == 5
    assert reads[0] < reads[2] < reads[4]
