"""Providers' embedding APIs: what is understood of their answers, and what is refused."""

import gzip
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from core.providers.configuration import ProviderChanges, save_provider
from embeddings.base import Embedding, EmbeddingConfig, EmbeddingError, check_vector
from embeddings.resolver import embed_documents, embed_query, read_last_failure, resolve
from tests.embeddings.configs import build_config
from tests.embeddings.failing import KEY, assert_clean, fail
from tests.embeddings.stub_api import (
    WIDTH,
    Asked,
    Reply,
    StubApi,
    answer_normally,
    in_base64,
    openai_reply,
    reply,
    vector_of,
)


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
