"""The preview's report: places in each leg, what the budget cut, and why a memory was not chosen."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from rest_api import Api, fields_of

from memory import services
from memory.indexing import index_batch
from memory.models import Memory
from memory.search.terms import make_search_terms
from tests.embeddings.stub_api import StubApi
from tests.engine import do_jobs, use_embedding_server, use_static_model

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fresh_engine")]

PREVIEW = "/api/memory/retrieve-preview"


def preview(api: Api, query: str = "cats purr", **extra: Any) -> dict[str, Any]:
    answer = api.post(PREVIEW, {"query": query, "apiKeyId": "A", **extra})
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def explain(api: Api, memory: dict[str, Any], query: str = "cats purr", **extra: Any) -> dict[str, Any]:
    told = preview(api, query, explainMemoryId=memory["id"], **extra)
    explanation = told["explanation"]
    assert explanation["memoryId"] == memory["id"]
    assert explanation["chosen"] == (memory["id"] in [item["id"] for item in told["memories"]])
    assert explanation["reason"].endswith(".")
    return dict(explanation)


@pytest.fixture
def memories(api: Api) -> dict[str, dict[str, Any]]:
    use_static_model()
    texts = ("cats purr", "dogs bark", "tea", "typescript cats")
    stored = {text: api.remember(key=text, content=text, apiKeyId="A") for text in texts}
    do_jobs()
    return stored


def store_many(owner: str, texts: list[str]) -> None:
    """Rows without the API, which would take too long for thousands; indexed."""
    Memory.objects.bulk_create(
        Memory(
            uuid=str(uuid4()),
            api_key_id=owner,
            key=f"k{number}",
            content=text,
            type="factual",
            search_terms=make_search_terms(text, f"k{number}"),
        )
        for number, text in enumerate(texts)
    )
    index_batch(len(texts))


def test_each_memory_has_its_place_in_the_order_and_in_each_leg(api: Api, memories: Any) -> None:
    hybrid = {item["content"]: item for item in preview(api, strategy="hybrid")["memories"]}
    best = hybrid["cats purr"]
    assert (best["rank"], best["vectorRank"], best["keywordRank"], best["keptByBudget"]) == (1, 1, 1, True)
    assert (hybrid["tea"]["keywordRank"], hybrid["tea"]["ftsScore"]) == (None, None)
    assert hybrid["tea"]["vectorRank"] > 1
    semantic = preview(api, strategy="semantic")["memories"]
    assert [item["vectorRank"] for item in semantic] == [item["rank"] for item in semantic] == [1, 2, 3, 4]
    exact = preview(api, strategy="exact")["memories"]
    assert [(item["rank"], item["vectorRank"]) for item in exact] == [(1, None), (2, None)]


def test_adaptive_tells_its_places_too(api: Api, memories: Any) -> None:
    told = preview(api, strategy="adaptive")
    assert told["resolution"]["strategyUsed"] == "adaptive"
    best = told["memories"][0]
    assert (best["content"], best["tier"], best["rank"]) == ("cats purr", "adaptive", 1)
    assert best["vectorRank"] == best["keywordRank"] == 1


@pytest.mark.parametrize("strategy", ["semantic", "hybrid", "adaptive"])
def test_what_the_budget_cut_stands_apart_and_both_make_the_whole(api: Api, memories: Any, strategy: str) -> None:
    whole = preview(api, strategy=strategy)
    assert whole["cut"] == []
    told = preview(api, strategy=strategy, maxTokens=3)
    assert told["memories"]
    assert told["cut"]
    both = sorted(told["memories"] + told["cut"], key=lambda item: item["rank"])
    assert [item["id"] for item in both] == [item["id"] for item in whole["memories"]]
    assert {item["keptByBudget"] for item in told["cut"]} == {False}
    assert told["cut"][0].keys() == told["memories"][0].keys()
    assert sum(item["tokens"] for item in told["memories"]) == told["totalTokensUsed"] <= 3


def test_what_is_beyond_the_limit_is_no_cut_of_the_budget(api: Api, memories: Any) -> None:
    told = preview(api, strategy="semantic", limit=2)
    assert (len(told["memories"]), told["cut"]) == (2, [])


# --- why ---
@pytest.mark.parametrize("strategy", ["exact", "semantic", "hybrid", "adaptive"])
def test_a_chosen_memory_is_told_with_its_place(api: Api, memories: Any, strategy: str) -> None:
    explanation = explain(api, memories["cats purr"], strategy=strategy)
    assert (explanation["verdict"], explanation["rank"]) == ("chosen", 1)
    assert "number 1 of" in explanation["reason"]


@pytest.mark.parametrize("strategy", ["exact", "semantic", "hybrid", "adaptive"])
def test_what_keeps_a_memory_out_altogether_is_named(api: Api, memories: Any, strategy: str) -> None:
    def ask(memory: dict[str, Any], **extra: Any) -> str:
        return str(explain(api, memory, strategy=strategy, **extra)["verdict"])

    foreign = api.remember(key="x", content="cats purr", apiKeyId="B")
    expired = api.remember(key="e", content="cats purr", apiKeyId="A", expiresAt=0)
    elsewhere = api.remember(key="s", content="cats purr", apiKeyId="A", sessionId="one")
    old = api.remember(key="o", content="cats purr", apiKeyId="A")
    Memory.objects.filter(uuid=old["id"]).update(updated_at=timezone.now() - timedelta(days=31))
    do_jobs()
    assert ask({"id": str(uuid4())}) == "not_stored"
    assert ask({"id": "no uuid"}) == "not_stored"
    assert ask(foreign) == "other_owner"
    assert ask(expired) == "expired"
    assert ask(old) == "beyond_retention"
    assert ask(elsewhere, sessionId="two") == "other_session"
    assert ask(elsewhere, sessionId="one") == "chosen"


@pytest.mark.parametrize("strategy", ["semantic", "hybrid", "adaptive"])
def test_the_limit_and_the_budget_are_told_apart(api: Api, memories: Any, strategy: str) -> None:
    last = preview(api, strategy=strategy)["memories"][-1]
    by_limit = explain(api, last, strategy=strategy, limit=1)
    assert by_limit["verdict"] == "cut_by_limit"
    assert (by_limit["rank"], by_limit["candidates"]) == (4, 4)
    assert "limit is 1" in by_limit["reason"]
    second = preview(api, strategy=strategy)["memories"][1]
    by_budget = explain(api, second, strategy=strategy, maxTokens=1)
    assert by_budget["verdict"] == "cut_by_budget"
    assert (by_budget["rank"], by_budget["tokens"]) == (2, second["tokens"])


def test_what_comes_after_the_end_of_the_walk_is_told_so(api: Api, memories: Any) -> None:
    last = preview(api, strategy="semantic")["memories"][-1]
    assert "ended at number 2" in explain(api, last, strategy="semantic", maxTokens=3)["reason"]


def test_a_memory_that_others_outranked_is_told_with_its_place_in_each_leg(api: Api) -> None:
    use_static_model()
    store_many("A", ["cats purr"] * 130 + ["cats bark"])
    last = {"id": Memory.objects.get(content="cats bark").uuid}
    told = explain(api, last, strategy="semantic")
    assert (told["verdict"], told["vectorRank"], told["rank"]) == ("outranked", 131, None)
    assert "number 131 by meaning, of which the first 100 count" in told["reason"]
    told = explain(api, last, strategy="hybrid")
    assert (told["verdict"], told["vectorRank"], told["keywordRank"]) == ("outranked", 131, 131)
    assert "the first 20 count" in told["reason"]
    told = explain(api, last, strategy="adaptive")
    assert (told["verdict"], told["rank"], told["candidates"]) == ("cut_by_limit", 131, 131)


def test_exact_looks_at_the_newest_hundred_only_and_says_so(api: Api) -> None:
    oldest = api.remember(key="oldest", content="cats", apiKeyId="A")
    store_many("A", ["tea"] * 100)
    told = explain(api, oldest, "cats", strategy="exact")
    assert told["verdict"] == "outranked"
    assert "number 101 of 101 by age" in told["reason"]
    newest = {"id": Memory.objects.order_by("-memory_id")[0].uuid}
    assert explain(api, newest, "cats", strategy="exact")["verdict"] == "not_matched"


def test_a_memory_without_its_vector_yet_is_told_so(api: Api, embedding_api: StubApi) -> None:
    use_embedding_server(embedding_api)
    api.remember(key="1", content="dogs bark", apiKeyId="A")
    do_jobs()
    waiting = api.remember(key="2", content="tea", apiKeyId="A")
    told = explain(api, waiting, "dogs", strategy="hybrid")
    assert told["verdict"] == "not_matched"
    assert "no vector yet" in told["reason"]


def test_a_degraded_search_explains_itself_by_its_keywords(api: Api) -> None:
    other = api.remember(key="1", content="tea", apiKeyId="A")
    api.remember(key="2", content="cats", apiKeyId="A")
    assert explain(api, other, "cats", strategy="semantic")["verdict"] == "not_matched"


def test_a_minimum_of_relevance_is_told(api: Api, memories: Any, settings: Any) -> None:
    settings.MEMORY_MIN_RELEVANCE = 0.9
    told = explain(api, memories["tea"], strategy="adaptive")
    assert told["verdict"] == "below_minimum_relevance"
    assert "0.9" in told["reason"]


def test_ids_are_read_in_either_spelling(api: Api, memories: Any) -> None:
    told = preview(api, explainMemoryId=memories["cats purr"]["id"].upper())
    assert told["explanation"]["verdict"] == "chosen"


def test_without_a_question_there_is_no_explanation(api: Api, memories: Any) -> None:
    assert "explanation" not in preview(api)


# --- cases ---
def test_rw_044_a_small_owner_beside_a_big_one_gets_all_of_its_own(api: Api, settings: Any) -> None:
    use_static_model()
    store_many("B", ["cats purr"] * 3000)
    store_many("A", ["cats dogs", "dogs bark", "tea"])
    Memory.objects.filter(content="dogs bark").update(session_id="one")
    told = preview(api, strategy="semantic", limit=3)
    assert [item["content"] for item in told["memories"]] == ["cats dogs", "tea", "dogs bark"]
    assert told["resolution"]["fallbackReason"] is None
    told = preview(api, strategy="semantic", limit=3, sessionId="one")
    assert [item["content"] for item in told["memories"]] == ["dogs bark"]
    settings.MEMORY_VEC_TOP_K = 100_000
    for strategy in ("semantic", "hybrid", "adaptive"):
        assert len(preview(api, strategy=strategy, limit=100)["memories"]) == 3
        told = preview(api, strategy=strategy, limit=100, apiKeyId="", maxTokens=16000)
        assert len(told["memories"]) == 100
    for limit in (101, 0, -1):
        assert fields_of(api.post(PREVIEW, {"query": "cats", "limit": limit})) == {"limit"}


def test_saving_adaptive_as_the_strategy_is_taken(api: Api) -> None:
    assert api.put("/api/settings/memory", {"strategy": "adaptive"}).json()["strategy"] == "adaptive"
    services.change_settings({"strategy": "hybrid"})
