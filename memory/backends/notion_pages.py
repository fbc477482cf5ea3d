"""A memory as a page of a Notion database: its properties, within the sizes that Notion's API takes. Pure."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from core.words import gettext as _
from memory.backends.base import BackendError
from memory.backends.drafts import claim_for_operator
from memory.backends.narrowing import derive_memory_id
from memory.backends.obsidian_notes import digest
from memory.records import MEMORY_TYPES, MemoryRecord

# Properties beside the title, which is the key: name -> kind, as a database's schema has them.
PROPERTIES: Final = {
    "Content": "rich_text",
    "Owner": "rich_text",
    "Session": "rich_text",
    "Type": "select",
    "Created": "date",
    "Updated": "date",
    "Expires": "date",
    "Memory ID": "rich_text",
    "Record": "rich_text",
}
# One text object of a rich text, in UTF-16 units, and how many of them a rich text may have.
MAX_PIECE_UNITS: Final = 2000
MAX_PIECES: Final = 100
# Notion shows dates by the minute; what was exact before is told by "Record".
DATE_PRECISION: Final = timedelta(minutes=1)


def write_schema(names: list[str]) -> dict[str, Any]:
    """Definitions of the properties, for an update of the database."""
    options = [{"name": name} for name in MEMORY_TYPES]
    return {name: {"select": {"options": options}} if name == "Type" else {PROPERTIES[name]: {}} for name in names}


def write_properties(record: MemoryRecord, title: str) -> dict[str, Any]:
    """Every property of the page. Raises `BackendError` for a text longer than a property holds."""
    exact = {
        "metadata": dict(record.metadata),
        "created": record.created_at.isoformat(),
        "updated": record.updated_at.isoformat(),
        "expires": None if record.expires_at is None else record.expires_at.isoformat(),
        "checksum": digest(record.content),
    }
    return {
        title: {"title": write_text(record.key)},
        "Content": {"rich_text": write_text(record.content)},
        "Owner": {"rich_text": write_text(record.owner)},
        "Session": {"rich_text": write_text(record.session_id)},
        "Type": {"select": {"name": record.type}},
        "Created": {"date": _write_date(record.created_at)},
        "Updated": {"date": _write_date(record.updated_at)},
        "Expires": {"date": _write_date(record.expires_at)},
        "Memory ID": {"rich_text": write_text(record.id)},
        "Record": {"rich_text": write_text(json.dumps(exact, ensure_ascii=False))},
    }


def read_page(page: Any, title: str) -> MemoryRecord | None:
    """The memory of a page; None for one without content, or in the bin.

    A page that a person has made has no id of ours: its own is taken, and its own times.
    """
    if not isinstance(page, Mapping) or not isinstance(page.get("properties"), Mapping):
        raise BackendError(_("Notion answered a page that can't be read"), code="backend_bad_answer")
    properties, page_id = page["properties"], str(page.get("id") or "")
    content = _read_text(properties, "Content")
    if page.get("archived") is True or page.get("in_trash") is True or not (content and page_id):
        return None
    exact = _read_exact(_read_text(properties, "Record"))
    kind = _read_select(properties, "Type") or "factual"
    if kind not in MEMORY_TYPES:
        return None
    created_at = _read_date(properties, "Created", exact) or _parse(page.get("created_time"))
    updated_at = _read_date(properties, "Updated", exact) or _parse(page.get("last_edited_time"))
    fallback = created_at or updated_at or datetime.now(UTC)
    id, metadata = _read_text(properties, "Memory ID") or page_id, exact.get("metadata")
    record = MemoryRecord(
        memory_id=derive_memory_id(id),
        id=id,
        owner=_read_text(properties, "Owner"),
        session_id=_read_text(properties, "Session"),
        type=kind,
        key=_read_text(properties, title),
        content=content,
        metadata=metadata if isinstance(metadata, dict) else {},
        created_at=created_at or fallback,
        updated_at=updated_at or fallback,
        expires_at=_read_date(properties, "Expires", exact),
    )
    if exact.get("checksum") in (None, digest(content)):
        return record
    edited_at = _parse(page.get("last_edited_time")) or record.updated_at
    return claim_for_operator(replace(record, updated_at=edited_at))


def write_text(text: str) -> list[dict[str, Any]]:
    """A rich text: as many text objects as the text needs."""
    pieces = [{"type": "text", "text": {"content": piece}} for piece in split_text(text)]
    if len(pieces) > MAX_PIECES:
        raise BackendError(
            _("Notion keeps at most %(count)d characters in a property") % {"count": MAX_PIECES * MAX_PIECE_UNITS},
            code="backend_too_large",
            is_lasting=True,
        )
    return pieces


def split_text(text: str) -> Iterator[str]:
    """Pieces of at most MAX_PIECE_UNITS UTF-16 units, none of which cuts a character."""
    start, units = 0, 0
    for position, character in enumerate(text):
        width = 2 if ord(character) > 0xFFFF else 1
        if units + width > MAX_PIECE_UNITS:
            yield text[start:position]
            start, units = position, 0
        units += width
    if start < len(text):
        yield text[start:]


def find_title(schema: Mapping[str, Any]) -> str:
    """The name of the database's title property, which is called as its makers liked."""
    for name, definition in schema.items():
        if isinstance(definition, Mapping) and definition.get("type") == "title":
            return str(name)
    raise BackendError(_("The Notion database has no title property"), code="backend_bad_answer")


def _read_text(properties: Mapping[str, Any], name: str) -> str:
    value = properties.get(name)
    pieces = value.get("title", value.get("rich_text")) if isinstance(value, Mapping) else None
    if not isinstance(pieces, list):
        return ""
    return "".join(str(piece.get("plain_text", "")) for piece in pieces if isinstance(piece, Mapping))


def _read_select(properties: Mapping[str, Any], name: str) -> str:
    value = properties.get(name)
    choice = value.get("select") if isinstance(value, Mapping) else None
    return str(choice.get("name", "")) if isinstance(choice, Mapping) else ""


def _read_exact(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _read_date(properties: Mapping[str, Any], name: str, exact: Mapping[str, Any]) -> datetime | None:
    """The date of a property, to the microsecond where nobody has changed it since."""
    value = properties.get(name)
    date = value.get("date") if isinstance(value, Mapping) else None
    shown = _parse(date.get("start")) if isinstance(date, Mapping) else None
    kept = _parse(exact.get(name.lower()))
    if shown is None or kept is None:
        return shown
    return kept if abs(kept - shown) < DATE_PRECISION else shown


def _write_date(moment: datetime | None) -> dict[str, str] | None:
    return None if moment is None else {"start": moment.astimezone(UTC).isoformat(timespec="milliseconds")}


def _parse(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
