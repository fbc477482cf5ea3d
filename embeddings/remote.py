"""Vectors from a provider's embedding API, or from an OpenAI-compatible server that an operator runs."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

import structlog

from core.errors import OutboundRefusedError, UpstreamError, UpstreamTimeoutError
from core.outbound import Answer, Deadline, post
from core.words import read_words
from embeddings.base import (
    EmbeddingError,
    EmbeddingResolution,
    InvalidVectorError,
    Purpose,
    Reason,
    Vector,
    check_vector,
)
from embeddings.measurements import remember_dimensions
from embeddings.refusals import (
    judge_status,
    tell_other_width,
    tell_refused_text,
    tell_too_long_text,
    tell_unusable_answer,
    tell_unusable_vector,
)
from embeddings.texts import cut_to_tokens, estimate_tokens
from embeddings.wire import (
    UnusableAnswerError,
    WireOptions,
    build_body,
    build_url,
    read_token_limit,
    read_vectors,
    says_too_long,
)

log = structlog.get_logger(__name__)

MAX_TRIES: Final = 4
FIRST_PAUSE_SECONDS: Final = 0.5
# What the smallest of the common windows (512 tokens) takes, and the first step down from a text above any.
SAFE_TOKENS: Final = 450.0
LONG_TOKENS: Final = 6_000.0
# An estimate may be wrong by this much where the provider names its limit.
MARGIN: Final = 0.85


@dataclass(frozen=True)
class RemoteEndpoint:
    """Where and how one model is asked. `peer` is how messages call the other side; `api_key` "" sends none;
    `refusal` is the whole message when the outbound policy refuses the address. `provider_model` is the setting
    that leads here, "" when it is not a provider's."""

    resolution: EmbeddingResolution
    provider_model: str
    model: str
    base_url: str
    api_key: str = field(repr=False)
    peer: str
    refusal: str
    wire: WireOptions
    max_batch: int
    max_batch_tokens: int


class RemoteSource:
    """An embedding API as a source. Queries are tried once, documents again after a failure that may pass."""

    def __init__(self, endpoint: RemoteEndpoint) -> None:
        self._endpoint = endpoint
        self.resolution = endpoint.resolution
        self.max_batch = endpoint.max_batch
        self.max_batch_tokens = endpoint.max_batch_tokens
        self.tells_purposes_apart = bool(endpoint.wire.purpose_field)

    def embed(self, texts: Sequence[str], *, purpose: Purpose, timeout_seconds: float) -> list[Vector | EmbeddingError]:
        """See `EmbeddingSource`. A text that is too long for the model is embedded by its beginning, found in at
        most three requests; a text that the API refuses for itself spoils no other."""
        if not texts:
            return []
        run = _Run(self._endpoint, purpose, Deadline(timeout_seconds))
        results = run.embed(list(texts))
        if run.dimensions is not None and self.resolution.dimensions is None:
            self.resolution = self.resolution.with_dimensions(run.dimensions)
        return results


class _TooLongError(Exception):
    """A text of the request is longer than the model takes; `limit` is how many tokens it says it takes."""

    def __init__(self, limit: int | None) -> None:
        super().__init__()
        self.limit = limit


class _InputRefusedError(Exception):
    """The API found the request wrong, for whatever other reason."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status


class _Run:
    """One call of `embed`: its time limit, and what has been learned on the way."""

    def __init__(self, endpoint: RemoteEndpoint, purpose: Purpose, deadline: Deadline) -> None:
        self._endpoint = endpoint
        self._peer = endpoint.peer
        self._purpose = purpose
        self._deadline = deadline
        self._has_succeeded = False
        self._refused_alone = 0
        self.dimensions = endpoint.resolution.dimensions

    def embed(self, texts: list[str]) -> list[Vector | EmbeddingError]:
        try:
            return self._request(texts)
        except _TooLongError as refusal:
            if len(texts) == 1:
                return [self._embed_shortened(texts[0], plan_lengths(texts[0], refusal.limit))]
            return self._embed_apart(texts, refusal.limit)
        except _InputRefusedError as refusal:
            if len(texts) > 1:
                return self._embed_halves(texts)
            self._refused_alone += 1
            if self._refused_alone > 1 and not self._has_succeeded:
                raise self._tell_status(refusal.status) from None
            return [self._pass_over(tell_refused_text(self._peer, refusal.status))]

    def _embed_halves(self, texts: list[str]) -> list[Vector | EmbeddingError]:
        middle = len(texts) // 2
        return [*self.embed(texts[:middle]), *self.embed(texts[middle:])]

    def _embed_apart(self, texts: list[str], limit: int | None) -> list[Vector | EmbeddingError]:
        """Embed the texts that may be the ones that are too long one by one, the others together."""
        threshold = min(limit * MARGIN, LONG_TOKENS) if limit else SAFE_TOKENS
        long = {position for position, text in enumerate(texts) if estimate_tokens(text) > threshold}
        short = [position for position in range(len(texts)) if position not in long]
        if not long:
            return self._embed_halves(texts)
        results: dict[int, Vector | EmbeddingError] = {}
        if short:
            results.update(zip(short, self.embed([texts[position] for position in short]), strict=True))
        for position in sorted(long):
            results[position] = self._embed_long(texts[position], limit)
        return [results[position] for position in range(len(texts))]

    def _embed_long(self, text: str, limit: int | None) -> Vector | EmbeddingError:
        """Embed a text that was part of one refused request already, in at most two more."""
        lengths = plan_lengths(text, limit)
        if limit and estimate_tokens(text) > limit * MARGIN:
            return self._embed_shortened(text, lengths)
        try:
            return self._request([text])[0]
        except _TooLongError:
            return self._embed_shortened(text, lengths[-1:])
        except _InputRefusedError as refusal:
            return self._pass_over(tell_refused_text(self._peer, refusal.status))

    def _embed_shortened(self, text: str, lengths: Sequence[float]) -> Vector | EmbeddingError:
        for max_tokens in lengths:
            cut = cut_to_tokens(text, max_tokens)
            if cut == text:
                continue
            try:
                return self._request([cut])[0]
            except _TooLongError:
                continue
            except _InputRefusedError as refusal:
                return self._pass_over(tell_refused_text(self._peer, refusal.status))
        return self._pass_over(tell_too_long_text(self._peer))

    def _request(self, texts: list[str]) -> list[Vector | EmbeddingError]:
        answer = self._ask(build_body(self._endpoint.model, texts, self._purpose, self._endpoint.wire))
        if answer.status in (400, 413, 422):
            if says_too_long(answer.body):
                raise _TooLongError(read_token_limit(answer.body))
            raise _InputRefusedError(answer.status)
        if not 200 <= answer.status < 300:
            raise self._tell_status(answer.status)
        try:
            values = read_vectors(answer.body, len(texts), self._endpoint.wire.form)
        except UnusableAnswerError as error:
            raise self._fail("request_failed", tell_unusable_answer(self._peer, read_words(error))) from None
        return self._check(values)

    def _check(self, values: list[object]) -> list[Vector | EmbeddingError]:
        results: list[Vector | EmbeddingError] = []
        for value in values:
            try:
                results.append(check_vector(value, self.dimensions))
            except InvalidVectorError as error:
                results.append(self._pass_over(tell_unusable_vector(self._peer, read_words(error))))
        vectors = [result for result in results if not isinstance(result, EmbeddingError)]
        if not vectors:
            return results
        self._has_succeeded = True
        if self.dimensions is None:
            self.dimensions = self._measure(vectors)
            return [self._refuse_other_widths(result) for result in results]
        return results

    def _measure(self, vectors: list[Vector]) -> int:
        """The width that most of the first vectors have, unless another thread was first."""
        most_common = Counter(vector.size for vector in vectors).most_common(1)[0][0]
        return remember_dimensions(self._endpoint.resolution.signature, most_common)

    def _refuse_other_widths(self, result: Vector | EmbeddingError) -> Vector | EmbeddingError:
        if isinstance(result, EmbeddingError) or result.size == self.dimensions:
            return result
        return self._pass_over(tell_other_width(self._peer, result.size, self.dimensions))

    def _ask(self, body: bytes) -> Answer:
        """Return an answer of any status but those that retrying may help, for which the tries have run out."""
        endpoint = self._endpoint
        headers = {"content-type": "application/json", "accept": "application/json"}
        if endpoint.api_key:
            headers["authorization"] = f"Bearer {endpoint.api_key}"
        url = build_url(endpoint.base_url, endpoint.wire.form)
        for attempt in range(MAX_TRIES):
            pause = FIRST_PAUSE_SECONDS * 2**attempt * random.uniform(0.8, 1.2)  # noqa: S311 - spreads load, no secret
            try:
                answer = post(url, headers, body, deadline=self._deadline, peer=endpoint.peer)
            except OutboundRefusedError:
                raise self._fail("request_failed", endpoint.refusal) from None
            except UpstreamError as error:
                reason: Reason = "timeout" if isinstance(error, UpstreamTimeoutError) else "request_failed"
                failure = self._fail(reason, error.message)
            else:
                if answer.status != HTTPStatus.TOO_MANY_REQUESTS and answer.status < 500:
                    return answer
                failure = self._tell_status(answer.status)
                pause = max(pause, read_retry_after(answer.retry_after))
            if self._purpose == "query" or attempt == MAX_TRIES - 1 or pause >= self._deadline.seconds_left():
                raise failure
            log.info("embeddings.request.retried", model=endpoint.resolution.model, reason=failure.reason)
            wait(pause)
        raise AssertionError("the last try either returns or raises")

    def _tell_status(self, status: int) -> EmbeddingError:
        reason, told = judge_status(status, self._peer, has_key=bool(self._endpoint.api_key))
        return self._fail(reason, told)

    def _fail(self, reason: Reason, message: str) -> EmbeddingError:
        return EmbeddingError("remote", self._endpoint.resolution.model, reason, message)

    def _pass_over(self, told: str) -> EmbeddingError:
        """What one text gets in place of its vector when the others may well have theirs."""
        return EmbeddingError(
            "remote",
            self._endpoint.resolution.model,
            "request_failed",
            told,
            is_outage=False,
        )


def read_retry_after(value: str) -> float:
    """Return the seconds that a Retry-After header asks for, given as a number or a date; 0 for anything else."""
    value = value.strip()
    if value.replace(".", "", 1).isdecimal() and value.isascii():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except (ValueError, IndexError):
        return 0.0
    return max((at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds(), 0.0)


def wait(seconds: float) -> None:
    time.sleep(seconds)


def plan_lengths(text: str, limit: int | None) -> list[float]:
    """Return the two lengths, in estimated tokens, to which a text that was too long is cut in turn.

    `limit` is what the provider said it takes. Without it, half of the text is tried, then what any model takes.
    """
    allowed = limit * MARGIN if limit else LONG_TOKENS
    last = min(SAFE_TOKENS, allowed)
    first = min(allowed, estimate_tokens(text) / 2) if not limit or allowed >= estimate_tokens(text) else allowed
    return [max(first, last), last]
