"""How it stands with the parts of the engine: what works, what does not, why, and what to do about it.

Read from settings, rows and this process's memory; no model is loaded, and only Qdrant is asked, where it is on.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from core.db.sqlite import vec0
from core.db.sqlite.driver import DRIVER
from core.jobs.queue import JobState, read_state
from core.words import gettext as _
from core.words import join_words, ngettext
from embeddings.base import EmbeddingResolution, Reason
from embeddings.resolver import CacheStatistics, read_cache_statistics, read_last_failure, resolve
from memory import queue
from memory.config import MemorySettings, load_settings
from memory.indexing import NO_SOURCE_ADVICE, Backlog, read_backlog
from memory.models import VectorIndex
from memory.qdrant_control import QdrantStatus
from memory.qdrant_control import read_status as read_qdrant_status
from memory.search import rerank
from memory.search.keyword import find_fulltext_fault
from memory.vector_stores import lifecycle

ADVICE: dict[Reason, str] = {
    "no_key": _("check the provider's key"),
    "rate_limited": _("what waits is indexed when the provider takes requests again"),
    "timeout": _("see that the source is running and near enough; searches do without it meanwhile"),
    "request_failed": _("check the address and the name of the model"),
    "model_load_failed": _("see the log for what is wrong with the model's files"),
    "unknown": _("see the log"),
}


@dataclass(frozen=True, slots=True)
class KeywordStatus:
    is_available: bool
    backend: str
    reason: str


@dataclass(frozen=True, slots=True)
class EmbeddingStatus:
    """`is_available` is false also while the source fails; `cache` counts for this process."""

    source: str | None
    model: str | None
    dimensions: int | None
    is_available: bool
    reason: str
    cache: CacheStatistics


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """A vector index: `rows` of `total` memories are in it."""

    signature: str
    dimensions: int | None
    quantization: str
    rows: int
    total: int


@dataclass(frozen=True, slots=True)
class VectorStoreStatus:
    """`active` answers queries; `building` is filled beside it after a change of the embedding.

    Both are sqlite-vec's, which stays current while Qdrant is the `backend` that answers.
    """

    backend: str
    is_available: bool
    row_count: int
    reason: str
    active: IndexStatus | None
    building: IndexStatus | None


@dataclass(frozen=True, slots=True)
class RerankStatus:
    is_enabled: bool
    provider: str | None
    model: str | None
    is_available: bool
    reason: str


@dataclass(frozen=True, slots=True)
class IndexingStatus:
    """`next_run_at` is when the waiting job starts, `waits_for` why it must wait."""

    backlog: Backlog
    is_running: bool
    next_run_at: datetime | None
    waits_for: str | None


@dataclass(frozen=True, slots=True)
class EngineStatus:
    keyword: KeywordStatus
    embedding: EmbeddingStatus
    vector_store: VectorStoreStatus
    qdrant: QdrantStatus
    rerank: RerankStatus
    indexing: IndexingStatus
    sqlite_driver: str


def read_engine_status() -> EngineStatus:
    # Before anything else: reading the settings opens the connection that shows whether vec0 loads.
    settings = load_settings()
    indexing = _read_indexing(read_backlog(), read_state(queue.FETCH_MODELS, queue.INDEX_PENDING))
    resolution = resolve(settings.embedding)
    qdrant = read_qdrant_status()
    return EngineStatus(
        keyword=_read_keyword(),
        embedding=_read_embedding(resolution, indexing),
        vector_store=_name_answering(_read_vector_store(resolution, indexing.backlog), qdrant),
        qdrant=qdrant,
        rerank=_read_rerank(settings),
        indexing=indexing,
        sqlite_driver=DRIVER.label,
    )


def _read_keyword() -> KeywordStatus:
    fault = find_fulltext_fault()
    if fault is not None:
        return KeywordStatus(False, "none", fault)
    return KeywordStatus(True, "FTS5", _("the full-text index answers"))


def _read_indexing(backlog: Backlog, state: JobState) -> IndexingStatus:
    waits_for = state.reason if backlog.pending and state.reason else None
    return IndexingStatus(backlog, state.is_running, state.next_run_at, waits_for)


def _read_embedding(resolution: EmbeddingResolution, indexing: IndexingStatus) -> EmbeddingStatus:
    is_available, reason = _judge_source(resolution, indexing)
    dimensions = resolution.dimensions
    active = lifecycle.find_active()
    if dimensions is None and active is not None and resolution.agrees_with(active.signature):
        dimensions = active.dimensions
    cache = read_cache_statistics()
    return EmbeddingStatus(resolution.source, resolution.model, dimensions, is_available, reason, cache)


def _judge_source(resolution: EmbeddingResolution, indexing: IndexingStatus) -> tuple[bool, str]:
    if resolution.source is None:
        return False, join_words("; ", (resolution.reason, NO_SOURCE_ADVICE))
    if not resolution.is_available:
        return False, resolution.reason
    failure = read_last_failure(resolution)
    if failure is not None and failure.is_outage:
        return False, join_words("; ", (failure.message, ADVICE[failure.reason]))
    # Rows that may be tried now but wait all the same: the indexing job, in this process or another, met an outage.
    if indexing.waits_for and indexing.backlog.due and not indexing.is_running:
        return False, _("%(reason)s; indexing tries again by itself") % {"reason": indexing.waits_for}
    if failure is not None:
        told = _("%(source)s; the last text got no vector: %(reason)s")
        return True, told % {"source": resolution.reason, "reason": failure.message}
    return True, resolution.reason


def _read_vector_store(resolution: EmbeddingResolution, backlog: Backlog) -> VectorStoreStatus:
    if not vec0.STATUS.available:
        reason: str = _("%(reason)s. Keywords answer meanwhile") % {"reason": vec0.STATUS.reason}
        return VectorStoreStatus("none", False, 0, reason, None, None)
    active = _describe_index(VectorIndex.State.ACTIVE, backlog)
    building = _describe_index(VectorIndex.State.BUILDING, backlog)
    reason = _tell_vector_store(resolution, backlog, active, building)
    return VectorStoreStatus("sqlite-vec", True, active.rows if active else 0, reason, active, building)


def _name_answering(here: VectorStoreStatus, qdrant: QdrantStatus) -> VectorStoreStatus:
    """The store that answers is Qdrant where it is chosen and well, else the one in this database."""
    if not qdrant.is_answering:
        return here
    return replace(here, backend="qdrant", is_available=True, row_count=qdrant.points, reason=qdrant.reason)


def _tell_vector_store(
    resolution: EmbeddingResolution, backlog: Backlog, active: IndexStatus | None, building: IndexStatus | None
) -> str:
    if active is None:
        return join_words("; ", (vec0.STATUS.reason, _("no memory has a vector yet"), *_tell_backlog(backlog)))
    if building is not None:
        told = _(
            "the index of %(active)s answers while the one of %(building)s is built: %(done)d of %(total)d memories"
        )
        values = {"building": building.signature, "done": building.rows, "total": building.total}
        return told % {"active": active.signature, **values}
    if resolution.source is None:
        told = _("the index of %(active)s is there, but nothing can embed a query for it")
        return told % {"active": active.signature}
    if not resolution.agrees_with(active.signature):
        told = _("the index of %(active)s is there, and the settings now come to %(wanted)s")
        return told % {"active": active.signature, "wanted": resolution.signature}
    share = ngettext(
        "%(count)d of %(total)d memories have a vector", "%(count)d of %(total)d memories have a vector", active.total
    )
    told = share % {"count": active.rows, "total": active.total}
    return join_words("; ", (vec0.STATUS.reason, told, *_tell_backlog(backlog)))


def _tell_backlog(backlog: Backlog) -> list[str]:
    # One form in English, more in other languages.
    if backlog.given_up:
        told = ngettext(
            "%(count)d could not be embedded in many tries, a reindex tries them again",
            "%(count)d could not be embedded in many tries, a reindex tries them again",
            backlog.given_up,
        )
        return [told % {"count": backlog.given_up}]
    if backlog.pending:
        told = ngettext("%(count)d wait for theirs", "%(count)d wait for theirs", backlog.pending)
        return [told % {"count": backlog.pending}]
    return []


def _describe_index(state: VectorIndex.State, backlog: Backlog) -> IndexStatus | None:
    index = lifecycle.find_index(state)
    if index is None:
        return None
    store = lifecycle.open_store(index)
    rows = 0 if store is None else store.count()
    return IndexStatus(index.signature, index.dimensions, index.quantization, rows, backlog.total)


def _read_rerank(settings: MemorySettings) -> RerankStatus:
    chosen = settings.rerank_provider_model
    provider, _, model = (chosen or "").partition("/")
    is_available, reason = _judge_reranker(settings.rerank_enabled, chosen)
    return RerankStatus(settings.rerank_enabled, provider or None, model or None, is_available, reason)


def _judge_reranker(is_enabled: bool, chosen: str | None) -> tuple[bool, str]:
    if not chosen:
        return False, _("no rerank model is chosen; set rerankProviderModel, such as cohere/rerank-v3.5")
    if not is_enabled:
        return False, _("reranking is switched off (rerankEnabled)")
    obstacle = rerank.find_rerank_obstacle(chosen)
    if obstacle is not None:
        return False, obstacle
    failure = rerank.read_last_failure(chosen)
    if failure is not None:
        return True, _("the last request failed, so its hits kept their order: %(reason)s") % {"reason": failure}
    return True, _("%(model)s reorders the best hits") % {"model": chosen}
