"""What an operator asks of Qdrant: is it there, does it find something, take out what is old."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from core.words import gettext as _
from embeddings.base import EmbeddingConfig, EmbeddingError
from embeddings.resolver import embed_query, resolve
from qdrant_admin import lifecycle
from qdrant_admin.breaker import BREAKER
from qdrant_admin.config import QdrantSettings, load_qdrant_settings
from qdrant_admin.embedding import choose_embedding
from qdrant_admin.installation import read_installation
from qdrant_admin.misfits import tell_other_width
from qdrant_admin.models import Collection
from qdrant_admin.points import CollectionFacts, PointFilter, QdrantError, Server, StaleFilter, open_server

MAX_TOP_K: Final = 20
HEALTH_SECONDS: Final = 2.0
EMBEDDING_SECONDS: Final = 10.0
MAX_RETENTION_DAYS: Final = 3650
# Pages that show the health ask every few seconds; a server that hangs would have each wait for it.
REMEMBER_SECONDS: Final = 4.0


@dataclass(frozen=True, slots=True)
class CollectionReport:
    """`name` is the collection that the alias leads to; `expected_dimensions` what the embedding makes, if known."""

    name: str
    alias: str
    exists: bool
    vector_name: str = ""
    dimensions: int | None = None
    expected_dimensions: int | None = None
    distance: str = ""
    points: int = 0
    status: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    is_ok: bool
    latency_ms: int
    error: str | None = None
    collection: CollectionReport | None = None


@dataclass(frozen=True, slots=True)
class FoundPoint:
    id: str
    score: float
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SearchTest:
    """`note` says why nothing could be found although all is well."""

    is_ok: bool
    latency_ms: int
    results: list[FoundPoint] = field(default_factory=list)
    error: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Cleanup:
    is_ok: bool
    deleted_count: int
    latency_ms: int
    retention_days: int
    error: str | None = None


def check_health(own: EmbeddingConfig) -> Health:
    """Ask the server, its key and the collection, changing nothing; a failure is told, not raised."""
    settings, started = load_qdrant_settings(), time.perf_counter()
    try:
        server = open_server(settings)
        server.check_ready(HEALTH_SECONDS)
        report = _read_collection(settings, server, own)
    except QdrantError as error:
        latency_ms = 0 if error.fault == "not_configured" else _elapsed_ms(started)
        return Health(False, latency_ms, error.reason)
    BREAKER.note_success((settings.base_url, settings.api_key))
    return Health(not _find_misfit(report), _elapsed_ms(started), _find_misfit(report), report)


class HealthMemory:
    """The last answer of `check_health`, for a few seconds. Safe between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: tuple[QdrantSettings, float, Health] | None = None

    def read(self, own: EmbeddingConfig) -> Health:
        settings = load_qdrant_settings()
        with self._lock:
            if self._known is not None and self._known[0] == settings and time.monotonic() < self._known[1]:
                return self._known[2]
            health = check_health(own)
            self._known = (settings, time.monotonic() + REMEMBER_SECONDS, health)
            return health

    def clear(self) -> None:
        with self._lock:
            self._known = None


LAST_HEALTH: Final = HealthMemory()


def run_search_test(query: str, top_k: int, own: EmbeddingConfig) -> SearchTest:
    """Search the points of all tenants for a text, as searches embed it. A failure is told, not raised."""
    settings, started = load_qdrant_settings(), time.perf_counter()
    try:
        server = open_server(settings)
        name, config, rescores = _choose_collection(settings, own)
        facts = server.read_collection(name, HEALTH_SECONDS)
        vector = embed_query(config, query, timeout_seconds=EMBEDDING_SECONDS).vector
        if facts is None:
            note = _("the collection is made with the first memory that is written")
            return SearchTest(True, _elapsed_ms(started), note=note)
        if facts.dimensions != vector.size:
            raise QdrantError("mismatch", tell_other_width(name, facts.dimensions, vector.size))
        points = server.search(
            name,
            facts.vector_name,
            vector.tolist(),
            condition=PointFilter(),
            limit=min(max(top_k, 1), MAX_TOP_K),
            rescores=rescores,
            with_payload=True,
        )
    except QdrantError as error:
        return SearchTest(False, _elapsed_ms(started), error=error.reason)
    except EmbeddingError as error:
        told = _("the query can't be embedded: %(reason)s") % {"reason": error.message}
        return SearchTest(False, _elapsed_ms(started), error=told)
    found = [FoundPoint(point.id, point.score, point.payload) for point in points]
    return SearchTest(True, _elapsed_ms(started), found)


def clean_up(retention_days: int, now: datetime, own: EmbeddingConfig) -> Cleanup:
    """Delete points past their expiry, or not refreshed within `retention_days`, and count them.

    The rows they stand for stay; those that may be used again get their points back with the next reconciliation.
    """
    settings, started = load_qdrant_settings(), time.perf_counter()
    days = min(max(retention_days, 1), MAX_RETENTION_DAYS)
    since = int((now - timedelta(days=days)).timestamp())
    condition = StaleFilter(read_installation(), int(now.timestamp()), since)
    try:
        server = open_server(settings)
        name = _choose_collection(settings, own)[0]
        count = server.count(name, condition) if server.read_collection(name) is not None else 0
        if count:
            server.delete_matching(name, condition)
    except QdrantError as error:
        return Cleanup(False, 0, _elapsed_ms(started), days, error.reason)
    return Cleanup(True, count, _elapsed_ms(started), days)


def _choose_collection(settings: QdrantSettings, own: EmbeddingConfig) -> tuple[str, EmbeddingConfig, bool]:
    """The collection that answers, else the one that is filled, else what the name leads to; how to embed for it, and
    whether its vectors are packed."""
    row = _find_row(settings)
    if row is not None and row.name:
        return row.name, lifecycle.read_config(row), row.quantization != "none"
    return settings.collection, choose_embedding(settings.embedding_model, own), settings.quantization != "none"


def _find_row(settings: QdrantSettings) -> Collection | None:
    states = (Collection.State.ACTIVE, Collection.State.BUILDING)
    return next(filter(None, (lifecycle.find_collection(settings, state) for state in states)), None)


def _read_collection(settings: QdrantSettings, server: Server, own: EmbeddingConfig) -> CollectionReport:
    building = lifecycle.find_collection(settings, Collection.State.BUILDING)
    row = building if building is not None and building.is_blocked else _find_row(settings)
    name = (row.name if row is not None else "") or settings.collection
    facts: CollectionFacts | None = server.read_collection(name, HEALTH_SECONDS)
    expected = row.dimensions if row is not None else None
    if expected is None:
        expected = resolve(choose_embedding(settings.embedding_model, own)).dimensions
    if facts is None:
        return CollectionReport(name, settings.collection, exists=False, expected_dimensions=expected)
    return CollectionReport(
        name=name,
        alias=settings.collection,
        exists=True,
        vector_name=facts.vector_name,
        dimensions=facts.dimensions,
        expected_dimensions=expected,
        distance=facts.distance,
        points=facts.points,
        status=facts.status,
    )


def _find_misfit(report: CollectionReport) -> str | None:
    if not report.exists or report.expected_dimensions is None or report.expected_dimensions == report.dimensions:
        return None
    return tell_other_width(report.name, report.dimensions, report.expected_dimensions)


def _elapsed_ms(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)
