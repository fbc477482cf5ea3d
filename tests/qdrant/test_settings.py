"""Qdrant's settings: its key, which is never shown, its address, and what is refused."""

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from core.jobs.models import Job
from core.models import Setting
from qdrant_admin.config import build_base_url, load_qdrant_settings
from tests.engine import do_jobs
from tests.qdrant.api import Api
from tests.qdrant.standin import QdrantStandIn, refuse

NAMES = {"enabled", "host", "port", "collection", "embeddingModel", "quantization", "hasApiKey", "apiKeyMasked"}


def test_rw_049_a_wrong_key_is_told_and_a_right_one_never_shown(
    api: Api, engine: None, qdrant: QdrantStandIn, caplog: pytest.LogCaptureFixture, try_again: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    answers = []
    key = qdrant.api_key = "s3cret-KEY-9"
    answers.append(api.set_qdrant(enabled=True, apiKey="wrong", **qdrant.address))
    memory = api.remember("tea")
    do_jobs()
    for status in (401, 403):
        qdrant.fault = refuse(status)
        health = api.get("/api/settings/qdrant/health")
        assert not health["ok"]
        assert str(status) in health["error"]
        search = api.ask("POST", "/api/settings/qdrant/search", {"query": "tea"})
        assert (search["ok"], "results" in search) == (False, False)
        answers += [health, search, api.read_status(), api.preview("tea")]
    qdrant.fault = None
    assert api.get(f"/api/memory/{memory['id']}")["memory"]["content"] == "tea"
    assert "401" in api.preview("tea")["resolution"]["fallbackReason"]

    answers.append(api.set_qdrant(apiKey=key))
    try_again()
    assert api.get("/api/settings/qdrant/health")["ok"]
    found = api.ask("POST", "/api/settings/qdrant/search", {"query": "tea"})
    assert [result["id"] for result in found["results"]] == [memory["id"]]
    told = api.get("/api/settings/qdrant")
    assert told.keys() == NAMES
    assert (told["hasApiKey"], told["apiKeyMasked"]) == (True, "***EY-9")
    assert api.set_qdrant(host="localhost")["hasApiKey"]
    assert load_qdrant_settings().api_key == key
    assert key not in repr(load_qdrant_settings())
    assert key not in str(list(Setting.objects.values_list("value", flat=True)))
    told = api.set_qdrant(apiKey="")
    assert (told["hasApiKey"], told["apiKeyMasked"]) == (False, None)
    api.get("/api/settings/qdrant/health")
    assert qdrant.calls[-1].api_key is None
    everything = f"{answers} {caplog.text} {list(Job.objects.values_list('error', flat=True))}"
    assert key not in everything
    assert "words of the server" not in everything


@pytest.mark.django_db
def test_the_environment_stands_behind_empty_settings(api: Api, settings: Any) -> None:
    settings.QDRANT_HOST, settings.QDRANT_API_KEY, settings.QDRANT_PORT = "env.example", "key-of-the-environment", 7000
    told = api.get("/api/settings/qdrant")
    assert (told["host"], told["port"], told["apiKeyMasked"]) == ("env.example", 7000, "***ment")
    api.set_qdrant(host="row.example", port=7001)
    assert load_qdrant_settings().base_url == "http://row.example:7001"
    api.set_qdrant(host="")
    assert api.get("/api/settings/qdrant")["host"] == "env.example"


@pytest.mark.django_db
def test_a_key_under_another_secret_key_is_told_to_be_unreadable(api: Api, settings: Any) -> None:
    api.set_qdrant(enabled=True, host="127.0.0.1", apiKey="abcdefghijklmnop")
    settings.SECRET_KEY = "another one"
    health = api.get("/api/settings/qdrant/health")
    assert not health["ok"]
    assert "SECRET_KEY" in health["error"]
    assert api.get("/api/settings/qdrant")["hasApiKey"]


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("localhost", "http://localhost:6333"),
        ("localhost:7000", "http://localhost:7000"),
        ("https://x.cloud.qdrant.io", "https://x.cloud.qdrant.io:6333"),
        ("https://x.cloud.qdrant.io:443/", "https://x.cloud.qdrant.io:443"),
        ("http://proxy.example/qdrant/", "http://proxy.example:6333/qdrant"),
        ("::1", "http://[::1]:6333"),
        ("[::1]:7000", "http://[::1]:7000"),
        (" 10.0.0.7 ", "http://10.0.0.7:6333"),
    ],
)
def test_a_host_may_bring_scheme_port_and_path(host: str, url: str) -> None:
    assert build_base_url(host, 6333) == url


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"host": "http://user:pass@h"}, "host"),
        ({"host": "http://169.254.169.254"}, "host"),
        ({"host": "[::ffff:169.254.169.254]"}, "host"),
        ({"host": "ftp://h"}, "host"),
        ({"host": "http://h?x=1"}, "host"),
        ({"port": 0}, "port"),
        ({"port": 65536}, "port"),
        ({"port": "6333"}, "port"),
        ({"collection": ""}, "collection"),
        ({"collection": "a/b"}, "collection"),
        ({"embeddingModel": " "}, "embeddingModel"),
        ({"quantization": "float"}, "quantization"),
        ({"enabled": "true"}, "enabled"),
        ({"apiKey": "with space"}, "apiKey"),
        ({"apiKey": None}, "apiKey"),
        ({"vectorSize": 5}, "vectorSize"),
    ],
)
@pytest.mark.django_db
def test_a_setting_that_can_not_be_is_refused_by_name_and_nothing_is_saved(api: Api, changes: Any, field: str) -> None:
    before = api.get("/api/settings/qdrant")
    answer = api.send("PUT", "/api/settings/qdrant", {"collection": "other", **changes})
    assert answer.status_code == 400
    assert [detail["field"] for detail in answer.json()["details"]] == [field]
    assert api.get("/api/settings/qdrant") == before


@pytest.mark.django_db
def test_rw_083_saving_one_field_leaves_the_others(api: Api) -> None:
    api.set_qdrant(host="h1", port=7000, collection="c1", embeddingModel="memory", quantization="int8", apiKey="k" * 20)
    before = api.get("/api/settings/qdrant")
    assert api.set_qdrant(quantization="binary") == {**before, "quantization": "binary"}
    assert api.send("PUT", "/api/settings/qdrant", {}).status_code == 200
    assert api.get("/api/settings/qdrant") == {**before, "quantization": "binary"}


@pytest.mark.django_db(transaction=True)
def test_rw_083_two_who_save_different_fields_at_once_both_win(api: Api) -> None:
    def save(changes: dict[str, Any]) -> None:
        try:
            api.set_qdrant(**changes)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        for number in range(1, 11):
            list(pool.map(save, [{"port": 7000 + number}, {"collection": f"c{number}"}]))
            told = api.get("/api/settings/qdrant")
            assert (told["port"], told["collection"]) == (7000 + number, f"c{number}")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("PUT", ""),
        ("GET", "/health"),
        ("POST", "/search"),
        ("POST", "/cleanup"),
        ("GET", "/embedding-models"),
    ],
)
@pytest.mark.django_db
def test_rw_075_every_door_asks_for_management(client: Any, api: Api, method: str, path: str) -> None:
    body = b'{"enabled": true, "query": "x"}'
    for headers in ({}, {"authorization": "Bearer wrong"}):
        answer = client.generic(method, f"/api/settings/qdrant{path}", body, "application/json", headers=headers)
        assert (answer.status_code, answer.json()["error"]["type"]) == (401, "invalid_request")
    assert not Setting.objects.filter(key__startswith="qdrant").exists()
