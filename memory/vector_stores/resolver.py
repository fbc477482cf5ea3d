"""Which vector store answers now, with the query's vector made for it, or why none does."""

import time
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from core.db.sqlite import vec0
from core.words import gettext as _
from embeddings.base import Embedding, EmbeddingConfig, EmbeddingError
from embeddings.resolver import embed_query, resolve
from memory.models import VectorIndex
from memory.records import SearchQuery
from memory.vector_stores import lifecycle
from memory.vector_stores.base import Vector, VectorStore
from memory.vector_stores.qdrant import QdrantStore, SearchScope
from qdrant_admin.breaker import BREAKER
from qdrant_admin.config import QdrantSettings, load_qdrant_settings
from qdrant_admin.lifecycle import find_collection, read_config
from qdrant_admin.models import Collection

QUERY_TIMEOUT_SECONDS = 5.0
# After a time-out a source is not asked for a while: one search waits for it, not every one.
PAUSE_SECONDS = 30.0


_paused_until: dict[str, float] = {}


@dataclass(frozen=True, slots=True)
class VectorLeg:
    """A store that holds vectors, and the query as a vector of the same embedding.

    `index` describes a store in this database and is None for one elsewhere.
    """

    store: VectorStore
    index: VectorIndex | None
    query_vector: Vector
    embedding_source: str
    embedding_model: str


@dataclass(frozen=True, slots=True)
class NoVectors:
    """Why another way has to do; told to operators."""

    reason: str
    embedding_source: str | None = None
    embedding_model: str | None = None


def open_leg(text: str, config: EmbeddingConfig) -> VectorLeg | NoVectors:
    """Embed `text` for the index in this database that answers. Touches no index, never raises for a missing part.

    The query is embedded the way the answering index was, which is not the configured way while a new one is built.
    """
    if not vec0.STATUS.available:
        told = _("sqlite-vec not available (degraded to FTS5): %(reason)s")
        return NoVectors(told % {"reason": vec0.STATUS.reason})
    resolution = resolve(config)
    if resolution.source is None:
        return NoVectors(_("%(reason)s (degraded to FTS5)") % {"reason": resolution.reason})
    index = lifecycle.find_active()
    store = lifecycle.open_store(index) if index is not None else None
    if index is None or store is None:
        reason = _("no memory has been indexed yet (degraded to FTS5)")
        return NoVectors(reason, resolution.source, resolution.model)
    embedding = _embed(text, lifecycle.read_config(index), index.signature)
    if isinstance(embedding, NoVectors):
        source, model = embedding.embedding_source or resolution.source, embedding.embedding_model or resolution.model
        return NoVectors(_("%(reason)s (degraded to FTS5)") % {"reason": embedding.reason}, source, model)
    return VectorLeg(store, index, embedding.vector, embedding.source, embedding.model)


def open_qdrant_leg(query: SearchQuery) -> VectorLeg | NoVectors:
    """Embed the query for the collection in Qdrant that answers. Asks Qdrant nothing, so that the search is the one
    request; a server that did not answer lately is not asked again for a while."""
    settings = load_qdrant_settings()
    collection = _find_answering(settings)
    if isinstance(collection, NoVectors):
        return collection
    paused = BREAKER.admit((settings.base_url, settings.api_key))
    if paused is not None:
        return NoVectors(_("%(reason)s; it is asked again soon") % {"reason": paused})
    embedding = _embed(query.text, read_config(collection), collection.signature)
    if isinstance(embedding, NoVectors):
        return embedding
    retained_since = timezone.now() - timedelta(days=query.retention_days)
    scope = SearchScope(query.session_id, int(retained_since.timestamp()))
    store = QdrantStore(settings, collection, scope)
    return VectorLeg(store, None, embedding.vector, embedding.source, embedding.model)


def _find_answering(settings: QdrantSettings) -> Collection | NoVectors:
    if not settings.is_on:
        return NoVectors(_("Qdrant is switched off") if settings.host else _("no host of Qdrant is set"))
    if settings.api_key_fault:
        return NoVectors(settings.api_key_fault)
    building = find_collection(settings, Collection.State.BUILDING)
    active = find_collection(settings, Collection.State.ACTIVE)
    blocked = next((row for row in (building, active) if row is not None and row.is_blocked), None)
    if blocked is not None:
        return NoVectors(blocked.fault)
    if active is None:
        if building is None or not building.fault:
            return NoVectors(_("the collection in Qdrant is not filled yet"))
        told = _("the collection in Qdrant is not filled yet: %(reason)s")
        return NoVectors(told % {"reason": building.fault})
    if not active.is_created:
        return NoVectors(_("no memory has been written to Qdrant yet"))
    return active


def _embed(text: str, config: EmbeddingConfig, signature: str) -> Embedding | NoVectors:
    """Return the query's vector, which belongs to `signature`, in one try within the time limit."""
    if time.monotonic() < _paused_until.get(signature, 0.0):
        return NoVectors(_("the embedding source timed out a moment ago and is asked again soon"))
    try:
        embedding = embed_query(config, text, timeout_seconds=QUERY_TIMEOUT_SECONDS)
    except EmbeddingError as error:
        if error.reason == "timeout":
            _paused_until[signature] = time.monotonic() + PAUSE_SECONDS
        return NoVectors(error.message, error.source, error.model)
    if embedding.signature != signature:
        told = _("the index was made with another embedding (%(index)s) than the query's (%(query)s); reindex")
        reason = told % {"index": signature, "query": embedding.signature}
        return NoVectors(reason, embedding.source, embedding.model)
    return embedding
