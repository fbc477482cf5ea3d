"""The door to embeddings: which source counts, and texts to vectors through the cache."""

from collections.abc import Sequence
from typing import Final

from embeddings.base import Embedding, EmbeddingConfig, EmbeddingError, EmbeddingResolution, EmbeddingSource
from embeddings.cache import CacheStatistics, get_cache
from embeddings.choice import choose, pin
from embeddings.failures import read_last_failure
from embeddings.measurements import forget_dimensions
from embeddings.pipeline import embed_texts
from embeddings.providers import EmbeddingModel, EmbeddingProvider, list_embedding_providers
from embeddings.static import prepare_static
from embeddings.texts import bound_query, make_sendable
from embeddings.transformers import prepare_transformers

__all__ = [
    "CacheStatistics",
    "EmbeddingModel",
    "EmbeddingProvider",
    "embed_documents",
    "embed_query",
    "get_source",
    "list_embedding_providers",
    "pin",
    "prepare",
    "read_cache_statistics",
    "read_last_failure",
    "resolve",
]

QUERY_SECONDS: Final = 5.0
DOCUMENTS_SECONDS: Final = 30.0


def resolve(config: EmbeddingConfig) -> EmbeddingResolution:
    """Return what `config` comes to: quick, a database query or two; no network, no model is loaded."""
    return choose(config).resolution


def prepare(config: EmbeddingConfig, *, retry: bool = False) -> EmbeddingResolution:
    """Return what `config` comes to after fetching the local model that it wants, where that is missing.

    For background jobs only: a download may take minutes. It is tried once and, having failed, again only with
    `retry`, which a full reindex passes; that also measures the width of models of unknown width again.
    """
    if retry:
        forget_dimensions()
    resolution = resolve(config)
    if config.local_model is not None:
        return resolution
    if resolution.source == "static":
        prepare_static(retry=retry)
    elif resolution.source == "transformers":
        prepare_transformers(retry=retry)
    return resolve(config)


def get_source(config: EmbeddingConfig) -> EmbeddingSource:
    """Return the source that `config` comes to; raises `EmbeddingError` when there is none that can be asked."""
    return choose(config).open()


def embed_query(config: EmbeddingConfig, text: str, timeout_seconds: float = QUERY_SECONDS) -> Embedding:
    """Return the vector of a search text, of a long one its beginning and end, in one try within the time limit.

    Raises `EmbeddingError`.
    """
    source = get_source(config)
    result = embed_texts(source, [bound_query(make_sendable(text))], "query", timeout_seconds)[0]
    if isinstance(result, EmbeddingError):
        raise result
    return result


def embed_documents(
    config: EmbeddingConfig, texts: Sequence[str], timeout_seconds: float = DOCUMENTS_SECONDS
) -> list[Embedding | EmbeddingError]:
    """Return for each text, in order, its vector or why it has none. `timeout_seconds` is for each request.

    A request that fails as a whole ends the work: its texts and the following ones get its error (`is_outage`),
    what was embedded before is kept. Raises `EmbeddingError` when no source can be asked, or no text got a vector
    because of such a failure.
    """
    source = get_source(config)
    return embed_texts(source, [make_sendable(text) for text in texts], "document", timeout_seconds)


def read_cache_statistics() -> CacheStatistics:
    return get_cache().read_statistics()
