"""Providers' embedding APIs: what is asked, what is understood, and every way to fail."""

import gzip
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import structlog

from core.providers.configuration import ProviderChanges, save_provider
from embeddings.base import Embedding, EmbeddingConfig, EmbeddingError, check_vector
from embeddings.remote import read_retry_after
from embeddings.resolver import embed_documents, embed_query, get_source, read_last_failure, resolve
from tests.embeddings.configs import build_config
from tests.embeddings.stub_api import (
    WIDTH,
    Asked,
    Reply,
    StubApi,
    answer_normally,
    in_base64,
    openai_reply,
    vector_of,
)

KEY = "sk-secret-9876543210"
TOO_LONG = {"error": {"message": "This model's maximum context length is exceeded", "type": "invalid_request_error"}}


@pytest.fixture
def custom(api: StubApi) -> EmbeddingConfig:
    return build_config(custom=api.url, custom_model="m")


@pytest.fixture
def keyed(api: StubApi, db: None) -> EmbeddingConfig:
    save_provider("home", ProviderChanges(base_url=f"{api.url}/v1", api_key=KEY))
    return build_config(provider_model="home/m")


def fail(config: EmbeddingConfig, text: str = "one") -> EmbeddingError:
    with pytest.raises(EmbeddingError) as caught:
        embed_query(config, text, timeout_seconds=2.0)
    return caught.value


def reply(**fields: Any) -> Callable[[Asked], Reply]:
    return lambda asked: Reply(**fields)


def assert_clean(error: EmbeddingError, api: StubApi) -> None:
    for secret in (KEY, api.url, str(api.port), "127.0.0.1", "Traceback", "upstream-body"):
        assert secret not in error.message


# --- what is asked ---


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


# --- what is understood ---


def test_rw_056_no_null_is_sent_and_every_odd_answer_is_understood_or_refused(
    api: StubApi, custom: EmbeddingConfig, pauses: list[float]
) -> None:
    def in_base64_form(asked: Asked) -> Reply:
        return Reply({"data": [{"index": 0, "embedding": in_base64(vector_of("one"))}]})

    def one_missing(asked: Asked) -> Reply:
        return Reply(openai_reply(asked.texts[:-1]))

    good = embed_query(custom, "one").vector
    api.answer = in_base64_form
    np.testing.assert_allclose(embed_query(custom, " one. ").vector, good, atol=1e-6)

    def turned_round(asked: Asked) -> Reply:
        answer = openai_reply(asked.texts)
        answer["data"].reverse()
        return Reply(answer)

    api.answer = turned_round
    for text, result in zip(("two", "three"), embed_documents(custom, ["two", "three"]), strict=True):
        assert isinstance(result, Embedding)
        np.testing.assert_allclose(result.vector, check_vector(vector_of(text), WIDTH), atol=1e-6)

    huge = b'{"data":[{"index":0,"embedding":[' + b"0.1," * 2_600_000 + b"0.1]}]}"
    odd: list[Callable[[Asked], Reply]] = [
        one_missing,
        reply(body={"error": {"message": "upstream-body"}}),
        reply(body=b"<html>upstream-body</html>", headers={"content-type": "text/html"}),
        reply(body=b"not found", status=404),
        reply(status=302, headers={"location": f"{api.url}/embeddings"}),
        reply(body=huge),
        reply(body=huge, sends_length=False),
        reply(body=[]),
        reply(body={"data": "x"}),
        reply(body={"data": [None]}),
        reply(body={"data": [{"index": 7, "embedding": vector_of("one")}]}),
        reply(body=b"[" * 100_000),
        reply(body=b""),
    ]
    for number, answer in enumerate(odd):
        api.asked.clear()
        api.answer = answer
        error = fail(custom, f"odd {number}")
        assert error.reason == "request_failed", number
        assert len(api.asked) == 1
        assert_clean(error, api)
        remembered = read_last_failure(resolve(custom))
        assert remembered is error
    assert not any("null" in json.dumps(asked.body) for asked in api.asked)

    api.answer = answer_normally
    embed_query(custom, "well again")
    assert read_last_failure(resolve(custom)) is None


def test_rw_056_of_a_large_answer_no_more_than_the_limit_is_read(api: StubApi, custom: EmbeddingConfig) -> None:
    megabyte = b" " * 2**20
    sent: list[int] = []

    def chunks() -> Any:
        for _ in range(50):
            sent.append(len(megabyte))
            yield megabyte

    api.answer = lambda asked: Reply(chunks=chunks(), sends_length=False)  # type: ignore[arg-type]
    error = fail(custom)
    assert error.reason == "request_failed"
    assert "more than can be read" in error.message
    # The rest of what was sent lies in the buffers of the operating system.
    assert sum(sent) < 25 * 2**20


def test_a_compressed_answer_is_unpacked_within_the_same_limit(api: StubApi, custom: EmbeddingConfig) -> None:
    def packed(asked: Asked) -> Reply:
        body = gzip.compress(json.dumps(openai_reply(asked.texts)).encode())
        return Reply(body, headers={"content-encoding": "gzip"})

    api.answer = packed
    assert embed_query(custom, "one").dimensions == WIDTH
    api.answer = reply(body=gzip.compress(b" " * 2**25), headers={"content-encoding": "gzip"})
    assert "more than can be read" in fail(custom, "two").message


def test_rw_045_bad_vectors_are_never_handed_out_and_spoil_no_good_ones(api: StubApi, custom: EmbeddingConfig) -> None:
    four = [0.5, 0.25, 0.0, 1.0]
    bad: dict[str, Any] = {
        "zeros": [0, 0, 0, 0],
        "empty": [],
        "null": [None, 0.1, 0.1, 0.1],
        "nan": [math.nan, 0.1, 0.1, 0.1],
        "large": [1e39, 0.1, 0.1, 0.1],
        "strings": ["0.1", "0.1", "0.1", "0.1"],
        "three": [0.1, 0.1, 0.1],
        "nothing": None,
        "truths": [True, False, True, True],
    }

    def answer(asked: Asked) -> Reply:
        vectors = [bad.get(text, four) for text in asked.texts]
        return Reply({"data": [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]})

    api.answer = answer
    results = embed_documents(custom, ["good", *bad, "fine"])
    assert isinstance(results[0], Embedding)
    assert isinstance(results[-1], Embedding)
    assert results[0].dimensions == 4
    for result in results[1:-1]:
        assert isinstance(result, EmbeddingError)
        assert result.reason == "request_failed"
        assert not result.is_outage
        assert_clean(result, api)
    error = fail(custom, "zeros")
    assert (error.reason, error.is_outage) == ("request_failed", False)
    # Nothing bad was cached either.
    assert fail(custom, "zeros").reason == "request_failed"


def test_the_width_is_measured_from_the_first_vectors_and_kept(api: StubApi, custom: EmbeddingConfig) -> None:
    before = resolve(custom)
    assert before.dimensions is None
    assert before.signature.endswith(":null")
    first = embed_query(custom, "one")
    after = resolve(custom)
    assert after.dimensions == WIDTH
    assert after.signature == first.signature
    api.answer = lambda asked: Reply(openai_reply(asked.texts, width=WIDTH - 1))
    error = fail(custom, "two")
    assert str(WIDTH) in error.message


def test_a_width_other_than_the_registry_says_is_refused(api: StubApi, db: None) -> None:
    save_provider("openai", ProviderChanges(base_url=api.url, api_key=KEY))
    error = fail(build_config(provider_model="openai/text-embedding-3-small"))
    assert "1536" in error.message


# --- texts that are too long ---


def answer_within(characters: int, message: dict[str, Any] | None = None) -> Callable[[Asked], Reply]:
    def answer(asked: Asked) -> Reply:
        if any(len(text) > characters for text in asked.texts):
            return Reply(message or TOO_LONG, status=400)
        return Reply(openai_reply(asked.texts))

    return answer


@pytest.mark.parametrize("status", [400, 413, 422])
def test_rw_055_a_text_longer_than_the_window_is_embedded_by_its_beginning(
    api: StubApi, custom: EmbeddingConfig, status: int
) -> None:
    def answer(asked: Asked) -> Reply:
        return (
            Reply(TOO_LONG, status=status)
            if any(len(text) > 2_000 for text in asked.texts)
            else Reply(openai_reply(asked.texts))
        )

    api.answer = answer
    text = "half of it is plain text " * 600 + "其余的是中文" * 2_500
    assert len(text) == 30_000
    results = embed_documents(custom, [text])
    assert isinstance(results[0], Embedding)
    assert len(api.asked) <= 3
    assert text.startswith(api.asked[-1].texts[0])


def test_rw_055_a_text_that_never_fits_is_given_up_after_three_requests(api: StubApi, custom: EmbeddingConfig) -> None:
    api.answer = answer_within(10)
    for text in ("x" * 30_000, "y" * 600):
        api.asked.clear()
        with pytest.raises(EmbeddingError) as caught:
            embed_query(custom, text)
        assert caught.value.reason == "request_failed"
        assert not caught.value.is_outage
        assert len(api.asked) <= 3


def test_rw_055_one_long_text_spoils_no_other_of_its_batch(api: StubApi, custom: EmbeddingConfig) -> None:
    api.answer = answer_within(2_000)
    texts = [f"short {number}" for number in range(6)] + ["long " * 2_000] + ["last"]
    results = embed_documents(custom, texts)
    assert all(isinstance(result, Embedding) for result in results)
    assert sum(any(len(text) > 500 for text in asked.texts) for asked in api.asked) <= 3
    assert len(api.asked) <= 4


def test_the_limit_that_a_provider_names_is_used(api: StubApi, custom: EmbeddingConfig) -> None:
    told = {"error": {"message": "This model's maximum context length is 2048 tokens, you requested 9000 tokens"}}
    api.answer = answer_within(7_000, told)
    embed_documents(custom, ["word " * 6_000])
    assert len(api.asked) == 2
    assert len(api.asked[1].texts[0]) > 5_000


def test_a_text_that_the_api_refuses_for_itself_spoils_no_other(api: StubApi, custom: EmbeddingConfig) -> None:
    api.answer = lambda asked: (
        Reply({"error": "input not allowed"}, status=400) if "bad" in asked.texts else answer_normally(asked)
    )
    results = embed_documents(custom, ["a", "b", "bad", "c", "d", "e"])
    assert [isinstance(result, Embedding) for result in results] == [True, True, False, True, True, True]


def test_a_wrong_request_is_not_repeated_for_every_text(api: StubApi, custom: EmbeddingConfig) -> None:
    api.answer = reply(body={"error": "no such model"}, status=400)
    with pytest.raises(EmbeddingError) as caught:
        embed_documents(custom, [f"text {number}" for number in range(16)])
    assert caught.value.is_outage
    assert len(api.asked) <= 6


# --- failing and trying again ---


@pytest.mark.parametrize(
    ("status", "reason"),
    [(401, "no_key"), (403, "no_key"), (402, "request_failed"), (404, "request_failed"), (429, "rate_limited"),
     (500, "request_failed"), (503, "request_failed"), (301, "request_failed"), (307, "request_failed")],
)  # fmt: skip
def test_each_status_has_its_reason_and_a_query_is_tried_once(
    api: StubApi, keyed: EmbeddingConfig, status: int, reason: str
) -> None:
    api.answer = reply(body=b"upstream-body", status=status, headers={"location": api.url})
    error = fail(keyed)
    assert (error.source, error.model, error.reason) == ("remote", "home/m", reason)
    assert_clean(error, api)
    assert len(api.asked) == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_documents_are_tried_again_after_a_failure_that_may_pass(
    api: StubApi, custom: EmbeddingConfig, pauses: list[float], status: int
) -> None:
    def answer(asked: Asked) -> Reply:
        return Reply(status=status) if len(api.asked) < 3 else answer_normally(asked)

    api.answer = answer
    assert isinstance(embed_documents(custom, ["one"])[0], Embedding)
    assert len(pauses) == 2
    assert pauses[0] < pauses[1]


def test_tries_end_and_other_failures_are_not_tried_again(
    api: StubApi, custom: EmbeddingConfig, pauses: list[float]
) -> None:
    api.answer = reply(status=503)
    with pytest.raises(EmbeddingError):
        embed_documents(custom, ["one"])
    assert len(api.asked) == 4
    api.asked.clear()
    api.answer = reply(status=401)
    with pytest.raises(EmbeddingError):
        embed_documents(custom, ["one"])
    assert len(api.asked) == 1


def test_retry_after_is_obeyed_when_it_fits_and_ends_the_tries_when_not(
    api: StubApi, custom: EmbeddingConfig, pauses: list[float]
) -> None:
    waits = ["7", "600"]
    api.answer = lambda asked: Reply(status=429, headers={"retry-after": waits[len(api.asked) - 1]})
    with pytest.raises(EmbeddingError) as caught:
        embed_documents(custom, ["one"])
    assert caught.value.reason == "rate_limited"
    assert pauses == [7.0]


@pytest.mark.parametrize(("value", "seconds"), [("3", 3.0), ("0.5", 0.5), ("", 0.0), ("soon", 0.0), ("-4", 0.0)])
def test_retry_after_in_seconds(value: str, seconds: float) -> None:
    assert read_retry_after(value) == seconds


def test_retry_after_as_a_date() -> None:
    assert read_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert read_retry_after("Wed, 21 Oct 2099 07:28:00 GMT") > 1000


def test_a_refused_connection_is_tried_again_for_documents(pauses: list[float]) -> None:
    with StubApi() as closed:
        url = closed.url
    config = build_config(custom=url, custom_model="m")
    with pytest.raises(EmbeddingError) as caught:
        embed_documents(config, ["one"])
    assert caught.value.reason == "request_failed"
    assert len(pauses) == 3


@pytest.mark.parametrize(
    "answer",
    [
        reply(pause_seconds=30.0),
        reply(chunks=[b" "] * 300, pause_seconds=0.1),
        reply(chunks=[b" ", b" "], pause_seconds=30.0),
    ],
    ids=["silent", "a byte now and then", "a head and silence"],
)
def test_rw_033_a_hanging_endpoint_holds_a_query_no_longer_than_its_limit(
    api: StubApi, custom: EmbeddingConfig, answer: Callable[[Asked], Reply]
) -> None:
    api.answer = answer
    with pytest.raises(EmbeddingError) as caught:
        embed_query(custom, "one", timeout_seconds=0.3)
    assert caught.value.reason == "timeout"
    assert not api.is_closing.is_set()
    assert len(api.asked) == 1


def test_rw_033_a_resolver_that_hangs_counts_into_the_limit(monkeypatch: pytest.MonkeyPatch, api: StubApi) -> None:
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: api.is_closing.wait(30) and [])
    with pytest.raises(EmbeddingError) as caught:
        embed_query(build_config(custom="http://slow.test", custom_model="m"), "one", timeout_seconds=0.2)
    api.is_closing.set()
    assert caught.value.reason == "timeout"


def test_a_slow_server_gets_through_smaller_requests(api: StubApi, custom: EmbeddingConfig) -> None:
    api.answer = lambda asked: Reply(openai_reply(asked.texts), pause_seconds=30.0 if len(asked.texts) > 4 else 0.0)
    results = embed_documents(custom, [f"text {number}" for number in range(12)], timeout_seconds=0.5)
    assert all(isinstance(result, Embedding) for result in results)
    assert [len(asked.texts) for asked in api.asked] == [12, 3, 3, 3, 3]


def test_a_hanging_server_is_given_up_after_a_smaller_request(api: StubApi, custom: EmbeddingConfig) -> None:
    api.answer = reply(pause_seconds=30.0)
    with pytest.raises(EmbeddingError) as caught:
        embed_documents(custom, [f"text {number}" for number in range(12)], timeout_seconds=0.1)
    assert caught.value.reason == "timeout"
    assert [len(asked.texts) for asked in api.asked] == [12, 3]


def test_what_was_embedded_before_an_outage_is_kept(api: StubApi, custom: EmbeddingConfig, pauses: list[float]) -> None:
    api.answer = lambda asked: answer_normally(asked) if "text 0" in asked.texts else Reply(status=401)
    results = embed_documents(custom, [f"text {number}" for number in range(40)])
    assert all(isinstance(result, Embedding) for result in results[:16])
    for result in results[16:]:
        assert isinstance(result, EmbeddingError)
        assert result.is_outage
    assert len(api.asked) == 2


def test_only_successes_are_cached_and_a_hit_costs_nothing(api: StubApi, custom: EmbeddingConfig) -> None:
    api.answer = reply(status=500)
    fail(custom)
    api.answer = answer_normally
    first = embed_query(custom, "one")
    second = embed_query(custom, "one")
    assert (first.cached, second.cached, second.latency_ms) == (False, True, 0.0)
    assert first.latency_ms > 0
    assert len(api.asked) == 2


def test_a_source_tells_its_limits_and_no_secret(api: StubApi, keyed: EmbeddingConfig) -> None:
    source = get_source(keyed)
    assert source.max_batch > 1
    with structlog.testing.capture_logs() as logs:
        api.answer = reply(status=500)
        fail(keyed, "a private text")
    for shown in (repr(source), repr(source.__dict__), repr(logs)):
        assert KEY not in shown
        assert "private" not in shown
