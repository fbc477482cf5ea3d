"""No body whatever makes the server fail."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rest_api import Api

from memory.config import MEMORY_SECTION

pytestmark = pytest.mark.django_db

TEXTS = st.text(max_size=20) | st.sampled_from(
    ["\0", "\ud83d", "2031-06-01", "factual", "hybrid", "", "http://h/", "%"]
)
NUMBERS = st.integers() | st.floats() | st.sampled_from([0, -1, 2**63, 10**400, 1e308])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
DRAFT_FIELDS = ["key", "content", "type", "metadata", "sessionId", "apiKeyId", "expiresAt", "id", "createdAt"]
PREVIEW_FIELDS = ["query", "strategy", "maxTokens", "limit", "apiKeyId", "sessionId"]
SETTING_FIELDS = [item.name for item in MEMORY_SECTION.fields]


def bodies(names: list[str]) -> st.SearchStrategy[bytes]:
    """Bodies with mostly known fields and any values, and bodies that are no JSON at all."""
    objects = st.dictionaries(st.sampled_from(names) | TEXTS, VALUES, max_size=5)
    written = (objects | VALUES).map(lambda value: json.dumps(value).encode())
    raw_utf8 = objects.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    return written | raw_utf8 | st.binary(max_size=60)


def check(answer: Any) -> None:
    assert answer.status_code in (200, 400), answer.content
    told = json.loads(answer.content.decode("utf-8"), parse_constant=pytest.fail)
    if answer.status_code == 400:
        assert told["error"]["message"]


FUNCTION_SCOPED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)


@FUNCTION_SCOPED
@given(body=bodies(DRAFT_FIELDS))
def test_no_new_memory_makes_the_server_fail(api: Api, body: bytes) -> None:
    check(api.post("/api/memory", body))
    check(api.get("/api/memory"))


@FUNCTION_SCOPED
@given(metadata=st.dictionaries(TEXTS, VALUES, max_size=4), expiry=VALUES, key=TEXTS, content=TEXTS)
def test_no_almost_right_memory_makes_the_server_fail(
    api: Api, metadata: Any, expiry: Any, key: str, content: str
) -> None:
    body = {"key": key or "k", "content": content or "c", "metadata": metadata, "expiresAt": expiry}
    answer = api.post("/api/memory", body)
    check(answer)
    if answer.status_code == 200:
        memory = answer.json()["memory"]
        assert memory["metadata"].items() >= metadata.items()
        check(api.put(f"/api/memory/{memory['id']}", {"metadata": metadata}))
        check(api.get("/api/memory", {"q": content}))


@FUNCTION_SCOPED
@given(body=bodies(["key", "content", "type", "metadata"]))
def test_no_change_makes_the_server_fail(api: Api, body: bytes) -> None:
    memory = api.remember()
    check(api.put(f"/api/memory/{memory['id']}", body))


@FUNCTION_SCOPED
@given(body=bodies(PREVIEW_FIELDS), query=TEXTS)
def test_no_preview_makes_the_server_fail(api: Api, body: bytes, query: str) -> None:
    api.remember(content="something to find")
    check(api.post("/api/memory/retrieve-preview", body))
    check(api.post("/api/memory/retrieve-preview", {"query": query or "x"}))


@FUNCTION_SCOPED
@given(body=bodies(SETTING_FIELDS))
def test_no_settings_make_the_server_fail(api: Api, body: bytes) -> None:
    check(api.put("/api/settings/memory", body))
    check(api.get("/api/settings/memory"))


@FUNCTION_SCOPED
@given(query=st.dictionaries(st.sampled_from(["limit", "page", "offset", "type", "q", "apiKeyId", "category"]), TEXTS))
def test_no_query_makes_the_server_fail(api: Api, query: dict[str, str]) -> None:
    clean = {name: text.encode("utf-8", "surrogatepass") for name, text in query.items()}
    check(api.get("/api/memory", clean))
