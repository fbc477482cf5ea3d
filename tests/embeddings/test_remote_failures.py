"""Providers' embedding APIs: failing, hanging, trying again."""

from collections.abc import Callable

import pytest
import structlog

from embeddings.base import Embedding, EmbeddingConfig, EmbeddingError
from embeddings.remote import read_retry_after
from embeddings.resolver import embed_documents, embed_query, get_source
from tests.embeddings.configs import build_config
from tests.embeddings.failing import KEY, assert_clean, fail
from tests.embeddings.stub_api import Asked, Reply, StubApi, answer_normally, openai_reply, reply


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
