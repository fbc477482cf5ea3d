"""Asking rerank APIs: each provider's own form, one request, bounded in time and size, failures told in words."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import AppError
from core.providers.configuration import ProviderChanges, save_provider
from core.providers.registry import PROVIDERS
from core.providers.registry_models import RERANK_MODELS
from core.providers.rerank import MAX_DOCUMENTS, RerankError, rerank, resolve_reranker
from core.providers.rerank_wire import UnusableAnswerError, read_relevances
from tests.embeddings.stub_api import Reply, StubApi

KEY = "sk-test-LEAKME"
DOCUMENTS = ["cats purr", "dogs bark", "tea"]
ANSWER = {"results": [{"index": 2, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.4}]}


@pytest.fixture
def api() -> Iterator[StubApi]:
    with StubApi(lambda asked: Reply(ANSWER)) as stub:
        yield stub


def ask(api: StubApi, provider: str = "cohere", model: str = "rerank-v3.5", path: str = "/v1", **options: Any) -> Any:
    save_provider(provider, ProviderChanges(base_url=f"{api.url}{path}", api_key=KEY))
    return rerank(resolve_reranker(f"{provider}/{model}"), "what purrs?", DOCUMENTS, **options)


STANDARD = {"query": "what purrs?", "documents": DOCUMENTS, "top_n": 3}
FORMS = [
    ("cohere", "rerank-v3.5", "/compatibility/v1", "/v2/rerank", STANDARD, ANSWER),
    ("jina-ai", "jina-reranker-v3", "/v1", "/v1/rerank", STANDARD, ANSWER),
    ("openrouter", "cohere/rerank-v3.5", "/api/v1", "/api/v1/rerank", STANDARD, ANSWER),
    ("together", "Salesforce/Llama-Rank-V2", "/v1", "/v1/rerank", STANDARD, ANSWER),
    ("fireworks", "fireworks/qwen3-reranker-8b", "/inference/v1", "/inference/v1/rerank", STANDARD,
     {"data": ANSWER["results"]}),
    ("siliconflow", "BAAI/bge-reranker-v2-m3", "/v1", "/v1/rerank", STANDARD, ANSWER),
    ("my-own-server", "bge", "/v1", "/v1/rerank", STANDARD, {"results": [
        {"index": 2, "score": 0.9, "document": "tea"}, {"index": 0, "score": 0.4}]}),
    ("voyage-ai", "rerank-2.5", "/v1", "/v1/rerank",
     {"query": "what purrs?", "documents": DOCUMENTS, "top_k": 3}, {"object": "list", "data": ANSWER["results"]}),
    ("nvidia", "nvidia/nv-rerankqa-mistral-4b-v3", "/v1", "/v1/ranking",
     {"query": {"text": "what purrs?"}, "passages": [{"text": text} for text in DOCUMENTS], "truncate": "END"},
     {"rankings": [{"index": 2, "logit": 0.9}, {"index": 0, "logit": 0.4}]}),
]  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize(("provider", "model", "base", "path", "body", "answer"), FORMS, ids=[row[0] for row in FORMS])
def test_each_provider_is_asked_in_its_own_form(
    api: StubApi, provider: str, model: str, base: str, path: str, body: Any, answer: Any
) -> None:
    api.answer = lambda asked: Reply(answer)
    assert ask(api, provider, model, base) == {2: 0.9, 0: 0.4}
    (asked,) = api.asked
    assert asked.path == path
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {"model": model, **body}


@pytest.mark.django_db
@pytest.mark.parametrize("scores", [[0.4, 0.1, 0.9], [[0.4, 0.1, 0.9]]])
def test_deepinfra_gets_a_query_a_document_and_answers_with_bare_scores(api: StubApi, scores: Any) -> None:
    api.answer = lambda asked: Reply({"scores": scores})
    assert ask(api, "deepinfra", "Qwen/Qwen3-Reranker-4B", "/v1/openai") == {0: 0.4, 1: 0.1, 2: 0.9}
    (asked,) = api.asked
    assert asked.path == "/v1/inference/Qwen/Qwen3-Reranker-4B"
    assert asked.body == {"queries": ["what purrs?"] * 3, "documents": DOCUMENTS}


@pytest.mark.django_db
def test_every_provider_that_sells_rerankers_has_an_address(settings: Any) -> None:
    settings.PROVIDER_API_KEYS = {provider.env_name: KEY for provider in PROVIDERS}
    urls = {provider: resolve_reranker(f"{provider}/{models[0]}").url for provider, models in RERANK_MODELS.items()}
    assert urls == {
        "openrouter": "https://openrouter.ai/api/v1/rerank",
        "together": "https://api.together.xyz/v1/rerank",
        "fireworks": "https://api.fireworks.ai/inference/v1/rerank",
        "deepinfra": "https://api.deepinfra.com/v1/inference/Qwen/Qwen3-Reranker-8B",
        "nvidia": "https://ai.api.nvidia.com/v1/retrieval/nvidia/nv-rerankqa-mistral-4b-v3/reranking",
        "cohere": "https://api.cohere.ai/v2/rerank",
        "siliconflow": "https://api.siliconflow.com/v1/rerank",
        "voyage-ai": "https://api.voyageai.com/v1/rerank",
        "jina-ai": "https://api.jina.ai/v1/rerank",
    }
    assert set(urls) == {provider.id for provider in PROVIDERS if provider.reranks}


@pytest.mark.django_db
@pytest.mark.parametrize(
    "answer",
    [
        b"<html>login</html>",
        b"",
        b"[" * 10_000,
        {},
        [],
        {"error": "no"},
        {"results": []},
        {"results": None},
        {"results": ["x"]},
        {"results": [{"index": 3, "relevance_score": 1}]},
        {"results": [{"index": -1, "relevance_score": 1}]},
        {"results": [{"index": True, "relevance_score": 1}]},
        {"results": [{"index": "0", "relevance_score": 1}]},
        {"results": [{"index": 0}]},
        {"results": [{"index": 0, "relevance_score": "0.5"}]},
        {"results": [{"index": 0, "relevance_score": None}]},
        {"results": [{"index": 0, "relevance_score": 1}, {"index": 0, "relevance_score": 2}]},
        b'{"results": [{"index": 0, "relevance_score": NaN}]}',
        b'{"results": [{"index": 0, "relevance_score": 1e999}]}',
        b'{"results": [{"index": 0, "relevance_score": 1' + b"0" * 400 + b"}]}",
        {"scores": [1, 2]},
    ],
)
def test_an_answer_that_can_not_be_right_is_an_error(api: StubApi, answer: Any) -> None:
    api.answer = lambda asked: Reply(answer)
    with pytest.raises(RerankError, match="The provider cohere answered"):
        ask(api)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("status", "told"),
    [
        (401, "refuses the key"),
        (403, "refuses the key"),
        (404, "knows no such rerank model"),
        (429, "too many requests"),
        (302, "redirect"),
        (400, "status 400"),
        (500, "status 500"),
    ],
)
def test_a_refusal_is_told_in_words_and_not_repeated(api: StubApi, status: int, told: str) -> None:
    body = {"message": f"bad key {KEY}"}
    api.answer = lambda asked: Reply(body, status=status, headers={"location": "/elsewhere"})
    with pytest.raises(RerankError, match=told) as failure:
        ask(api)
    assert KEY not in failure.value.message
    assert api.url not in failure.value.message
    assert len(api.asked) == 1


@pytest.mark.django_db
def test_a_silent_provider_is_waited_for_once_and_no_longer_than_asked(api: StubApi) -> None:
    api.answer = lambda asked: Reply(ANSWER, pause_seconds=30)
    with pytest.raises(RerankError, match="did not answer in time"):
        ask(api, timeout_seconds=0.1)
    assert len(api.asked) == 1


@pytest.mark.django_db
def test_a_provider_that_sends_a_byte_at_a_time_does_not_get_more_time(api: StubApi) -> None:
    api.answer = lambda asked: Reply(chunks=[b" "] * 1000, pause_seconds=0.05)
    with pytest.raises(RerankError, match="did not answer in time"):
        ask(api, timeout_seconds=0.3)


@pytest.mark.django_db
def test_an_answer_without_end_is_not_read_to_its_end(api: StubApi) -> None:
    api.answer = lambda asked: Reply(b" " * (11 * 1024 * 1024))
    with pytest.raises(RerankError, match="more than can be read"):
        ask(api)


@pytest.mark.django_db
def test_nobody_there_is_an_error_in_words(api: StubApi) -> None:
    save_provider("cohere", ProviderChanges(base_url="http://127.0.0.1:9", api_key=KEY))
    with pytest.raises(RerankError, match="could not be reached"):
        rerank(resolve_reranker("cohere/m"), "q", ["d"])


@pytest.mark.django_db
def test_a_metadata_address_is_never_asked() -> None:
    with pytest.raises(AppError):
        save_provider("mine", ProviderChanges(base_url="http://169.254.169.254/v1", api_key=KEY))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("provider_model", "told"),
    [
        ("rerank-v3.5", "provider/model"),
        ("cohere/", "provider/model"),
        ("/x", "provider/model"),
        ("nobody/x", "No provider is called nobody"),
        ("cohere/rerank-v3.5", "COHERE_API_KEY"),
        ("echo/echo", "no rerank models"),
    ],
)
def test_what_can_not_be_asked_is_known_before_any_request(settings: Any, provider_model: str, told: str) -> None:
    settings.PROVIDER_API_KEYS = {}
    with pytest.raises(AppError, match=told):
        resolve_reranker(provider_model)


@pytest.mark.django_db
def test_a_provider_without_rerankers_is_refused_but_not_a_server_of_ones_own(settings: Any, api: StubApi) -> None:
    settings.PROVIDER_API_KEYS = {"OPENAI_API_KEY": KEY}
    with pytest.raises(AppError, match="no rerank models"):
        resolve_reranker("openai/gpt-4o")
    assert ask(api, "openai", "bge-reranker") == {2: 0.9, 0: 0.4}


@pytest.mark.django_db
def test_long_texts_are_cut_and_odd_ones_sent_all_the_same(api: StubApi) -> None:
    save_provider("cohere", ProviderChanges(base_url=api.url, api_key=KEY))
    rerank(resolve_reranker("cohere/m"), "broken \ud83d", ["x" * 100_000, "y", "z"])
    (asked,) = api.asked
    assert len(asked.body["documents"][0]) < 20_000
    assert asked.body["query"] == "broken ?"


@pytest.mark.django_db
@pytest.mark.parametrize("count", [0, MAX_DOCUMENTS + 1])
def test_at_most_fifty_documents_are_ranked_at_a_time(api: StubApi, count: int) -> None:
    save_provider("cohere", ProviderChanges(base_url=api.url, api_key=KEY))
    with pytest.raises(ValueError, match="50"):
        rerank(resolve_reranker("cohere/m"), "q", ["d"] * count)
    assert api.asked == []


@pytest.mark.django_db
def test_the_key_is_in_no_printout(api: StubApi) -> None:
    save_provider("cohere", ProviderChanges(base_url=api.url, api_key=KEY))
    assert KEY not in repr(resolve_reranker("cohere/m"))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["results", "data", "rankings", "scores", "index", "relevance_score", "logit"]), inner
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_json_is_either_relevances_or_an_error(value: Any) -> None:
    try:
        relevances = read_relevances(json.dumps(value).encode(), 3)
    except UnusableAnswerError:
        return
    assert relevances
    assert set(relevances) <= {0, 1, 2}
