"""What an operator does with Qdrant: the calls behind the REST door, the commands and studio's card.

Everything that needs to know what memories are embedded with, and how long they are kept, is put together here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from core.words import gettext as _
from core.words import join_words, ngettext
from embeddings.resolver import resolve
from memory import queue
from memory.config import MEMORY_SECTION, load_settings
from memory.models import Memory
from memory.vector_stores import qdrant_sync
from qdrant_admin import lifecycle, operations
from qdrant_admin.breaker import BREAKER
from qdrant_admin.config import (
    PublicSettings,
    QdrantSettings,
    load_qdrant_settings,
    read_public_settings,
    save_qdrant_settings,
)
from qdrant_admin.embedding import ModelChoice
from qdrant_admin.embedding import list_embedding_models as list_models
from qdrant_admin.misfits import REMEDY
from qdrant_admin.models import Collection
from qdrant_admin.operations import LAST_HEALTH, Cleanup, Health, SearchTest

__all__ = [
    "Cleanup",
    "Health",
    "ModelChoice",
    "PublicSettings",
    "QdrantStatus",
    "SearchTest",
    "change_settings",
    "check_health",
    "clean_up",
    "list_embedding_models",
    "read_public_settings",
    "read_status",
    "run_search_test",
]


@dataclass(frozen=True, slots=True)
class QdrantStatus:
    """How it stands with Qdrant; `is_healthy`, `latency_ms` and `error` are None while it is switched off.

    `points` of `total` memories are in `collection` and `pending` changes wait to be written there. `is_answering`:
    searches take their vectors from it. `reason` tells all that in a sentence, `remedy` what to do about it, if
    anything. `next_try_at`: when writing is tried again after a failure.
    """

    is_enabled: bool
    is_healthy: bool | None
    latency_ms: int | None
    error: str | None
    is_answering: bool
    is_paused: bool
    collection: str | None
    alias: str
    embedding: str | None
    dimensions: int | None
    points: int
    total: int
    pending: int
    reason: str
    remedy: str | None
    next_try_at: datetime | None


def change_settings(changes: Mapping[str, Any]) -> None:
    """Save validated changes by wire name. Switching on or off sets the engine selector in the same transaction.

    Switched on, all memories are written to Qdrant in the background; switched off, writing stops at once and what
    is there stays.
    """
    with transaction.atomic():
        was_on = load_qdrant_settings().is_on
        save_qdrant_settings(changes)
        if "enabled" in changes:
            MEMORY_SECTION.write({"vectorStore": "qdrant" if changes["enabled"] else "auto"})
        saved = load_qdrant_settings()
        if saved.is_on and not was_on:
            lifecycle.reopen_active(saved, qdrant_sync.read_head())
        queue.enqueue_vector_sync()
    LAST_HEALTH.clear()


def check_health() -> Health:
    return operations.check_health(load_settings().embedding)


def run_search_test(query: str, top_k: int) -> SearchTest:
    """Search the points of all owners; `top_k` is bounded to 1..20."""
    return operations.run_search_test(query, top_k, load_settings().embedding)


def clean_up() -> Cleanup:
    """Delete points past their expiry or beyond retention (`retentionDays`); the memories stay."""
    settings = load_settings()
    return operations.clean_up(settings.retention_days, timezone.now(), settings.embedding)


def list_embedding_models() -> list[ModelChoice]:
    return list_models(load_settings().embedding)


def read_status() -> QdrantStatus:
    """How it stands, for the Engine page; asks the server, but not more than every few seconds."""
    settings, memory_settings = load_qdrant_settings(), load_settings()
    total = Memory.objects.owned_by(None).count()
    if not settings.enabled:
        return _describe_off(settings, total)
    health = LAST_HEALTH.read(memory_settings.embedding)
    row = _find_row(settings)
    pending = total if row is None else qdrant_sync.count_pending(row)
    paused = BREAKER.find_reason((settings.base_url, settings.api_key)) if settings.host else None
    is_selected = memory_settings.vector_store == "qdrant"
    answering = _find_answering(settings, row) if is_selected and health.is_ok and paused is None else None
    reason, remedy = _judge(health, row, pending, answering, is_selected=is_selected)
    report = health.collection
    return QdrantStatus(
        is_enabled=True,
        is_healthy=health.is_ok,
        latency_ms=health.latency_ms,
        error=health.error,
        is_answering=answering is not None,
        is_paused=paused is not None,
        collection=(row.name if row is not None else "") or None,
        alias=settings.collection,
        embedding=row.signature if row is not None else None,
        dimensions=row.dimensions if row is not None else None,
        points=report.points if report is not None else 0,
        total=total,
        pending=pending,
        reason=reason,
        remedy=remedy,
        next_try_at=row.next_try_at if row is not None and row.failures else None,
    )


def _describe_off(settings: QdrantSettings, total: int) -> QdrantStatus:
    return QdrantStatus(
        is_enabled=False,
        is_healthy=None,
        latency_ms=None,
        error=None,
        is_answering=False,
        is_paused=False,
        collection=None,
        alias=settings.collection,
        embedding=None,
        dimensions=None,
        points=0,
        total=total,
        pending=0,
        reason=_("Qdrant is switched off"),
        remedy=None,
        next_try_at=None,
    )


def _find_row(settings: QdrantSettings) -> Collection | None:
    """The collection to tell about: one that is being filled, else the one that answers."""
    if not settings.host:
        return None
    states = (Collection.State.BUILDING, Collection.State.ACTIVE)
    return next(filter(None, (lifecycle.find_collection(settings, state) for state in states)), None)


def _find_answering(settings: QdrantSettings, row: Collection | None) -> Collection | None:
    """The collection that searches are answered from: the one before, while `row` is filled beside it."""
    active = lifecycle.find_collection(settings, Collection.State.ACTIVE) if settings.host else None
    is_blocked = any(it is not None and it.is_blocked for it in (row, active))
    return None if is_blocked or active is None or not active.is_created else active


def _judge(
    health: Health, row: Collection | None, pending: int, answering: Collection | None, *, is_selected: bool
) -> tuple[str, str | None]:
    """A sentence on how it stands, and one on what to do, if anything."""
    if row is not None and row.is_blocked:
        return row.fault, REMEDY
    if health.error is not None:
        return (
            health.error,
            _("see that the server runs and that host, port and API key are right; SQLite answers meanwhile"),
        )
    resolution = resolve(qdrant_sync.choose_config())
    if not resolution.is_available:
        return qdrant_sync.tell_no_embedding(resolution), _("choose another embeddingModel, such as memory")
    if row is None:
        return _("nothing has been written yet"), None
    if row.fault:
        return row.fault, _("writing is tried again by itself")
    if row.state == Collection.State.BUILDING:
        return join_words("; ", (_tell_filling(row, pending), _name_answerer(answering))), None
    told = (
        _tell_pending(pending) if pending else _("the collection for %(model)s is current") % {"model": row.signature}
    )
    if not is_selected:
        told = _("%(state)s, but vectorStore is not qdrant, so searches go elsewhere") % {"state": told}
        return told, _("set vectorStore to qdrant")
    return told, None


def _tell_filling(row: Collection, pending: int) -> str:
    # One form in English, more in other languages.
    told = ngettext(
        "the collection for %(model)s is being filled, %(count)d changes are left",
        "the collection for %(model)s is being filled, %(count)d changes are left",
        pending,
    )
    return told % {"model": row.signature, "count": pending}


def _tell_pending(pending: int) -> str:
    told = ngettext("%(count)d changes are on their way", "%(count)d changes are on their way", pending)
    return told % {"count": pending}


def _name_answerer(answering: Collection | None) -> str:
    if answering is None:
        return _("SQLite answers meanwhile")
    return _("that for %(model)s answers meanwhile") % {"model": answering.signature}
