"""Which vector store answers now, with the query's vector made for it, or why none does."""

import time
from dataclasses import dataclass

from core.db.sqlite import vec0
from embeddings.base import EmbeddingConfig, EmbeddingError
from embeddings.resolver import embed_query, resolve
from memory.models import VectorIndex
from memory.vector_stores import lifecycle
from memory.vector_stores.base import Vector
from memory.vector_stores.sqlite_vec import SqliteVecStore

QUERY_TIMEOUT_SECONDS = 5.0
# After a time-out a source is not asked for a while: one search waits for it, not every one.
PAUSE_SECONDS = 30.0


_paused_until: dict[str, float] = {}


@dataclass(frozen=True, slots=True)
class VectorLeg:
    """A store that holds vectors, and the query as a vector of the same embedding."""

    store: SqliteVecStore
    index: VectorIndex
    query_vector: Vector
    embedding_source: str
    embedding_model: str


@dataclass(frozen=True, slots=True)
class NoVectors:
    """Why keywords have to do; told to operators."""

    reason: str
    embedding_source: str | None = None
    embedding_model: str | None = None


def open_leg(text: str, config: EmbeddingConfig) -> VectorLeg | NoVectors:
    """Embed `text` for the index that answers. Touches no index and never raises for a missing part.

    The query is embedded the way the answering index was, which is not the configured way while a new one is built.
    """
    if not vec0.STATUS.available:
        return NoVectors(f"sqlite-vec not available (degraded to FTS5): {vec0.STATUS.reason}")
    resolution = resolve(config)
    if resolution.source is None:
        return NoVectors(f"{resolution.reason} (degraded to FTS5)")
    index = lifecycle.find_active()
    store = lifecycle.open_store(index) if index is not None else None
    if index is None or store is None:
        reason = "no memory has been indexed yet (degraded to FTS5)"
        return NoVectors(reason, resolution.source, resolution.model)
    if time.monotonic() < _paused_until.get(index.signature, 0.0):
        reason = "the embedding source timed out a moment ago and is asked again soon (degraded to FTS5)"
        return NoVectors(reason, resolution.source, resolution.model)
    try:
        embedding = embed_query(lifecycle.read_config(index), text, timeout_seconds=QUERY_TIMEOUT_SECONDS)
    except EmbeddingError as error:
        if error.reason == "timeout":
            _paused_until[index.signature] = time.monotonic() + PAUSE_SECONDS
        return NoVectors(f"{error.message} (degraded to FTS5)", error.source, error.model)
    if embedding.signature != index.signature:
        reason = (
            f"the index was made with another embedding ({index.signature}) than the query's ({embedding.signature}); "
            "reindex (degraded to FTS5)"
        )
        return NoVectors(reason, embedding.source, embedding.model)
    return VectorLeg(store, index, embedding.vector, embedding.source, embedding.model)
