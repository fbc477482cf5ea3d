"""Memories as a REST service tells them, and as it is told them: the field names of our own API."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from django.utils import timezone

from core.words import gettext as _
from memory.backends.base import BackendError
from memory.backends.narrowing import derive_memory_id
from memory.records import MEMORY_TYPES, MemoryRecord, MemoryType

# Where services put the list, and the one memory, of an answer.
_LIST_FIELDS: Final = ("data", "memories", "results", "items")
_ITEM_FIELDS: Final = ("memory", "data", "id", "result")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def write_fields(record: MemoryRecord) -> dict[str, Any]:
    """What may be set of a memory."""
    return {
        "apiKeyId": record.owner,
        "sessionId": record.session_id,
        "type": record.type,
        "key": record.key,
        "content": record.content,
        "metadata": dict(record.metadata),
        "expiresAt": None if record.expires_at is None else write_moment(record.expires_at),
    }


def write_difference(record: MemoryRecord, stored: MemoryRecord) -> dict[str, Any]:
    """Those fields that must change to make `stored` into the record."""
    before = write_fields(stored)
    return {name: value for name, value in write_fields(record).items() if value != before[name]}


def write_moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read_list(answer: Any, peer: str) -> list[tuple[MemoryRecord, float | None]]:
    """The memories of an answer in its order, each with its score if it has one."""
    if isinstance(answer, Mapping):
        answer = next((answer[name] for name in _LIST_FIELDS if isinstance(answer.get(name), list)), None)
    if not isinstance(answer, list):
        raise BackendError(_("%(peer)s answered no list of memories") % {"peer": peer}, code="backend_bad_answer")
    return [(read_memory(item, peer), _read_score(item)) for item in answer]


def read_item(answer: Any, peer: str) -> MemoryRecord | None:
    """The memory of an answer about one, None when it tells none."""
    if not isinstance(answer, Mapping):
        return None
    if "content" not in answer:
        wrapped: Iterable[Any] = (answer.get(name) for name in _ITEM_FIELDS)
        answer = next((item for item in wrapped if isinstance(item, Mapping)), None)
    return None if answer is None else read_memory(answer, peer)


def read_memory(item: Any, peer: str) -> MemoryRecord:
    """One memory; raises `BackendError` that says which field can't be read."""
    if not isinstance(item, Mapping):
        raise BackendError(
            _("%(peer)s answered a memory that is no object") % {"peer": peer}, code="backend_bad_answer"
        )
    id = item.get("id")
    id = str(id) if isinstance(id, int) and not isinstance(id, bool) else id
    content, kind = item.get("content"), item.get("type") or "factual"
    if not isinstance(id, str) or not id:
        raise _refuse(peer, "id")
    if not isinstance(content, str):
        raise _refuse(peer, "content")
    if kind not in MEMORY_TYPES:
        raise _refuse(peer, "type")
    created_at = _read_moment(item, "createdAt", peer)
    updated_at = _read_moment(item, "updatedAt", peer) or created_at or timezone.now()
    return MemoryRecord(
        memory_id=derive_memory_id(id),
        id=id,
        owner=_read_text(item, "apiKeyId", peer),
        session_id=_read_text(item, "sessionId", peer),
        type=cast(MemoryType, kind),
        key=_read_text(item, "key", peer),
        content=content,
        metadata=_read_metadata(item.get("metadata")),
        created_at=created_at or updated_at,
        updated_at=updated_at,
        expires_at=_read_moment(item, "expiresAt", peer),
    )


def _read_text(item: Mapping[str, Any], name: str, peer: str) -> str:
    value = item.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _refuse(peer, name)
    return value


def _read_moment(item: Mapping[str, Any], name: str, peer: str) -> datetime | None:
    """ISO 8601 (no zone means UTC) or milliseconds since 1970."""
    value = item.get(name)
    if value is None or value == "":
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _EPOCH + timedelta(milliseconds=value)
        moment = datetime.fromisoformat(value)
    except (ValueError, TypeError, OverflowError):
        raise _refuse(peer, name) from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _read_metadata(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return dict(value) if isinstance(value, Mapping) else {}


def _read_score(item: Any) -> float | None:
    score = item.get("score") if isinstance(item, Mapping) else None
    return float(score) if isinstance(score, int | float) and not isinstance(score, bool) else None


def _refuse(peer: str, name: str) -> BackendError:
    told = _("%(peer)s answered a memory whose %(field)s can't be read") % {"peer": peer, "field": name}
    return BackendError(told, code="backend_bad_answer")
