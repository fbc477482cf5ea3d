"""A reranker has the last word on the order, or the first order stays and the reason is told."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.providers.configuration import ProviderChanges, save_provider
from embeddings import cross_encoder
from memory import services
from memory.backends.manager import get_primary
from memory.config import load_settings
from memory.records import MemoryDraft, SearchOutcome, SearchQuery
from memory.retrieval import retrieve, retrieve_for_chat
from memory.search import rerank
from memory.search.rerank import fuse_relevances
from tests.embeddings.stub_api import Asked, Reply, StubApi
from tests.engine import do_jobs, use_static_model

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fresh_engine")]

TEXTS = ["cats purr", "dogs bark", "tea", "typescript"]


def prefer(*words: str) -> Any:
    """An answer that ranks documents by these words, the first the best, and leaves out those without any."""

    def answer(asked: Asked) -> Reply:
        ranked = [
            {"index": index, "relevance_score": 1 / (1 + place)}
            for place, word in enumerate(words)
            for index, document in enumerate(asked.body["documents"])
            if word in document
        ]
        return Reply({"results": ranked})

    return answer


@pytest.fixture
def api() -> Iterator[StubApi]:
    with StubApi(prefer("tea", "dogs")) as stub:
        yield stub


@pytest.fixture(autouse=True)
def engine(fresh_engine: None, db: None, api: StubApi) -> None:
    for text in TEXTS:
        services.create(MemoryDraft("A", text, text))
    use_static_model()
    save_provider("cohere", ProviderChanges(base_url=api.url, api_key="sk-test"))
    switch_on("cohere/rerank-v3.5")


def switch_on(provider_model: str | None, *, enabled: bool = True) -> None:
    services.change_settings({"rerankEnabled": enabled, "rerankProviderModel": provider_model})


def search(strategy: Any = "semantic", text: str = "cats purr", limit: int = 20) -> SearchOutcome:
    return get_primary().search(SearchQuery("A", text, strategy, 30, limit=limit))


def order(outcome: SearchOutcome) -> list[str]:
    return [hit.record.content for hit in outcome.hits]


@pytest.mark.parametrize("strategy", ["semantic", "hybrid"])
def test_the_judged_come_first_by_relevance_and_the_others_follow_in_their_order(strategy: str) -> None:
    switch_on(None)
    before = order(search(strategy))
    switch_on("cohere/rerank-v3.5")
    outcome = search(strategy)
    rest = [text for text in before if text not in ("tea", "dogs bark")]
    assert before[0] == "cats purr"
    assert order(outcome) == ["tea", "dogs bark", *rest]
    assert [hit.score for hit in outcome.hits[:2]] == [1, 0.5]
    assert (outcome.rerank_applied, outcome.rerank_reason, outcome.fallback_reason) == (True, None, None)


def test_the_query_and_the_contents_are_what_the_provider_reads(api: StubApi) -> None:
    search()
    (asked,) = api.asked
    assert asked.body["query"] == "cats purr"
    assert sorted(asked.body["documents"]) == sorted(TEXTS)


def test_adaptive_counts_both_orders_and_looks_further_than_the_limit(api: StubApi) -> None:
    api.answer = prefer("tea", "cats", "dogs", "typescript")
    retrieval = retrieve(SearchQuery("A", "cats purr", "adaptive", 30, limit=1), max_tokens=100)
    assert len(api.asked[0].body["documents"]) == len(TEXTS)
    # The first stage is sure of cats, the reranker prefers tea a little: together that is cats.
    assert [item.hit.record.content for item in retrieval.chosen] == ["cats purr"]
    assert retrieval.outcome.rerank_applied
    assert all(0 <= hit.score <= 1 for hit in retrieval.outcome.hits)


def test_the_reranked_order_is_what_limit_and_budget_are_spent_on() -> None:
    retrieval = retrieve(SearchQuery("A", "cats purr", "hybrid", 30, limit=2), max_tokens=100)
    assert [item.hit.record.content for item in retrieval.chosen] == ["tea", "dogs bark"]


def test_a_chat_gets_the_reranked_order() -> None:
    services.change_settings({"enabled": True, "strategy": "hybrid"})
    retrieval = retrieve_for_chat("A", "cats purr", load_settings())
    assert retrieval.chosen[0].line == "tea"


@pytest.mark.parametrize(
    "answer",
    [
        Reply({"results": []}),
        Reply({"results": [{"index": 99, "relevance_score": 1}]}),
        Reply(b"<html>"),
        Reply({}, status=500),
        Reply({}, status=401),
    ],
)
def test_when_it_fails_the_first_order_stays_and_nothing_claims_otherwise(api: StubApi, answer: Reply) -> None:
    api.answer = lambda asked: answer
    outcome = search()
    assert order(outcome)[0] == "cats purr"
    assert not outcome.rerank_applied
    assert outcome.rerank_reason is not None
    assert "The provider cohere" in outcome.rerank_reason
    assert outcome.fallback_reason is None
    assert len(api.asked) == 1


def test_a_reranker_that_hangs_costs_one_search_and_not_every_one(
    api: StubApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.search.rerank.TIME_LIMIT_SECONDS", 0.2)
    api.answer = lambda asked: Reply({}, pause_seconds=30)
    reasons = [search().rerank_reason or "" for _ in range(3)]
    assert len(api.asked) == 1
    assert "did not answer in time" in reasons[0]
    assert "a moment ago" in reasons[2]
    monkeypatch.setattr("memory.search.rerank.PAUSE_SECONDS", 0.0)
    rerank._PAUSED_UNTIL.clear()
    api.answer = prefer("tea")
    assert search().rerank_applied


def test_a_model_that_can_not_be_asked_costs_no_request(api: StubApi) -> None:
    switch_on("nobody/x")
    outcome = search()
    assert order(outcome)[0] == "cats purr"
    assert "nobody" in (outcome.rerank_reason or "")
    assert api.asked == []


@pytest.mark.parametrize("turned_off", [{"enabled": False}, {"provider_model": None}])
def test_it_is_asked_only_where_it_is_wanted(api: StubApi, turned_off: dict[str, Any]) -> None:
    switch_on(**{"provider_model": "cohere/rerank-v3.5", **turned_off})
    outcome = search()
    assert (outcome.rerank_applied, outcome.rerank_reason, api.asked) == (False, None, [])


def test_neither_exact_nor_a_blank_query_nor_keywords_alone_are_reranked(api: StubApi) -> None:
    assert not search("exact").rerank_applied
    assert not search("hybrid", text=" ").rerank_applied
    services.change_settings({"staticEnabled": False})
    for strategy in ("semantic", "hybrid", "adaptive"):
        outcome = search(strategy)
        assert outcome.fallback_reason
        assert not outcome.rerank_applied
    assert api.asked == []


def test_at_most_fifty_are_judged_and_the_others_keep_their_places(api: StubApi) -> None:
    for number in range(60):
        services.create(MemoryDraft("A", f"k{number}", f"cats {number}"))
    do_jobs()
    api.answer = prefer("dogs")
    switch_on(None)
    before = order(search())
    switch_on("cohere/rerank-v3.5")
    api.answer = lambda asked: Reply({"results": [{"index": 49, "relevance_score": 1}]})
    after = order(search())
    assert len(api.asked[0].body["documents"]) == 50
    assert after == [before[49], *before[:49], *before[50:]]


# --- local cross-encoders ---
@pytest.fixture
def local_model(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where the libraries and the model's files would be; texts about tea are what it is looking for."""
    judged: list[str] = []

    def score(pairs: list[tuple[str, str]]) -> list[float]:
        judged.extend(text for _, text in pairs)
        return [8.0 if "tea" in text else 1.0 if "dogs" in text else -4.0 for _, text in pairs]

    monkeypatch.setattr(cross_encoder, "find_obstacle", lambda name: None)
    monkeypatch.setattr("memory.search.rerank.find_obstacle", lambda name: None)
    monkeypatch.setattr(cross_encoder, "_load", lambda name: cross_encoder._LoadedModel(score))
    switch_on("local/some/model")
    return judged


def test_a_local_model_is_never_alone_with_its_judgement(local_model: list[str], api: StubApi) -> None:
    outcome = search("hybrid", "cats dogs tea")
    assert outcome.rerank_applied
    assert order(outcome)[0] == "tea"
    assert sorted(local_model) == sorted(TEXTS)
    assert api.asked == []
    # For itself it would put tea first here as well; the first stage knows better.
    assert order(search("hybrid", "cats purr"))[0] == "cats purr"


def test_a_local_model_that_is_too_slow_is_not_waited_for(
    local_model: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.search.rerank.TIME_LIMIT_SECONDS", 0.0)
    outcome = search()
    assert order(outcome)[0] == "cats purr"
    assert not outcome.rerank_applied
    assert "did not answer in time" in (outcome.rerank_reason or "")


@pytest.mark.parametrize("raw", [[[1.0, 2.0]], [float("nan")], []])
def test_a_model_that_is_no_reranker_changes_nothing(
    local_model: list[str], monkeypatch: pytest.MonkeyPatch, raw: list[Any]
) -> None:
    odd = cross_encoder._LoadedModel(lambda pairs: [*raw * len(pairs)])
    monkeypatch.setattr(cross_encoder, "_load", lambda name: odd)
    outcome = search()
    assert (order(outcome)[0], outcome.rerank_applied) == ("cats purr", False)


def test_a_local_model_that_is_not_there_says_what_to_do(settings: Any) -> None:
    switch_on("local/cross-encoder/ms-marco-MiniLM-L6-v2")
    reason = search().rerank_reason or ""
    assert "pip install" in reason or "not on this machine" in reason
    do_jobs()
    reason = search().rerank_reason or ""
    assert "pip install" in reason or "HF_HUB_OFFLINE" in reason


finite = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=30))
def test_fused_relevances_are_from_0_to_1_and_what_leads_twice_leads(pairs: list[tuple[float, float]]) -> None:
    scores = [first for first, _ in pairs]
    fused = fuse_relevances(scores, {index: second for index, (_, second) in enumerate(pairs)})
    assert all(0 <= value <= 1 for value in fused.values())
    best = max(range(len(pairs)), key=lambda index: pairs[index])
    if all(pairs[best][1] >= second for _, second in pairs):
        assert fused[best] == pytest.approx(max(fused.values()))
