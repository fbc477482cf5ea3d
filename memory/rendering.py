"""Answers of memory's REST doors (contract 3): how records, retrievals and the engine's state are told."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from embeddings.resolver import EmbeddingProvider
from memory.engine_status import EngineStatus, IndexingStatus, IndexStatus
from memory.preview import Explanation, Preview
from memory.qdrant_control import QdrantStatus
from memory.records import ChosenMemory, MemoryPage, MemoryRecord, MemorySlice
from memory.services import ReindexStart


def render_memory(record: MemoryRecord) -> dict[str, Any]:
    """Return the Memory object of the contract."""
    return {
        "id": record.id,
        "apiKeyId": record.owner,
        "sessionId": record.session_id,
        "type": record.type,
        "key": record.key,
        "content": record.content,
        "metadata": dict(record.metadata),
        "createdAt": render_moment(record.created_at),
        "updatedAt": render_moment(record.updated_at),
        "expiresAt": None if record.expires_at is None else render_moment(record.expires_at),
    }


def render_moment(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds and Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def render_page(
    page: MemoryPage, *, limit: int, offset: int, tokens_used: int, cache_hits: int, cache_misses: int
) -> dict[str, Any]:
    """Return the answer of GET /api/memory; the page number follows from the offset."""
    lookups = cache_hits + cache_misses
    cache_counts = {"hits": cache_hits, "misses": cache_misses}
    return {
        "data": [render_memory(record) for record in page.records],
        "total": page.total,
        "page": offset // limit + 1,
        "limit": limit,
        "totalPages": math.ceil(page.total / limit),
        "nextCursor": page.next_cursor,
        "stats": {
            "total": page.total,
            "totalEntries": page.total,
            "byType": page.by_type,
            "tokensUsed": tokens_used,
            "hitRate": cache_hits / lookups if lookups else 0.0,
            "cacheStats": cache_counts,
        },
        "cacheStats": cache_counts,
    }


def render_slice(found: MemorySlice, *, limit: int) -> dict[str, Any]:
    """Return the answer of GET /api/memory to a cursor. Nothing is counted: that is what makes it quick."""
    return {
        "data": [render_memory(record) for record in found.records],
        "limit": limit,
        "nextCursor": found.next_cursor,
    }


def render_preview(preview: Preview, *, asked_tokens: int) -> dict[str, Any]:
    """Return the answer of retrieve-preview; `budgetMaxTokens` repeats what was asked for.

    Ours beside the contract's: ranks, `cut`, `rerankReason`, and `explanation` when one was asked for.
    """
    retrieval, ranks = preview.retrieval, preview.ranks
    outcome = retrieval.outcome
    told = {
        "memories": [_render_ranked(item, ranks, is_kept=True) for item in retrieval.chosen],
        "resolution": {
            "embeddingSource": outcome.embedding_source,
            "embeddingModel": outcome.embedding_model,
            "vectorStore": outcome.vector_store,
            "strategyUsed": outcome.strategy,
            "rerankApplied": outcome.rerank_applied,
            "rerankReason": outcome.rerank_reason,
            "fallbackReason": outcome.fallback_reason,
        },
        "totalTokensUsed": retrieval.total_tokens,
        "budgetMaxTokens": asked_tokens,
        "cut": [_render_ranked(item, ranks, is_kept=False) for item in preview.cut],
    }
    if preview.explanation is not None:
        told["explanation"] = _render_explanation(preview.explanation)
    return told


def _render_explanation(explanation: Explanation) -> dict[str, Any]:
    hit = explanation.hit
    return {
        "memoryId": explanation.memory_id,
        "chosen": explanation.verdict == "chosen",
        "verdict": explanation.verdict,
        "reason": explanation.told,
        "rank": explanation.rank,
        "candidates": explanation.candidates,
        "score": None if hit is None else _finite_or_none(hit.score),
        "tokens": explanation.tokens,
        "vectorRank": explanation.vector_rank,
        "keywordRank": explanation.keyword_rank,
    }


def _render_ranked(item: ChosenMemory, ranks: Mapping[int, int], *, is_kept: bool) -> dict[str, Any]:
    record = item.hit.record
    return {
        "id": record.id,
        "type": record.type,
        "key": record.key,
        "content": record.content,
        "score": _finite_or_none(item.hit.score),
        "tokens": item.tokens,
        "tier": item.hit.tier,
        "vecScore": _finite_or_none(item.hit.vector_score),
        "ftsScore": _finite_or_none(item.hit.keyword_score),
        "rank": ranks.get(record.memory_id),
        "vectorRank": item.hit.vector_rank,
        "keywordRank": item.hit.keyword_rank,
        "keptByBudget": is_kept,
    }


def _finite_or_none(number: float | None) -> float | None:
    """JSON has neither NaN nor infinity."""
    return number if number is not None and math.isfinite(number) else None


def render_embedding_provider(provider: EmbeddingProvider) -> dict[str, Any]:
    return {
        "provider": provider.provider,
        "hasKey": provider.has_key,
        "models": [asdict(model) for model in provider.models],
    }


def render_engine_status(status: EngineStatus) -> dict[str, Any]:
    """Return the answer of engine-status; `sqlite`, `indexing` and the store's two indexes are ours."""
    keyword, embedding, store, rerank = status.keyword, status.embedding, status.vector_store, status.rerank
    return {
        "keyword": {"available": keyword.is_available, "backend": keyword.backend, "reason": keyword.reason},
        "embedding": {
            "source": embedding.source,
            "model": embedding.model,
            "dimensions": embedding.dimensions,
            "available": embedding.is_available,
            "reason": embedding.reason,
            "cacheStats": asdict(embedding.cache),
        },
        "vectorStore": {
            "backend": store.backend,
            "available": store.is_available,
            "rowCount": store.row_count,
            "needsReindex": status.indexing.backlog.pending,
            "reason": store.reason,
            "active": _render_index(store.active),
            "building": _render_index(store.building),
        },
        "qdrant": render_qdrant(status.qdrant),
        "rerank": {
            "enabled": rerank.is_enabled,
            "provider": rerank.provider,
            "model": rerank.model,
            "available": rerank.is_available,
            "reason": rerank.reason,
        },
        "indexing": _render_indexing(status.indexing),
        "sqlite": {"driver": status.sqlite_driver},
    }


def render_reindex_start(start: ReindexStart) -> dict[str, Any]:
    """Return the answer of reindex; `reason` and `qdrant` only where there is something to tell."""
    answer: dict[str, Any] = {"started": start.is_queued, "pending": start.pending}
    if start.reason is not None:
        answer["reason"] = start.reason
    if start.qdrant_pending is not None:
        answer["qdrant"] = {"pending": start.qdrant_pending}
    return answer


def render_qdrant(qdrant: QdrantStatus) -> dict[str, Any]:
    """The contract's four fields; while it is on, ours beside them."""
    told = {
        "enabled": qdrant.is_enabled,
        "healthy": qdrant.is_healthy,
        "latencyMs": qdrant.latency_ms,
        "error": qdrant.error,
    }
    if not qdrant.is_enabled:
        return told
    return told | {
        "answering": qdrant.is_answering,
        "paused": qdrant.is_paused,
        "collection": qdrant.collection,
        "alias": qdrant.alias,
        "embedding": qdrant.embedding,
        "dimensions": qdrant.dimensions,
        "points": qdrant.points,
        "total": qdrant.total,
        "pending": qdrant.pending,
        "reason": qdrant.reason,
        "remedy": qdrant.remedy,
        "nextTryAt": None if qdrant.next_try_at is None else render_moment(qdrant.next_try_at),
    }


def _render_index(index: IndexStatus | None) -> dict[str, Any] | None:
    if index is None:
        return None
    return {
        "signature": index.signature,
        "dimensions": index.dimensions,
        "quantization": index.quantization,
        "rows": index.rows,
        "total": index.total,
    }


def _render_indexing(indexing: IndexingStatus) -> dict[str, Any]:
    backlog = indexing.backlog
    return {
        "total": backlog.total,
        "pending": backlog.pending,
        "due": backlog.due,
        "givenUp": backlog.given_up,
        "nextTryAt": None if backlog.next_try_at is None else render_moment(backlog.next_try_at),
        "running": indexing.is_running,
        "nextRunAt": None if indexing.next_run_at is None else render_moment(indexing.next_run_at),
        "waitsFor": indexing.waits_for,
    }
