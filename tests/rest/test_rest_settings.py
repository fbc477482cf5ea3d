"""GET and PUT /api/settings/memory."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.core.handlers.asgi import ASGIRequest
from rest_api import MANAGEMENT_KEY, Api, fields_of

from core.models import Setting
from memory.config import MEMORY_SECTION
from memory.views import MemorySettingsView

pytestmark = pytest.mark.django_db

SETTINGS = "/api/settings/memory"
DEFAULTS = {
    "enabled": False,
    "maxTokens": 2000,
    "retentionDays": 30,
    "strategy": "hybrid",
    "skillsEnabled": False,
    "embeddingSource": "auto",
    "embeddingProviderModel": None,
    "customBaseUrl": None,
    "customModelId": None,
    "transformersEnabled": False,
    "staticEnabled": False,
    "rerankEnabled": False,
    "rerankProviderModel": None,
    "vectorStore": "auto",
    "primaryBackend": "sqlite",
    "fallbackBackends": [],
    "backendConfigs": {},
    "autoSummarize": False,
    "autoSummarizeOlderThanDays": 30,
    "extractionEnabled": True,
    "injectionEnabled": True,
}
OTHERS = {
    "enabled": True,
    "maxTokens": 1234,
    "retentionDays": 90,
    "strategy": "recent",
    "skillsEnabled": True,
    "embeddingSource": "static",
    "embeddingProviderModel": "openai/text-embedding-3-small",
    "customBaseUrl": "http://127.0.0.1:8080/v1",
    "customModelId": "my-model",
    "transformersEnabled": True,
    "staticEnabled": True,
    "rerankEnabled": True,
    "rerankProviderModel": "cohere/rerank-3",
    "vectorStore": "sqlite-vec",
    "primaryBackend": "sqlite",
    "fallbackBackends": ["obsidian", "notion"],
    "backendConfigs": {"obsidian": {"baseUrl": "http://localhost:27123"}},
    "autoSummarize": True,
    "autoSummarizeOlderThanDays": 60,
    "extractionEnabled": False,
    "injectionEnabled": False,
}


def test_settings_that_nobody_changed_are_the_defaults(api: Api) -> None:
    assert api.get(SETTINGS).json() == DEFAULTS


def test_all_fields_can_be_saved_and_are_told_back(api: Api) -> None:
    assert OTHERS.keys() == DEFAULTS.keys() == {item.name for item in MEMORY_SECTION.fields}
    answer = api.put(SETTINGS, OTHERS)
    assert (answer.status_code, answer.json()) == (200, OTHERS)
    assert api.get(SETTINGS).json() == OTHERS


def test_rw_083_saving_one_field_leaves_the_others(api: Api) -> None:
    expected = api.put(SETTINGS, OTHERS).json()
    for change in ({"maxTokens": 500}, {}, {"embeddingProviderModel": None}, {"enabled": False}):
        expected |= change
        assert api.put(SETTINGS, change).json() == expected
        assert api.get(SETTINGS).json() == expected


def test_a_body_that_comes_without_its_length_is_read_too(api: Api) -> None:
    scope = {
        "type": "http",
        "method": "PUT",
        "path": SETTINGS,
        "headers": [
            (b"host", b"testserver"),
            (b"transfer-encoding", b"chunked"),
            (b"authorization", f"Bearer {MANAGEMENT_KEY}".encode()),
        ],
    }
    answer = MemorySettingsView.as_view()(ASGIRequest(scope, io.BytesIO(b'{"maxTokens": 7}')))
    assert (answer.status_code, answer.data["maxTokens"]) == (200, 7)


def test_an_empty_body_changes_nothing(api: Api) -> None:
    assert api.put(SETTINGS).json() == DEFAULTS
    assert not Setting.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_rw_083_different_fields_saved_at_once_are_both_kept(api: Api, at_once: Callable[..., list[Any]]) -> None:
    for number in range(1, 21):
        changes: tuple[dict[str, Any], ...] = ({"maxTokens": number}, {"retentionDays": number})
        answers = at_once(*(lambda change=change: Api(MANAGEMENT_KEY).put(SETTINGS, change) for change in changes))
        assert [answer.status_code for answer in answers] == [200, 200]
        saved = api.get(SETTINGS).json()
        assert (saved["maxTokens"], saved["retentionDays"]) == (number, number)


BAD_VALUES: list[tuple[str, Any]] = [
    *(("enabled", value) for value in ("false", "true", 1, 0, None, [], {})),
    *(("maxTokens", value) for value in (-1, 16001, "2000", 1.5, 2000.0, True, None, 10**400, [])),
    *(("retentionDays", value) for value in (0, 366, "30")),
    *(("autoSummarizeOlderThanDays", value) for value in (0, 366)),
    *(("strategy", value) for value in ("exact", "HYBRID", "", None, 1, ["hybrid"])),
    *(("vectorStore", value) for value in ("redis", None)),
    ("embeddingSource", "openai"),
    ("embeddingProviderModel", 5),
    ("embeddingProviderModel", "a\0b"),
    ("embeddingProviderModel", "x" * 2001),
    ("customModelId", {}),
    ("primaryBackend", "postgres"),
    ("primaryBackend", ""),
    ("primaryBackend", None),
    ("primaryBackend", ["sqlite"]),
    ("fallbackBackends", "sqlite"),
    ("fallbackBackends", [1]),
    ("fallbackBackends", [""]),
    ("fallbackBackends", None),
    ("backendConfigs", []),
    ("backendConfigs", None),
    ("unknown", 1),
    ("ENABLED", True),
    ("memoryEnabled", True),
    *(
        ("customBaseUrl", value)
        for value in (
            "not a url", "ftp://host/x", "http://", "http://user:pass@host/", "http://host/?key=1", "http://host/#x",
            "//host", "javascript:alert(1)", "http://ho st/", "http://host:99999/", 5,
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), BAD_VALUES)
def test_rw_085_a_wrong_value_is_refused_by_name_and_nothing_changes(api: Api, name: str, value: Any) -> None:
    answer = api.put(SETTINGS, {"autoSummarize": True, name: value})
    assert fields_of(answer) == {name}
    assert not Setting.objects.exists()
    assert api.get(SETTINGS).json() == DEFAULTS


@pytest.mark.parametrize("number", [b"1e999", b"-1e999", b"NaN", b"Infinity"])
def test_rw_085_a_number_that_is_none_is_refused_by_name(api: Api, number: bytes) -> None:
    assert fields_of(api.put(SETTINGS, b'{"maxTokens": ' + number + b"}")) == {"maxTokens"}
    assert not Setting.objects.exists()


def test_rw_085_text_and_unknown_fields_inside_configs_are_named(api: Api) -> None:
    answer = api.put(SETTINGS, {"backendConfigs": {"x": {"y": "\0"}}, "strategy": "exact", "foo": 1})
    assert fields_of(answer) == {"backendConfigs.x.y", "strategy", "foo"}


def test_rw_085_the_ends_of_the_ranges_are_accepted(api: Api) -> None:
    for name, value in (("maxTokens", 0), ("maxTokens", 16000), ("retentionDays", 1), ("retentionDays", 365)):
        answer = api.put(SETTINGS, {name: value})
        assert (answer.status_code, answer.json()[name]) == (200, value)


@pytest.mark.parametrize("name", ["embeddingProviderModel", "customBaseUrl", "customModelId", "rerankProviderModel"])
def test_an_empty_text_is_null(api: Api, name: str) -> None:
    for empty in ("", "   ", None):
        api.put(SETTINGS, {name: OTHERS[name]})
        assert api.put(SETTINGS, {name: empty}).json()[name] is None
        stored = {item.name: item.key for item in MEMORY_SECTION.fields}[name]
        assert Setting.objects.get(key=stored).value is None


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("  http://127.0.0.1:8080/v1/  ", "http://127.0.0.1:8080/v1"),
        ("https://api.example.com//", "https://api.example.com"),
        ("http://[::1]:11434", "http://[::1]:11434"),
    ],
)
def test_a_base_url_is_trimmed(api: Api, given: str, kept: str) -> None:
    assert api.put(SETTINGS, {"customBaseUrl": given}).json()["customBaseUrl"] == kept


def test_rows_that_make_no_sense_are_told_as_sensible_values(api: Api) -> None:
    for key, value in (
        ("memoryEnabled", "yes"),
        ("memoryMaxTokens", 99999),
        ("memoryRetentionDays", 0.4),
        ("memoryStrategy", "exact"),
        ("memoryEmbeddingCustomBaseUrl", ""),
        ("memoryFallbackBackends", ["a", 1]),
        ("memoryRerankModel", "jina/reranker"),
    ):
        Setting.objects.create(key=key, value=value)
    told = api.get(SETTINGS).json()
    assert told == DEFAULTS | {
        "maxTokens": 16000,
        "retentionDays": 1,
        "fallbackBackends": ["a"],
        "rerankProviderModel": "jina/reranker",
    }
