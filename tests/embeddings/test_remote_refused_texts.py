"""Providers' embedding APIs: texts that are too long for a model, or refused for themselves."""

from collections.abc import Callable
from typing import Any

import pytest

from embeddings.base import Embedding, EmbeddingConfig, EmbeddingError
from embeddings.resolver import embed_documents, embed_query
from tests.embeddings.stub_api import Asked, Reply, StubApi, answer_normally, openai_reply, reply

TOO_LONG = {"error": {"message": "This model's maximum context length is exceeded", "type": "invalid_request_error"}}


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
