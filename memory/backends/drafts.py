"""What a memory becomes when a draft or changes meet what is stored: the rules that every backend follows. Pure."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from core.errors import FieldError, InvalidFieldsError
from core.words import gettext as _
from memory.backends.base import MemoryChanges
from memory.backends.narrowing import derive_memory_id
from memory.records import MemoryDraft, MemoryRecord

# Twice what one request may send.
MAX_METADATA_BYTES: Final = 128 * 1024
# `metadata.source` of facts that were taken out of a conversation, and of a text that a person has written over one.
EXTRACTED_SOURCES: Final = ("user_message", "llm_response")
OPERATOR_SOURCE: Final = "operator"


def merge_metadata(stored: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """New wins. The result is bounded, or it would grow with every upsert."""
    merged = {**stored, **given}
    if stored and given and len(json.dumps(merged, ensure_ascii=False).encode()) > MAX_METADATA_BYTES:
        message = _("Would make the stored metadata larger than %(bytes)d bytes") % {"bytes": MAX_METADATA_BYTES}
        raise InvalidFieldsError([FieldError("metadata", message)])
    return merged


def apply_draft(draft: MemoryDraft, stored: MemoryRecord | None, now: datetime) -> MemoryRecord:
    """The memory to store for a draft; `stored` is the owner's memory of that key, whose id and creation stay."""
    id = str(uuid.uuid4()) if stored is None else stored.id
    return MemoryRecord(
        memory_id=derive_memory_id(id),
        id=id,
        owner=draft.owner,
        session_id=draft.session_id,
        type=draft.type,
        key=draft.key,
        content=draft.content,
        metadata=merge_metadata({} if stored is None else stored.metadata, draft.metadata),
        created_at=now if stored is None else stored.created_at,
        updated_at=now,
        expires_at=draft.expires_at,
    )


def apply_changes(record: MemoryRecord, changes: MemoryChanges, now: datetime) -> MemoryRecord:
    return replace(
        record,
        type=record.type if changes.type is None else changes.type,
        key=record.key if changes.key is None else changes.key,
        content=record.content if changes.content is None else changes.content,
        metadata=record.metadata if changes.metadata is None else changes.metadata,
        updated_at=now,
    )


def claim_for_operator(record: MemoryRecord) -> MemoryRecord:
    """An extracted fact that a person has rewritten says that person's words, and no longer what was quoted."""
    if record.metadata.get("source") not in EXTRACTED_SOURCES:
        return record
    return replace(record, metadata={**record.metadata, "source": OPERATOR_SOURCE})
