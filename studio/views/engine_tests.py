"""Tests of what is on the screen, saved or not: a sample text through an embedding source, three through a reranker."""

import time
from dataclasses import dataclass
from typing import Final

from core.errors import AppError
from core.providers.rerank import TIME_LIMIT_SECONDS, rerank, resolve_reranker
from embeddings.base import EmbeddingConfig, EmbeddingError, EmbeddingSource
from embeddings.cross_encoder import find_obstacle, score_texts
from embeddings.resolver import get_source
from memory.search.rerank import LOCAL_PREFIX

SAMPLE: Final = "test sentence"
# Time to load a model too, which a first text waits for.
EMBEDDING_SECONDS: Final = 30.0
RERANK_QUERY: Final = "which database do we use?"
RERANK_SAMPLES: Final = ("The team meets on Tuesdays.", "Postgres is the main database.", "Coffee is in the kitchen.")


@dataclass(frozen=True, slots=True)
class EmbeddingTest:
    """`error` is None when the sample got its vector; `first_ms` is the time of the first text where a model on this
    machine may have been loaded for it, `milliseconds` that of one more."""

    error: str | None
    source: str = ""
    model: str = ""
    dimensions: int = 0
    milliseconds: float = 0.0
    first_ms: float | None = None
    sample: str = SAMPLE


@dataclass(frozen=True, slots=True)
class RerankTest:
    """`order` are the samples as the model ranked them, with its scores."""

    error: str | None
    milliseconds: float = 0.0
    order: tuple[tuple[str, float], ...] = ()
    query: str = RERANK_QUERY


def run_embedding_test(config: EmbeddingConfig) -> EmbeddingTest:
    """Embed the sample past the cache, so that the time is that of the source."""
    try:
        source = get_source(config)
        dimensions, first_ms = _time_sample(source)
        milliseconds, is_local = first_ms, source.resolution.source != "remote"
        if is_local:
            _, milliseconds = _time_sample(source)
    except EmbeddingError as error:
        return EmbeddingTest(error.message)
    resolution = source.resolution
    return EmbeddingTest(
        None,
        resolution.source or "",
        resolution.model or "",
        dimensions,
        round(milliseconds, 1),
        round(first_ms, 1) if is_local and first_ms > 4 * milliseconds else None,
    )


def run_rerank_test(provider_model: str) -> RerankTest:
    started = time.perf_counter()
    try:
        scores = _rank_samples(provider_model)
    except AppError as error:
        return RerankTest(error.message)
    milliseconds = (time.perf_counter() - started) * 1000
    ordered = sorted(scores.items(), key=lambda item: -item[1])
    return RerankTest(None, round(milliseconds, 1), tuple((RERANK_SAMPLES[index], score) for index, score in ordered))


def _time_sample(source: EmbeddingSource) -> tuple[int, float]:
    """Return how many numbers the sample's vector has and how many milliseconds it took; raises `EmbeddingError`."""
    started = time.perf_counter()
    vector = source.embed([SAMPLE], purpose="query", timeout_seconds=EMBEDDING_SECONDS)[0]
    if isinstance(vector, EmbeddingError):
        raise vector
    return len(vector), (time.perf_counter() - started) * 1000


def _rank_samples(provider_model: str) -> dict[int, float]:
    if provider_model.startswith(LOCAL_PREFIX):
        name = provider_model.removeprefix(LOCAL_PREFIX)
        obstacle = find_obstacle(name)
        if obstacle is not None:
            raise AppError(obstacle)
        scores = score_texts(name, RERANK_QUERY, RERANK_SAMPLES, timeout_seconds=EMBEDDING_SECONDS)
        return dict(enumerate(scores))
    endpoint = resolve_reranker(provider_model)
    return rerank(endpoint, RERANK_QUERY, list(RERANK_SAMPLES), timeout_seconds=TIME_LIMIT_SECONDS)
