"""Texts to vectors by way of the cache, in requests of a size that the source takes."""

import time
from collections import deque
from collections.abc import Sequence
from typing import Final

import structlog

from core.words import gettext as _
from embeddings.base import Embedding, EmbeddingError, EmbeddingSource, Purpose, Vector
from embeddings.cache import build_cache_key, get_cache
from embeddings.failures import forget_failure, remember_failure
from embeddings.texts import split_batches

log = structlog.get_logger(__name__)

# After a request that ran out of time the next ones are this much smaller: a slow server gets through those.
SHRINKS_BY: Final = 4

Result = Embedding | EmbeddingError


def embed_texts(
    source: EmbeddingSource, texts: Sequence[str], purpose: Purpose, timeout_seconds: float
) -> list[Result]:
    """Return a result for each text in order; `timeout_seconds` is for each request.

    A failed request ends the work: its texts and those after it get its error. Raises it when no text got a
    vector.
    """
    work = _Work(source, texts, purpose, timeout_seconds)
    work.look_up()
    work.ask()
    return work.collect()


class _Work:
    """One call of `embed_texts`: what is done, what is left."""

    def __init__(self, source: EmbeddingSource, texts: Sequence[str], purpose: Purpose, timeout_seconds: float) -> None:
        self._source = source
        self._texts = texts
        self._purpose = purpose
        self._timeout_seconds = timeout_seconds
        self._results: dict[int, Result] = {}
        self._failure: EmbeddingError | None = None

    def look_up(self) -> None:
        """Settle what needs no request: empty texts, and texts whose vector is in the cache."""
        cache = get_cache()
        for position, text in enumerate(self._texts):
            if not text:
                self._results[position] = self._find_nothing()
                continue
            vector = cache.get(self._build_key(text))
            if vector is not None:
                self._results[position] = self._build(vector, latency_ms=0.0, cached=True)

    def ask(self) -> None:
        """Embed the rest. The first request that runs out of time has the ones after it made smaller."""
        pending = [position for position in range(len(self._texts)) if position not in self._results]
        batches = self._split(pending, self._source.max_batch)
        may_shrink = self._purpose == "document"
        while batches:
            batch = batches.popleft()
            try:
                self._request(batch)
            except EmbeddingError as error:
                if error.reason != "timeout" or not may_shrink or len(batch) == 1:
                    self._failure = error
                    remember_failure(self._source.resolution, error)
                    return
                may_shrink = False
                left = [*batch, *(position for batch in batches for position in batch)]
                batches = self._split(left, max(len(batch) // SHRINKS_BY, 1))

    def collect(self) -> list[Result]:
        if self._failure is None:
            return [self._results[position] for position in range(len(self._texts))]
        if not any(isinstance(result, Embedding) for result in self._results.values()):
            raise self._failure
        return [self._results.get(position, self._failure) for position in range(len(self._texts))]

    def _split(self, positions: Sequence[int], max_batch: int) -> deque[list[int]]:
        texts = [self._texts[position] for position in positions]
        ranges = split_batches(texts, max_batch, self._source.max_batch_tokens)
        return deque([positions[index] for index in batch] for batch in ranges)

    def _request(self, batch: Sequence[int]) -> None:
        texts = [self._texts[position] for position in batch]
        started_at = time.perf_counter()
        results = self._source.embed(texts, purpose=self._purpose, timeout_seconds=self._timeout_seconds)
        latency_ms = (time.perf_counter() - started_at) * 1000
        for position, result in zip(batch, results, strict=True):
            if isinstance(result, EmbeddingError):
                self._results[position] = result
            else:
                self._results[position] = self._build(result, latency_ms=latency_ms, cached=False)
                get_cache().put(self._build_key(self._texts[position]), result)
        failed = sum(isinstance(result, EmbeddingError) for result in results)
        if failed:
            log.warning("embeddings.texts.passed_over", model=self._source.resolution.model, count=failed)
        first = results[0]
        if failed == len(results) and isinstance(first, EmbeddingError):
            remember_failure(self._source.resolution, first)
        else:
            forget_failure(self._source.resolution)

    def _build_key(self, text: str) -> str:
        return build_cache_key(
            self._source.resolution.signature, text, self._purpose, self._source.tells_purposes_apart
        )

    def _build(self, vector: Vector, *, latency_ms: float, cached: bool) -> Embedding:
        resolution = self._source.resolution.with_dimensions(vector.size)
        return Embedding(
            vector=vector,
            source=resolution.source or "remote",
            model=resolution.model or "",
            dimensions=vector.size,
            signature=resolution.signature,
            latency_ms=latency_ms,
            cached=cached,
        )

    def _find_nothing(self) -> EmbeddingError:
        resolution = self._source.resolution
        return EmbeddingError(
            resolution.source or "remote",
            resolution.model,
            "unknown",
            _("There is nothing in the text to embed"),
            is_outage=False,
        )
