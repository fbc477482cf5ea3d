"""Bring a fallback up to date with the primary, memory by memory; what the jobs of `memory.backends.mirroring` do."""

from datetime import timedelta
from typing import Any, Final

import structlog
from django.db import transaction
from django.utils import timezone

from core.words import gettext as _
from memory import queue
from memory.backends.base import BackendError, MemoryBackend
from memory.backends.manager import get_backend, get_primary
from memory.backends.mirroring import Touched, read_touched, write_touched
from memory.backends.routes import read_routes
from memory.records import MemoryRecord

log = structlog.get_logger(__name__)

MAX_WAIT_SECONDS: Final = 900
# How often a memory is written again because it was changed while it was being written.
MAX_ROUNDS: Final = 5


def mirror(payload: dict[str, Any]) -> None:
    """Bring the fallback of the job up to date. Safe to run twice.

    While a side can't be reached the rest waits in a job of its own, for as long as the backend is a fallback. A memory
    that the fallback refuses does not hold up the others; at the end it fails the job, which tells an operator.
    """
    fallback_id = payload["backend"]
    memories = read_touched(payload["memories"])
    refused: BackendError | None = None
    for position, touched in enumerate(memories):
        if fallback_id not in read_routes().fallbacks:
            log.info("memory.backends.mirroring_dropped", backend=fallback_id, memories=len(memories) - position)
            return
        try:
            mirror_one(get_primary(), get_backend(fallback_id), touched)
        except BackendError as error:
            if not error.is_lasting:
                _put_off(fallback_id, memories[position:], payload.get("tries", 0) + 1, error.message)
                return
            refused = error
            log.warning("memory.backends.mirroring_refused", backend=fallback_id, reason=error.message)
    if refused is not None:
        raise refused


def mirror_one(primary: MemoryBackend, fallback: MemoryBackend, touched: Touched) -> None:
    """Make what the fallback has of one memory what the primary has of it now."""
    for _round in range(MAX_ROUNDS):
        record = primary.get(touched.id)
        if record is None:
            _forget(primary, fallback, touched)
        else:
            _put(primary, fallback, record, touched)
        after = primary.get(touched.id)
        # Two jobs may have crossed: whoever wrote last looks again whether that is still the truth.
        if after == record:
            return
    raise BackendError(_("The memory is changed faster than it can be copied"), code="backend_busy")


def _put(primary: MemoryBackend, fallback: MemoryBackend, record: MemoryRecord, touched: Touched) -> None:
    _write(fallback, record)
    if touched.key and touched.key != record.key and primary.find_by_key(touched.owner, touched.key) is None:
        # A backend that gives out its own ids still has it under the key of before.
        stale = fallback.find_by_key(touched.owner, touched.key)
        if stale is not None and stale.id != record.id:
            fallback.delete(stale.id)


def _forget(primary: MemoryBackend, fallback: MemoryBackend, touched: Touched) -> None:
    if fallback.delete(touched.id) or not touched.key:
        return
    copy = fallback.find_by_key(touched.owner, touched.key)
    if copy is None:
        return
    heir = primary.find_by_key(touched.owner, touched.key)
    if heir is None:
        fallback.delete(copy.id)
    else:
        _write(fallback, heir)


def _write(fallback: MemoryBackend, record: MemoryRecord) -> None:
    if not fallback.is_local:
        fallback.put(record)
        return
    with transaction.atomic():
        fallback.put(record)
        queue.enqueue_indexing()


def _put_off(fallback_id: str, memories: list[Touched], tries: int, reason: str) -> None:
    wait = timedelta(seconds=min(2**tries, MAX_WAIT_SECONDS))
    queue.enqueue_mirroring(fallback_id, write_touched(memories), tries=tries, run_at=timezone.now() + wait)
    log.warning("memory.backends.mirroring_put_off", backend=fallback_id, seconds=wait.total_seconds(), reason=reason)
