"""The only writers of memories. Doors validate, services decide, backends store."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction

from core.errors import NotFoundError
from memory import indexing, queue
from memory.backends.base import MemoryChanges
from memory.backends.manager import get_primary
from memory.config import MEMORY_SECTION
from memory.extraction import Fact
from memory.records import MemoryDraft, MemoryFilter, MemoryRecord
from memory.vector_stores import lifecycle

USER_SOURCE = "user_message"
ASSISTANT_SOURCE = "llm_response"
# `metadata.source` of a memory whose text a person has written or rewritten; its content is injected as it stands.
OPERATOR_SOURCE = "operator"
# Settings that may name a local model which is not on this machine yet.
MODEL_SETTINGS = {"embeddingSource", "staticEnabled", "transformersEnabled", "rerankEnabled", "rerankProviderModel"}


@dataclass(frozen=True, slots=True)
class ReindexStart:
    """`pending` memories wait for their vectors; `reason` says why no job was queued."""

    is_queued: bool
    pending: int
    reason: str | None = None


def create(draft: MemoryDraft) -> MemoryRecord:
    """Store a memory, or update the owner's memory of that key (its id and `created_at` stay)."""
    with transaction.atomic():
        record = get_primary().create(_claim_draft(draft))
        queue.enqueue_indexing()
    return record


def update(id: str, changes: MemoryChanges) -> MemoryRecord:
    """Change a memory. `NotFoundError` when it isn't there, `ConflictError` when its owner has the key elsewhere."""
    backend = get_primary()
    record = backend.get(id)
    if record is None:
        raise NotFoundError("Memory not found")
    if changes.is_empty:
        return record
    with transaction.atomic():
        changed = backend.update(id, _claim_authorship(record, changes))
        queue.enqueue_indexing()
    if changed is None:
        raise NotFoundError("Memory not found")
    return changed


def delete(id: str) -> None:
    """Delete a memory; `NotFoundError` when it isn't there."""
    if not get_primary().delete(id):
        raise NotFoundError("Memory not found")


def clear(filter: MemoryFilter, *, older_than: datetime | None = None) -> int:
    """Delete every memory that matches and return how many there were."""
    return get_primary().delete_matching(filter, older_than=older_than)


def change_settings(changes: Mapping[str, Any]) -> None:
    """Save memory settings, validated before, by wire name. Another embedding has its index built from then on."""
    with transaction.atomic():
        MEMORY_SECTION.write(changes)
        if MODEL_SETTINGS & changes.keys():
            queue.enqueue_fetching()
        queue.enqueue_indexing()


def start_reindex(*, is_forced: bool) -> ReindexStart:
    """Ask for a reindex where one can be done, else leave everything as it is and say why not."""
    obstacle = indexing.find_obstacle()
    if obstacle is not None:
        return ReindexStart(False, indexing.count_pending(), obstacle)
    return ReindexStart(True, request_reindex(is_forced=is_forced))


def request_reindex(*, is_forced: bool) -> int:
    """Have pending memories indexed, with `is_forced` all of them anew; returns how many are pending."""
    with transaction.atomic():
        if is_forced:
            lifecycle.flag_all()
            queue.enqueue_fetching()
        else:
            lifecycle.allow_retries()
        queue.enqueue_indexing()
    return indexing.count_pending()


def remember_fact(fact: Fact, *, owner: str, session_id: str, source: str, said_at: datetime) -> MemoryRecord | None:
    """Store an extracted fact, the newest word on its key. None when what is stored weighs more.

    Safe to run twice and out of order: a stored fact that was said later stays, and an assistant's words never
    replace what the user said or a person wrote.
    """
    stored = get_primary().find_by_key(owner, fact.key)
    said = said_at.isoformat()
    if stored is not None and _outweighs(stored.metadata, source, said):
        return None
    metadata = {
        "category": fact.category,
        "polarity": fact.polarity,
        "extractedAt": said,
        "source": source,
        "statement": fact.statement,
    }
    if stored is not None and stored.metadata.get("polarity", fact.polarity) != fact.polarity:
        # The user changed their mind: the row says what it said before.
        earlier = ("polarity", "statement", "extractedAt")
        metadata["replaces"] = {name: stored.metadata.get(name) for name in earlier}  # type: ignore[assignment]
    return create(MemoryDraft(owner, fact.key, fact.content, fact.memory_type, session_id, metadata))


def _outweighs(stored: Mapping[str, Any], source: str, said: str) -> bool:
    stored_source = stored.get("source")
    if source == ASSISTANT_SOURCE and stored_source != ASSISTANT_SOURCE:
        return True
    return stored_source == source and str(stored.get("extractedAt", "")) > said


def _claim_draft(draft: MemoryDraft) -> MemoryDraft:
    """A client that writes over an extracted fact says its own words, which must not be told as the user's claim."""
    stored = get_primary().find_by_key(draft.owner, draft.key) if draft.key else None
    if stored is None or not _is_extracted(stored) or "source" in draft.metadata or stored.content == draft.content:
        return draft
    return replace(draft, metadata={**draft.metadata, "source": OPERATOR_SOURCE})


def _is_extracted(record: MemoryRecord) -> bool:
    return record.metadata.get("source") in (USER_SOURCE, ASSISTANT_SOURCE)


def _claim_authorship(record: MemoryRecord, changes: MemoryChanges) -> MemoryChanges:
    """An extracted fact whose text a person rewrites is that person's from then on, and no longer a quoted fact."""
    if changes.metadata is not None or changes.content in (None, record.content) or not _is_extracted(record):
        return changes
    return replace(changes, metadata={**record.metadata, "source": OPERATOR_SOURCE})
