"""POST /api/memory/retrieve-preview: what a chat would get, told with its reasons."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_api import MANAGEMENT_KEY, Api, fields_of

from memory.models import Memory

pytestmark = pytest.mark.django_db

PREVIEW = "/api/memory/retrieve-preview"


def contents(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [memory["content"] for memory in answer.json()["memories"]]


def test_a_preview_tells_what_was_chosen_and_how(api: Api) -> None:
    memory = api.remember(key="db", content="Postgres is the database", apiKeyId="A")
    answer = api.post(PREVIEW, {"query": "which database", "apiKeyId": "A", "maxTokens": 9000})
    told = answer.json()
    assert told.keys() == {"memories", "resolution", "totalTokensUsed", "budgetMaxTokens", "cut"}
    (chosen,) = told["memories"]
    assert chosen.keys() == {
        "id", "type", "key", "content", "score", "tokens", "tier", "vecScore", "ftsScore",
        "rank", "vectorRank", "keywordRank", "keptByBudget",
    }  # fmt: skip
    assert (chosen["id"], chosen["key"], chosen["type"]) == (memory["id"], "db", "factual")
    assert (chosen["tokens"], told["totalTokensUsed"], told["budgetMaxTokens"]) == (6, 6, 9000)
    assert chosen["tier"] in {"fts5", "vector", "hybrid-rrf"}
    assert told["resolution"].keys() == {
        "embeddingSource", "embeddingModel", "vectorStore", "strategyUsed", "rerankApplied", "rerankReason",
        "fallbackReason",
    }  # fmt: skip
    assert told["resolution"]["strategyUsed"] == "hybrid"


@pytest.mark.parametrize("strategy", ["exact", "semantic", "hybrid", "adaptive"])
def test_every_strategy_answers_and_is_echoed(api: Api, strategy: str) -> None:
    api.remember(content="green tea")
    answer = api.post(PREVIEW, {"query": "tea", "strategy": strategy})
    assert contents(answer) == ["green tea"]
    assert answer.json()["resolution"]["strategyUsed"] == strategy


def test_budget_and_limit_bound_the_answer(api: Api) -> None:
    for number in range(5):
        api.remember(key=f"k{number}", content=f"tea number {number} " + "x" * 25)  # 10 tokens each
    assert len(contents(api.post(PREVIEW, {"query": "tea", "maxTokens": 25}))) == 2
    assert len(contents(api.post(PREVIEW, {"query": "tea", "maxTokens": 1}))) == 1
    assert len(contents(api.post(PREVIEW, {"query": "tea", "limit": 3}))) == 3


def test_a_preview_may_be_narrowed_to_a_session(api: Api) -> None:
    api.remember(key="1", content="tea in one", sessionId="one")
    api.remember(key="2", content="tea in two", sessionId="two")
    assert contents(api.post(PREVIEW, {"query": "tea", "sessionId": "two"})) == ["tea in two"]


def test_a_preview_touches_nothing(api: Api) -> None:
    api.remember(content="tea")
    before = list(Memory.objects.values())
    api.post(PREVIEW, {"query": "tea"})
    assert list(Memory.objects.values()) == before


def test_expired_memories_are_not_retrieved(api: Api) -> None:
    api.remember(content="tea", expiresAt=0)
    assert contents(api.post(PREVIEW, {"query": "tea"})) == []


@pytest.mark.parametrize("body", [{"query": ""}, {}, {"query": None}, {"query": 42}, {"query": ["tea"]}])
def test_rw_010_a_missing_query_is_refused(api: Api, body: Any) -> None:
    assert fields_of(api.post(PREVIEW, body)) == {"query"}


@pytest.mark.parametrize(
    "query",
    [
        "   ",
        '""',
        "!!!",
        "🍕",
        "\0",
        "\u200b",
        "\ud83d",
        "C++",
        "user:x",
        "dark-mode",
        "NEAR(",
        "*",
        "' OR 1",
        "AND",
    ],
)
@pytest.mark.parametrize("strategy", ["exact", "semantic", "hybrid", "adaptive"])
def test_rw_010_a_query_without_words_is_answered(api: Api, query: str, strategy: str) -> None:
    api.remember(content="something else")
    contents(api.post(PREVIEW, {"query": query, "strategy": strategy}))


@pytest.mark.parametrize(
    ("extra", "field"),
    [
        ({"strategy": "recent"}, "strategy"),
        ({"strategy": "HYBRID"}, "strategy"),
        ({"strategy": None}, "strategy"),
        ({"maxTokens": 0}, "maxTokens"),
        ({"maxTokens": 16001}, "maxTokens"),
        ({"maxTokens": "2000"}, "maxTokens"),
        ({"maxTokens": 1.5}, "maxTokens"),
        ({"maxTokens": True}, "maxTokens"),
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"limit": 10**400}, "limit"),
        ({"apiKeyId": 5}, "apiKeyId"),
        ({"apiKeyId": None}, "apiKeyId"),
        ({"apiKeyId": "\0"}, "apiKeyId"),
        ({"explainMemoryId": 5}, "explainMemoryId"),
        ({"explainMemoryId": ""}, "explainMemoryId"),
        ({"foo": 1}, "foo"),
        ({"offset": 1}, "offset"),
    ],
)
def test_a_bad_preview_is_refused_by_name(api: Api, extra: Any, field: str) -> None:
    assert fields_of(api.post(PREVIEW, {"query": "tea", **extra})) == {field}


def test_the_ends_of_the_ranges_are_accepted(api: Api) -> None:
    for extra in ({"maxTokens": 1}, {"maxTokens": 16000}, {"limit": 1}, {"limit": 100}):
        assert api.post(PREVIEW, {"query": "tea", **extra}).status_code == 200


def store_two_owners(api: Api) -> None:
    for owner, code in (("A", "1111"), ("B", "2222")):
        api.remember(key="code", content=f"my locker code is {code}", apiKeyId=owner, sessionId="s")


@pytest.mark.parametrize("strategy", ["exact", "semantic", "hybrid", "adaptive"])
def test_rw_076_a_preview_never_shows_another_owner(api: Api, strategy: str) -> None:
    store_two_owners(api)

    def ask(**extra: Any) -> list[str]:
        return contents(api.post(PREVIEW, {"query": "locker code", "strategy": strategy, **extra}))

    assert ask(apiKeyId="A") == ["my locker code is 1111"]
    assert ask(apiKeyId="B", sessionId="s") == ["my locker code is 2222"]
    for owner in ("A ", "a", "%", "_", "*", 'A" OR "B'):
        assert ask(apiKeyId=owner) == [], owner
    assert len(ask()) == len(ask(apiKeyId="")) == 2
    assert fields_of(api.post(PREVIEW, {"query": "locker", "apiKeyId": ["A", "B"]})) == {"apiKeyId"}


@pytest.mark.django_db(transaction=True)
def test_rw_076_mixed_previews_at_once_keep_to_their_owner(api: Api, at_once: Callable[..., list[Any]]) -> None:
    store_two_owners(api)

    def ask(owner: str) -> list[list[str]]:
        caller = Api(MANAGEMENT_KEY)
        return [contents(caller.post(PREVIEW, {"query": "locker code", "apiKeyId": owner})) for _ in range(13)]

    found = at_once(*(lambda owner=owner: ask(owner) for owner in "ABABABAB"))
    assert found == [[["my locker code is 1111"]] * 13, [["my locker code is 2222"]] * 13] * 4
