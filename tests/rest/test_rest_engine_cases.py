"""Cases of index and vectors through the doors of REST: what is stored there is what a preview there finds."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_api import Api

from memory import indexing
from memory.models import Memory
from memory.search.keyword import count_fulltext_rows
from memory.vector_stores import lifecycle
from tests.embeddings.stub_api import Asked, Reply, StubApi
from tests.engine import do_jobs, use_embedding_server

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fresh_engine")]

PREVIEW = "/api/memory/retrieve-preview"
ELSEWHERE = [0.0, 0.0, 0.0, 1.0]


def answer_with(vectors: Mapping[str, Any]) -> Callable[[Asked], Reply]:
    """An embedding server that knows these texts; all others lie elsewhere."""

    def answer(asked: Asked) -> Reply:
        found = [vectors.get(text, ELSEWHERE) for text in asked.texts]
        return Reply({"data": [{"index": at, "embedding": vector} for at, vector in enumerate(found)]})

    return answer


def preview(api: Api, query: str, **fields: Any) -> dict[str, Any]:
    answer = api.post(PREVIEW, {"query": query, "apiKeyId": "A", "maxTokens": 16000, **fields})
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def contents(told: dict[str, Any]) -> list[str]:
    return [item["content"] for item in told["memories"]]


def count_vectors() -> int:
    index = lifecycle.find_active()
    store = None if index is None else lifecycle.open_store(index)
    return 0 if store is None else store.count()


# --- RW-040 ---
def test_rw_040_words_find_what_is_written_now_and_nothing_else(api: Api) -> None:
    words = ("alpha", "charlie", "delta", "echo", "kilo")

    def find_words() -> set[str]:
        """The words that find the memory; list and preview must agree. A stand-in has no ftsScore."""
        listed = {word for word in words if api.get("/api/memory", {"q": word, "apiKeyId": "A"}).json()["total"]}
        matched = {
            word for word in words if any(item["ftsScore"] is not None for item in preview(api, word)["memories"])
        }
        assert listed == matched
        assert count_fulltext_rows() == Memory.objects.count()
        return matched

    first = api.remember(key="k", content="alpha bravo", apiKeyId="A")
    path = f"/api/memory/{first['id']}"
    assert find_words() == {"alpha"}
    assert api.put(path, {"content": "charlie"}).status_code == 200
    assert find_words() == {"charlie"}
    assert api.remember(key="k", content="delta", apiKeyId="A")["id"] == first["id"]
    assert find_words() == {"delta"}
    assert api.put(path, {"key": "kilo"}).status_code == 200
    assert find_words() == {"delta", "kilo"}
    assert api.put(path, {"metadata": {"x": 1}}).status_code == 200
    assert find_words() == {"delta", "kilo"}
    assert api.delete(path).status_code == 200
    assert find_words() == set()
    assert api.get(path).status_code == 404
    assert api.remember(key="k", content="echo", apiKeyId="A")["id"] != first["id"]
    assert find_words() == {"echo"}


# --- RW-043 ---
def test_rw_043_a_changed_text_lies_where_its_new_meaning_is(api: Api, embedding_api: StubApi) -> None:
    embedding_api.answer = answer_with(
        {"cats": [1, 0, 0, 0], "stocks": [0, 1, 0, 0], "dogs": [0.9, 0.1, 0, 0]}  # as the case has them
    )
    use_embedding_server(embedding_api)
    api.remember(key="other", content="dogs", apiKeyId="A")
    memory = api.remember(key="k", content="cats", apiKeyId="A")
    do_jobs()
    assert contents(preview(api, "cats", strategy="semantic"))[0] == "cats"
    api.put(f"/api/memory/{memory['id']}", {"content": "stocks"})
    do_jobs()
    api.remember(key="k", content="stocks", apiKeyId="A")
    do_jobs()
    for force in (False, True, True):
        api.post("/api/memory/reindex", {"force": force})
        do_jobs()
        assert contents(preview(api, "stocks", strategy="semantic")) == ["stocks", "dogs"]
        assert contents(preview(api, "cats", strategy="semantic")) == ["dogs", "stocks"]
        assert (count_vectors(), indexing.count_pending()) == (2, 0)


# --- RW-045 ---
def test_rw_045_a_bad_vector_is_stored_nowhere_and_spoils_no_score(api: Api, embedding_api: StubApi) -> None:
    bad: dict[str, Any] = {
        "zeros": [0, 0, 0, 0],
        "empty": [],
        "null": [None, 0.1, 0.1, 0.1],
        "large": [1e39, 0.1, 0.1, 0.1],
        "strings": ["0.1", "0.1", "0.1", "0.1"],
        "three": [0.1, 0.1, 0.1],
    }
    embedding_api.answer = answer_with({"cats purr": [1, 0, 0, 0], "cats sleep": [0.8, 0.2, 0, 0], **bad})
    use_embedding_server(embedding_api)
    for content in ("cats purr", "cats sleep", *bad):
        api.remember(key=content, content=content, apiKeyId="A")
    do_jobs()
    status = api.get("/api/memory/engine-status").json()["vectorStore"]
    assert (status["rowCount"], status["needsReindex"], count_vectors()) == (2, len(bad), 2)
    for strategy in ("semantic", "hybrid", "adaptive"):
        told = preview(api, "cats purr", strategy=strategy)
        assert contents(told)[:2] == ["cats purr", "cats sleep"]
        for item in told["memories"]:
            for name in ("score", "vecScore", "ftsScore"):
                assert item[name] is None or abs(item[name]) < 1000, name
        told = preview(api, "zeros", strategy=strategy)
        assert contents(told)[0] == "zeros"
        assert told["resolution"]["fallbackReason"]


# --- RW-046 ---
@pytest.mark.parametrize("strategy", ["exact", "semantic", "hybrid", "adaptive"])
def test_rw_046_no_way_hands_out_what_may_not_be_used(api: Api, embedding_api: StubApi, strategy: str) -> None:
    embedding_api.answer = lambda asked: answer_with({text: [1, 0, 0, 0] for text in asked.texts})(asked)
    use_embedding_server(embedding_api)
    sessions = {"R4": "s2"}
    rows = {
        name: api.remember(key=name, content=f"tea {name}", apiKeyId="A", sessionId=sessions.get(name, "s1"))["id"]
        for name in ("R1", "R2", "R3", "R4", "R5", "R6")
    }
    api.remember(key="B", content="tea of B", apiKeyId="B")
    do_jobs()
    assert count_vectors() == 7
    now = timezone.now()
    Memory.objects.filter(uuid=rows["R2"]).update(expires_at=now - timedelta(minutes=1))
    Memory.objects.filter(uuid=rows["R3"]).update(updated_at=now - timedelta(days=400))
    assert api.delete(f"/api/memory/{rows['R5']}").status_code == 200
    assert count_vectors() == 6
    Memory.objects.filter(uuid=rows["R6"])._raw_delete("default")

    assert set(contents(preview(api, "tea", strategy=strategy))) == {"tea R1", "tea R4"}
    assert contents(preview(api, "tea", strategy=strategy, sessionId="s1")) == ["tea R1"]
    assert contents(preview(api, "tea", strategy=strategy, sessionId="s1", limit=1)) == ["tea R1"]
    assert contents(preview(api, "tea", strategy=strategy, apiKeyId="B")) == ["tea of B"]


def test_rw_046_a_new_row_does_not_inherit_the_vector_of_a_deleted_one(api: Api, embedding_api: StubApi) -> None:
    embedding_api.answer = answer_with({"old words": [1, 0, 0, 0]})
    use_embedding_server(embedding_api)
    api.remember(key="first", content="something else", apiKeyId="A")
    last = api.remember(key="last", content="old words", apiKeyId="A")
    do_jobs()
    api.delete(f"/api/memory/{last['id']}")
    usual, embedding_api.answer = embedding_api.answer, lambda asked: Reply({}, status=503)
    api.remember(key="R7", content="new words", apiKeyId="A")
    do_jobs()
    embedding_api.answer = usual
    for strategy in ("semantic", "hybrid", "adaptive"):
        told = preview(api, "old words", strategy=strategy)
        assert [item["vecScore"] for item in told["memories"] if item["content"] == "new words"] in ([], [None])


# --- RW-055 ---
@pytest.mark.parametrize("limit", [2_000, 10])
def test_rw_055_a_text_too_long_for_the_model_is_stored_whole(api: Api, embedding_api: StubApi, limit: int) -> None:
    content = ("plain words about kestrels " * 556)[:15_000] + "关于红隼的文字" * 2_143
    content = content[:30_000]

    def answer(asked: Asked) -> Reply:
        if any(len(text) > limit for text in asked.texts):
            return Reply({"error": {"message": "maximum context length"}}, status=400)
        return answer_with({})(asked)

    embedding_api.answer = answer
    use_embedding_server(embedding_api)
    embedding_api.asked.clear()
    memory = api.remember(key="long", content=content, apiKeyId="A")
    do_jobs()
    assert api.get(f"/api/memory/{memory['id']}").json()["memory"]["content"] == content
    assert (count_vectors(), indexing.count_pending()) == ((1, 0) if limit == 2_000 else (0, 1))
    assert len(embedding_api.asked) <= 3
    told = preview(api, "kestrels")
    assert (contents(told), told["memories"][0]["ftsScore"] is not None) == ([content], True)
