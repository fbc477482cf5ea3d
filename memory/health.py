"""A self-test of the way a fact takes: out of a sentence, into the store, back out of a list."""

import time
import uuid
from dataclasses import dataclass
from typing import Final

import structlog
from django.db import DatabaseError, transaction

from core.errors import AppError
from core.words import gettext as _
from memory import services
from memory.backends.manager import get_primary
from memory.extraction import extract_facts
from memory.models import HEALTH_CHECK_OWNER
from memory.records import MemoryDraft, MemoryFilter

log = structlog.get_logger(__name__)

SAMPLE: Final = "I prefer green tea in the afternoon."


@dataclass(frozen=True)
class Verdict:
    """`error` says what went wrong, None when all worked."""

    latency_ms: int
    error: str | None = None

    @property
    def is_working(self) -> bool:
        return self.error is None


def verify_pipeline() -> Verdict:
    """Run the test; it leaves no row, and any number may run at once."""
    started = time.perf_counter()
    try:
        error = _try_pipeline()
    except (AppError, DatabaseError) as failure:
        log.warning("memory.health.failed", exc_info=True)
        error = _("The test memory could not be stored (%(kind)s)") % {"kind": type(failure).__name__}
    return Verdict(round((time.perf_counter() - started) * 1000), error)


def _try_pipeline() -> str | None:
    facts = extract_facts(SAMPLE, "user")
    if not facts:
        return _("No fact was found in the test sentence")
    # A key of its own, so that tests at the same time can't take each other's memory for theirs.
    key = f"{facts[0].key}:{uuid.uuid4()}"
    draft = MemoryDraft(HEALTH_CHECK_OWNER, key, facts[0].content, facts[0].memory_type)
    is_listed = _try_rows(draft) if get_primary().is_local else _try_service(draft)
    return None if is_listed else _("The test memory was stored but is not listed")


def _try_rows(draft: MemoryDraft) -> bool:
    with transaction.atomic():
        is_listed = _is_listed(services.create(draft).id)
        transaction.set_rollback(True)
    return is_listed


def _try_service(draft: MemoryDraft) -> bool:
    """Another backend knows no transaction: what was stored is deleted again, whatever happens."""
    stored = services.create(draft)
    try:
        return _is_listed(stored.id)
    finally:
        services.delete(stored.id)


def _is_listed(memory_id: str) -> bool:
    page = get_primary().list(MemoryFilter(HEALTH_CHECK_OWNER), limit=100, offset=0)
    return any(record.id == memory_id for record in page.records)
