"""The only writers of memories. Doors validate, services decide, backends store."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from django.db import transaction

from core.errors import FieldError, InvalidFieldsError, NotFoundError
from core.words import gettext as _
from memory import indexing, queue
from memory.backends import restoring
from memory.backends.base import BackendError, MemoryBackend, MemoryChanges
from memory.backends.configuration import seal_configs
from memory.backends.manager import MANAGER, get_primary
from memory.config import MEMORY_SECTION
from memory.extraction import Fact
from memory.records import MemoryDraft, MemoryFilter, MemoryRecord
from memory.vector_stores import lifecycle, qdrant_sync

USER_SOURCE = "user_message"
ASSISTANT_SOURCE = "llm_response"
# `metadata.source` of a memory whose text a person has written or rewritten; its content is injected as it stands.
OPERATOR_SOURCE = "operator"
# Settings that may name a local model which is not on this machine yet.
MODEL_SETTINGS = {"embeddingSource", "staticEnabled", "transformersEnabled", "rerankEnabled", "rerankProviderModel"}
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class ReindexStart:
    """`pending` memories wait for their vectors; `reason` says why no job was queued for those of this database.

    `qdrant_pending` are those to be written to Qdrant, None while that is off.
    """

    is_queued: bool
    pending: int
    reason: str | None = None
    qdrant_pending: int | None = None


def create(draft: MemoryDraft) -> MemoryRecord:
    """Store a memory, or update the owner's memory of that key (its id and `created_at` stay)."""
    backend = get_primary()
    return _write(backend, lambda: backend.create(_claim_draft(backend, draft)))


def update(id: str, changes: MemoryChanges) -> MemoryRecord:
    """Change a memory. `NotFoundError` when it isn't there, `ConflictError` when its owner has the key elsewhere."""
    backend = get_primary()
    record = backend.get(id)
    if record is None:
        raise NotFoundError(_("Memory not found"))
    if changes.is_empty:
        return record
    changed = _write(backend, lambda: backend.update(id, _claim_authorship(record, changes)))
    if changed is None:
        raise NotFoundError(_("Memory not found"))
    return changed


def restore(records: Sequence[MemoryRecord]) -> list[MemoryRecord]:
    """Store memories with the ids and times they have, in this order, for one batch of an import.

    `memory_id` 0 makes a new one; the others are those of the memories to overwrite, of the same owner.
    """
    backend = get_primary()
    if not backend.is_local:
        for record in records:
            backend.put(record)
        return list(records)
    with transaction.atomic():
        new = iter(restoring.insert([record for record in records if not record.memory_id]))
        changed = restoring.overwrite([record for record in records if record.memory_id])
        by_memory_id = {record.memory_id: record for record in changed}
        if records:
            queue.enqueue_indexing()
        return [by_memory_id[it.memory_id] if it.memory_id else next(new) for it in records]


def delete(id: str) -> None:
    """Delete a memory; `NotFoundError` when it isn't there."""
    if not get_primary().delete(id):
        raise NotFoundError(_("Memory not found"))


def clear(filter: MemoryFilter, *, older_than: datetime | None = None) -> int:
    """Delete every memory that matches and return how many there were."""
    return get_primary().delete_matching(filter, older_than=older_than)


def change_settings(changes: Mapping[str, Any]) -> None:
    """Save memory settings, validated before, by wire name. Another embedding has its index built from then on.

    Secrets in `backendConfigs` are stored apart. `InvalidFieldsError` for a primary backend that isn't configured.
    """
    with transaction.atomic():
        if "backendConfigs" in changes:
            changes = {**changes, "backendConfigs": seal_configs(changes["backendConfigs"], MANAGER.load_all_fields())}
        MEMORY_SECTION.write(changes)
        if "primaryBackend" in changes:
            _see_that_it_opens(changes["primaryBackend"])
        if MODEL_SETTINGS & changes.keys():
            queue.enqueue_fetching()
        queue.enqueue_indexing()


def start_reindex(*, is_forced: bool) -> ReindexStart:
    """Ask for a reindex where one can be done, else leave everything as it is and say why not."""
    obstacle = indexing.find_obstacle()
    qdrant_pending = qdrant_sync.request_reindex(is_forced=is_forced)
    if obstacle is not None:
        return ReindexStart(qdrant_pending is not None, indexing.count_pending(), obstacle, qdrant_pending)
    return ReindexStart(True, request_reindex(is_forced=is_forced), qdrant_pending=qdrant_pending)


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
    if stored is not None and outweighs(stored.metadata, source, said):
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


def outweighs(stored: Mapping[str, Any], source: str, said: str) -> bool:
    """Whether the metadata of a stored memory weighs more than a fact of that source, said then (ISO 8601)."""
    stored_source = stored.get("source")
    if source == ASSISTANT_SOURCE and stored_source != ASSISTANT_SOURCE:
        return True
    return stored_source == source and str(stored.get("extractedAt", "")) > said


def _write(backend: MemoryBackend, write: Callable[[], _Result]) -> _Result:
    """Rows and their index job in one transaction; another backend's call goes over a network and stands in none."""
    if not backend.is_local:
        return write()
    with transaction.atomic():
        result = write()
        queue.enqueue_indexing()
    return result


def _see_that_it_opens(backend_id: str) -> None:
    try:
        MANAGER.open(backend_id)
    except BackendError as error:
        raise InvalidFieldsError([FieldError("primaryBackend", error.message)]) from None


def _claim_draft(backend: MemoryBackend, draft: MemoryDraft) -> MemoryDraft:
    """A client that writes over an extracted fact says its own words, which must not be told as the user's claim."""
    if not draft.key or "source" in draft.metadata:
        return draft
    stored = backend.find_by_key(draft.owner, draft.key)
    if stored is None or not _is_extracted(stored) or stored.content == draft.content:
        return draft
    return replace(draft, metadata={**draft.metadata, "source": OPERATOR_SOURCE})


def _is_extracted(record: MemoryRecord) -> bool:
    return record.metadata.get("source") in (USER_SOURCE, ASSISTANT_SOURCE)


def _claim_authorship(record: MemoryRecord, changes: MemoryChanges) -> MemoryChanges:
    """An extracted fact whose text a person rewrites is that person's from then on, and no longer a quoted fact."""
    if changes.metadata is not None or changes.content in (None, record.content) or not _is_extracted(record):
        return changes
    return replace(changes, metadata={**record.metadata, "source": OPERATOR_SOURCE})
