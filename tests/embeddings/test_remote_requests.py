"""Providers' embedding APIs: what is asked of them."""

from typing import Any

import pytest

from core.providers.configuration import ProviderChanges, save_provider
from embeddings.base import Embedding, EmbeddingConfig
from embeddings.resolver import embed_documents, embed_query, resolve
from tests.embeddings.configs import build_config
from tests.embeddings.failing import KEY
from tests.embeddings.stub_api import WIDTH, Reply, StubApi, openai_reply


def test_the_openai_form_is_asked_with_model_and_input_alone(api: StubApi, custom: EmbeddingConfig) -> None:
    embed_query(custom, "one")
    asked = api.asked[0]
    assert asked.path == "/embeddings"
    assert asked.body == {"model": "m", "input": ["one"]}
    assert "authorization" not in asked.headers


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/embeddings", "/v1/embeddings/"])
def test_a_custom_url_gets_embeddings_at_its_end_once(api: StubApi, ending: str) -> None:
    embed_query(build_config(custom=f"{api.url}{ending}", custom_model="m"), "one")
    path = api.asked[0].path
    assert path.endswith("/embeddings")
    assert path.count("embeddings") == 1
    assert "//" not in path


@pytest.mark.parametrize("base", ["", "/v1", "/v2", "/compatibility/v1", "/v2/embed"])
def test_the_cohere_form_tells_queries_from_documents(api: StubApi, db: None, base: str) -> None:
    save_provider("cohere", ProviderChanges(base_url=f"{api.url}{base}", api_key=KEY))
    config = build_config(provider_model="cohere/embed-v4.0")
    query = embed_query(config, "one")
    document = embed_documents(config, ["one"])[0]
    assert [asked.path for asked in api.asked] == ["/v2/embed", "/v2/embed"]
    assert api.asked[0].body == {
        "model": "embed-v4.0", "texts": ["one"], "embedding_types": ["float"], "input_type": "search_query"
    }  # fmt: skip
    assert api.asked[1].body["input_type"] == "search_document"
    assert api.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert isinstance(document, Embedding)
    assert not document.cached
    assert query.signature == document.signature == f"remote:cohere/embed-v4.0:{WIDTH}"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("nvidia/nvidia/nv-embedqa-e5-v5", {"input_type": "query"}),
        ("voyage/voyage-4", {"input_type": "query"}),
        ("jina-ai/jina-embeddings-v4", {"task": "retrieval.query"}),
        ("jina-ai/jina-clip-v2", {}),
        ("gemini/gemini-embedding-001", {"dimensions": 768}),
        ("openai/text-embedding-3-small", {}),
    ],
)
def test_what_a_model_wants_beyond_the_usual_is_sent(
    api: StubApi, db: None, model: str, expected: dict[str, Any]
) -> None:
    provider = {"voyage": "voyage-ai"}.get(model.partition("/")[0], model.partition("/")[0])
    save_provider(provider, ProviderChanges(base_url=api.url, api_key=KEY))
    config = build_config(provider_model=model)
    width = resolve(config).dimensions or WIDTH
    api.answer = lambda asked: Reply(openai_reply(asked.texts, width))
    assert embed_query(config, "one").dimensions == width
    assert api.asked[0].body == {"model": model.partition("/")[2], "input": ["one"], **expected}


def test_texts_are_sent_in_batches_bounded_by_number_and_by_length(api: StubApi, custom: EmbeddingConfig) -> None:
    results = embed_documents(custom, [f"text {number}" for number in range(40)] + ["x" * 30_000, "y" * 30_000])
    assert all(isinstance(result, Embedding) for result in results)
    assert [len(asked.texts) for asked in api.asked] == [16, 16, 8, 1, 1]


def test_the_query_text_is_bounded(api: StubApi, custom: EmbeddingConfig) -> None:
    embed_query(custom, "a" * 100_000)
    assert len(api.asked[0].texts[0]) <= 8_000


def test_lone_surrogates_and_nul_do_not_break_a_request(api: StubApi, custom: EmbeddingConfig) -> None:
    results = embed_documents(custom, ["a\ud800b", "a\x00b", " \n ", "ok"])
    assert [isinstance(result, Embedding) for result in results] == [True, True, False, True]
    assert [len(asked.texts) for asked in api.asked] == [3]
