"""Let a rerank model have a second look at the best hits. Whatever goes wrong, the first order stays.

A provider's model decides alone (contract 6.7), but in the `adaptive` strategy and where the model is a local
cross-encoder both orders count: z-scores of first score and relevance, added up. A small cross-encoder alone loses
what the first stage knows of sessions, speakers and dates.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import structlog
from numpy.typing import NDArray

from core.errors import AppError, UpstreamTimeoutError
from core.providers.rerank import MAX_DOCUMENTS, TIME_LIMIT_SECONDS, rerank, resolve_reranker
from core.words import gettext as _
from embeddings.cross_encoder import find_obstacle, prepare_cross_encoder, score_texts
from memory.records import SearchHit, Strategy

log = structlog.get_logger(__name__)

LOCAL_PREFIX: Final = "local/"
# On one core a candidate takes from 6 ms (a chat turn) to 100 ms (a whole page).
MAX_LOCAL_CANDIDATES: Final = 30
# After a time-out a model is not asked for a while: one search waits for it, not every one.
PAUSE_SECONDS: Final = 30.0
_PAUSED_UNTIL: Final[dict[str, float]] = {}
# What each model failed with last, for the status page.
_FAILURES: Final[dict[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Reranking:
    """Hits in their last order; `reason` says why it is still the first one, None when it was reranked."""

    hits: list[SearchHit]
    is_applied: bool
    reason: str | None = None


def rerank_hits(provider_model: str, text: str, strategy: Strategy, hits: Sequence[SearchHit]) -> Reranking:
    """Reorder the best hits by `provider_model` (`provider/model`, or `local/` and a folder or hub model).

    Those it judged come first with their new scores, the others follow in their old order. Never raises.
    """
    if not hits:
        return Reranking([], False)
    if time.monotonic() < _PAUSED_UNTIL.get(provider_model, 0.0):
        reason = _("the reranker took too long a moment ago and is asked again soon")
        return Reranking(list(hits), False, reason)
    is_local = provider_model.startswith(LOCAL_PREFIX)
    candidates = list(hits[: MAX_LOCAL_CANDIDATES if is_local else MAX_DOCUMENTS])
    try:
        relevances = _judge(provider_model, text, [hit.record.content for hit in candidates])
    except AppError as error:
        log.warning("memory.rerank.failed", model=provider_model, reason=error.message)
        _FAILURES[provider_model] = error.message
        if error.code == UpstreamTimeoutError.code:
            _PAUSED_UNTIL[provider_model] = time.monotonic() + PAUSE_SECONDS
        return Reranking(list(hits), False, _("%(reason)s (not reranked)") % {"reason": error.message})
    _FAILURES.pop(provider_model, None)
    if is_local or strategy == "adaptive":
        relevances = fuse_relevances([hit.score for hit in candidates], relevances)
    return Reranking([*_reorder(candidates, relevances), *hits[len(candidates) :]], True)


def find_rerank_obstacle(provider_model: str) -> str | None:
    """Return why `provider_model` can't be asked now, None when it can. No network, no model is loaded."""
    if provider_model.startswith(LOCAL_PREFIX):
        return find_obstacle(provider_model.removeprefix(LOCAL_PREFIX))
    try:
        resolve_reranker(provider_model)
    except AppError as error:
        return error.message
    return None


def prepare_reranker(provider_model: str) -> None:
    """Fetch a local model that is not on this machine. May take minutes: for background jobs only."""
    if provider_model.startswith(LOCAL_PREFIX):
        prepare_cross_encoder(provider_model.removeprefix(LOCAL_PREFIX))


def read_last_failure(provider_model: str) -> str | None:
    """Return what the last request of this process failed with, None when it succeeded or there was none."""
    return _FAILURES.get(provider_model)


def fuse_relevances(scores: Sequence[float], relevances: Mapping[int, float]) -> dict[int, float]:
    """Return for each index of `relevances` a number of 0 to 1 that counts first score and relevance alike."""
    judged = sorted(relevances)
    first = _standardise(np.array([scores[index] for index in judged]))
    second = _standardise(np.array([relevances[index] for index in judged]))
    fused = 1 / (1 + np.exp(-(first + second)))
    return dict(zip(judged, fused.tolist(), strict=True))


def _judge(provider_model: str, text: str, contents: list[str]) -> dict[int, float]:
    if provider_model.startswith(LOCAL_PREFIX):
        name = provider_model.removeprefix(LOCAL_PREFIX)
        return dict(enumerate(score_texts(name, text, contents, timeout_seconds=TIME_LIMIT_SECONDS)))
    endpoint = resolve_reranker(provider_model)
    return rerank(endpoint, text, contents, timeout_seconds=TIME_LIMIT_SECONDS)


def _reorder(candidates: Sequence[SearchHit], relevances: Mapping[int, float]) -> list[SearchHit]:
    """Equal relevances keep their old order."""
    judged = sorted(relevances, key=lambda index: (-relevances[index], index))
    others = [hit for index, hit in enumerate(candidates) if index not in relevances]
    return [*(replace(candidates[index], score=relevances[index]) for index in judged), *others]


def _standardise(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """z-scores; all 0 where the values don't differ."""
    spread = float(values.std())
    centred: NDArray[np.float64] = values - values.mean()
    return centred / spread if spread > 1e-12 else np.zeros_like(values)
