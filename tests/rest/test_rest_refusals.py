"""Bodies that are refused, each with the field that is wrong, and nothing stored."""

import json
import time
from typing import Any

import pytest
from rest_api import Api, fields_of

from memory.models import Memory

pytestmark = pytest.mark.django_db


# --- RW-036: NUL and broken surrogate pairs ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (rb'{"key":"k1","content":"a\u0000b"}', "content"),
        (rb'{"key":"k\u00002","content":"x"}', "key"),
        (rb'{"key":"k","content":"cut \ud83d"}', "content"),
        (rb'{"key":"k","content":"x","sessionId":"\u0000"}', "sessionId"),
        (rb'{"key":"k","content":"x","apiKeyId":"\ud83d"}', "apiKeyId"),
        (rb'{"key":"k","content":"x","metadata":{"n":"\udc00"}}', "metadata.n"),
        (rb'{"key":"k","content":"x","metadata":{"n":[{"m":"\u0000"}]}}', "metadata.n.0.m"),
        (rb'{"key":"k","content":"x","metadata":{"\u0000":1}}', "metadata.\ufffd"),
        (rb'{"key":"k","content":"x","\ud83d":1}', "\ufffd"),
    ],
)
def test_rw_036_text_that_cannot_be_stored_is_refused_by_name(api: Api, body: bytes, field: str) -> None:
    answer = api.post("/api/memory", body)
    assert fields_of(answer) == {field}
    json.loads(answer.content.decode("utf-8"))
    assert Memory.objects.count() == 0


def test_rw_036_a_whole_surrogate_pair_is_a_character(api: Api) -> None:
    answer = api.post("/api/memory", rb'{"key":"k","content":"ok \ud83d\ude00"}')
    assert answer.json()["memory"]["content"] == "ok 😀"
    assert "ok 😀" in api.get(f"/api/memory/{answer.json()['id']}").content.decode()
    assert api.get("/api/memory", {"q": "ok"}).json()["total"] == 1


def test_rw_036_invalid_utf8_is_refused(api: Api) -> None:
    answer = api.post("/api/memory", b'{"key":"k","content":"\xff"}')
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("Invalid JSON body")


# --- RW-038: expiry times ---------------------------------------------------------------

HALF_PAST_MIDNIGHT = "2031-06-01T00:30:00.000Z"
EXPIRIES = [
    ("2031-06-01T00:30:00+09:00", "2031-05-31T15:30:00.000Z"),
    ("2031-05-31T15:30:00Z", "2031-05-31T15:30:00.000Z"),
    ("2031-06-01T00:30:00", HALF_PAST_MIDNIGHT),
    ("2031-06-01 00:30", HALF_PAST_MIDNIGHT),
    ("2031-06-01", "2031-06-01T00:00:00.000Z"),
    (1906500600000, "2030-05-31T23:30:00.000Z"),
    (0, "1970-01-01T00:00:00.000Z"),
    (None, None),
]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_rw_038_expiry_means_the_same_instant_in_every_server_zone(
    api: Api, monkeypatch: Any, request: Any, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    request.addfinalizer(time.tzset)
    for number, (given, told) in enumerate(EXPIRIES):
        memory = api.remember(key=f"k{number}", expiresAt=given)
        assert memory["expiresAt"] == told
        assert api.get(f"/api/memory/{memory['id']}").json()["memory"]["expiresAt"] == told
    assert api.get("/api/memory").json()["total"] == len(EXPIRIES)


@pytest.mark.parametrize(
    "given", ["", "tomorrow", "2031-02-30T00:00:00Z", "99999-01-01T00:00:00Z", True, False, [], {}, 10**17]
)
def test_rw_038_what_is_no_time_is_refused_by_name(api: Api, given: object) -> None:
    assert fields_of(api.post("/api/memory", {"key": "k", "content": "c", "expiresAt": given})) == {"expiresAt"}
    assert Memory.objects.count() == 0


# --- RW-060: what is wrong is said ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"key": "k", "content": "c", "type": "fact"}, {"type"}),
        ({"key": "k", "content": "c", "type": None}, {"type"}),
        ({"key": "k", "content": "c", "type": ["factual"]}, {"type"}),
        ({"key": "k", "content": ""}, {"content"}),
        ({"key": "", "content": "c"}, {"key"}),
        ({"key": "k", "content": 5}, {"content"}),
        ({"key": True, "content": "c"}, {"key"}),
        ({"content": "c"}, {"key"}),
        ({}, {"key", "content"}),
        ({"key": "k", "content": "c", "foo": 1}, {"foo"}),
        ({"key": "", "foo": 1, "bar": 1}, {"key", "content", "foo", "bar"}),
        ({"key": "k", "content": "c", "metadata": []}, {"metadata"}),
        ({"key": "k", "content": "c", "metadata": None}, {"metadata"}),
        ({"key": "k", "content": "c", "sessionId": 7}, {"sessionId"}),
        ({"key": "k", "content": "c", "apiKeyId": ["A"]}, {"apiKeyId"}),
        ({"key": "k", "content": "c", "apiKeyId": "health-check"}, {"apiKeyId"}),
        ({"key": "k" * 513, "content": "c"}, {"key"}),
        ({"key": "k", "content": "c" * 100_001}, {"content"}),
        ({"key": "k", "content": "c", "sessionId": "s" * 257}, {"sessionId"}),
        ({"key": "k", "content": "c", "apiKeyId": "s" * 257}, {"apiKeyId"}),
        ({"key": "k", "content": "c", "metadata": {"a": "x" * 65536}}, {"metadata"}),
    ],
)
def test_rw_060_a_bad_new_memory_is_refused_by_name(api: Api, body: Any, fields: set[str]) -> None:
    answer = api.post("/api/memory", body)
    assert fields_of(answer) == fields
    assert answer.json()["message"] == "Invalid request"
    assert answer.json()["error"]["param"] in fields
    assert Memory.objects.count() == 0


@pytest.mark.parametrize("raw", [b"not json", b"[]", b'"text"', b"{", b'{"a":' * 60 + b"1" + b"}" * 60])
@pytest.mark.parametrize("verb", ["POST", "PUT"])
def test_a_body_that_is_no_json_object_is_refused(api: Api, raw: bytes, verb: str) -> None:
    route = "/api/memory" if verb == "POST" else f"/api/memory/{api.remember()['id']}"
    answer = api.send(verb, route, raw)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("Invalid JSON body")
    assert answer.json()["error"]["code"] == "invalid_json"


def test_a_number_that_is_no_number_is_refused_by_name(api: Api) -> None:
    answer = api.post("/api/memory", b'{"key":"k","content":"c","metadata":{"n":1e999}}')
    assert fields_of(answer) == {"metadata.n"}


@pytest.mark.parametrize("content_type", ["text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_rw_060_the_content_type_does_not_matter(api: Api, content_type: str) -> None:
    answer = api.post("/api/memory", {"key": "k", "content": "c"}, content_type=content_type)
    assert answer.status_code == 200


def test_a_body_beyond_the_limit_is_a_413(api: Api, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    answer = api.post("/api/memory", {"key": "k", "content": "c" * 1000})
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "request_too_large"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"content": ""}, "content"),
        ({"content": None}, "content"),
        ({"content": 5}, "content"),
        ({"key": ""}, "key"),
        ({"key": None}, "key"),
        ({"foo": 1}, "foo"),
        ({"id": "x"}, "id"),
        ({"apiKeyId": "B"}, "apiKeyId"),
        ({"sessionId": "B"}, "sessionId"),
        ({"expiresAt": None}, "expiresAt"),
        ({"type": "Factual"}, "type"),
        ({"metadata": "x"}, "metadata"),
        ({"content": "good", "metadata": {"a": "\0"}}, "metadata.a"),
    ],
)
def test_rw_060_a_bad_change_is_refused_by_name_and_changes_nothing(api: Api, body: Any, field: str) -> None:
    before = api.remember(metadata={"a": 1})
    assert fields_of(api.put(f"/api/memory/{before['id']}", body)) == {field}
    assert api.get(f"/api/memory/{before['id']}").json()["memory"] == before
