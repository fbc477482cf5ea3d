"""From what a file says to what may be stored: every row is checked here, whatever its format."""

import hashlib
import json
import math
import re
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, cast

from core.errors import AppError
from core.fields import parse_moment
from core.json_body import find_unstorable_text, fits_depth, is_storable
from core.words import gettext as _
from memory.backends.drafts import MAX_METADATA_BYTES
from memory.extraction import Fact
from memory.models import HEALTH_CHECK_OWNER
from memory.records import MEMORY_TYPES, MemoryType

MAX_CONTENT_CHARACTERS: Final = 100_000
MAX_KEY_CHARACTERS: Final = 512
MAX_ID_CHARACTERS: Final = 256
MAX_METADATA_DEPTH: Final = 40
# A number this small counts seconds since 1970, a larger one milliseconds: the border is the year 5138 or 1973.
MAX_EPOCH_SECONDS: Final = 1e11
UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
# What an id that another owner's memory has is exchanged for: always the same for the same owner.
ID_NAMESPACE: Final = uuid.UUID("6f4be27c-9c5c-4e0e-9a5f-3b1d7d0c8f11")
SHOWN_CHARACTERS: Final = 80


@dataclass(frozen=True, slots=True)
class ForeignMemory:
    """What one row of a file says, unchecked. None = it doesn't say. A `fact` was taken out of a conversation."""

    content: Any
    key: Any = None
    type: Any = None
    session_id: Any = None
    metadata: Any = None
    created_at: Any = None
    updated_at: Any = None
    expires_at: Any = None
    id: Any = None
    owner: Any = None
    tells_expiry: bool = False
    fact: Fact | None = None


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that can't be read, or that is sound but not to be imported."""

    reason: str
    key: str = ""
    outcome: Literal["invalid", "left_out"] = "invalid"


@dataclass(frozen=True, slots=True)
class ImportRow:
    """A sound row; None = the file doesn't say. `id` is a UUID or None, `named_owner` whom the file names."""

    number: int
    content: str
    key: str
    type: MemoryType | None
    session_id: str | None
    metadata: Mapping[str, Any] | None
    created_at: datetime | None
    updated_at: datetime | None
    expires_at: datetime | None
    tells_expiry: bool
    id: str | None
    named_owner: str
    fact: Fact | None = None


@dataclass
class Reading:
    """What a reader finds out by the way. `is_intact`: whether the file's checksum is right, None without one."""

    reads_conversations: bool = False
    conversations: int = 0
    messages: int = 0
    broken_metadata: int = 0
    in_future: int = 0
    is_intact: bool | None = None
    damage: str = ""
    owners: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)


class BadRowError(AppError):
    """Why a row can't be stored, in words for whoever made the file."""

    status = 400


def check_row(foreign: ForeignMemory, number: int, now: datetime, reading: Reading) -> ImportRow:
    """Return the row as it may be stored; BadRowError says what is wrong with it."""
    content = _check_text(foreign.content, "content", MAX_CONTENT_CHARACTERS)
    if not content.strip():
        raise BadRowError(_("content is empty"))
    memory_id = _read_id(foreign.id)
    return ImportRow(
        number=number,
        content=content,
        key=_read_key(foreign, content, memory_id),
        type=_read_type(foreign.type),
        session_id=_check_optional(foreign.session_id, "sessionId", MAX_ID_CHARACTERS),
        metadata=_read_metadata(foreign.metadata),
        created_at=_read_past(foreign.created_at, "createdAt", now, reading),
        updated_at=_read_past(foreign.updated_at, "updatedAt", now, reading),
        expires_at=_read_moment(foreign.expires_at, "expiresAt"),
        tells_expiry=foreign.tells_expiry,
        id=memory_id,
        named_owner=_read_owner(foreign.owner),
        fact=foreign.fact,
    )


def name_row(foreign: ForeignMemory) -> str:
    """Return what a row is called in a report: its key, or how its content begins."""
    for value in (foreign.key, foreign.content):
        if isinstance(value, str) and value.strip():
            return shorten(value)
    return ""


def shorten(text: str) -> str:
    """Return the beginning of a text on one line, fit to be shown."""
    line = " ".join(text[: SHOWN_CHARACTERS * 2].split())
    line = "".join(character for character in line if is_storable(character))
    return line if len(line) <= SHOWN_CHARACTERS else f"{line[: SHOWN_CHARACTERS - 1]}…"


def read_epoch(value: Any) -> Any:
    """Return the moment that a number of seconds or milliseconds tells; what is no number stays as it is."""
    if isinstance(value, str) and re.fullmatch(r"\d{9,13}(\.\d+)?", value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return value
    seconds = value if abs(value) < MAX_EPOCH_SECONDS else value / 1000
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except OverflowError:
        return value


def make_key(prefix: str, *parts: str) -> str:
    """Return a key that is always the same for the same parts."""
    digest = hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{prefix}:{digest[:32]}"


def exchange_id(owner: str, memory_id: str) -> str:
    """Return the id that a memory gets for this owner when its own is another owner's."""
    return str(uuid.uuid5(ID_NAMESPACE, f"{owner}\x1f{memory_id}"))


def _read_key(foreign: ForeignMemory, content: str, memory_id: str | None) -> str:
    key = _check_optional(foreign.key, "key", MAX_KEY_CHARACTERS)
    if key and key.strip():
        return key
    # Without a key but with an id it is found again by its id; without both, by what it says.
    return "" if memory_id is not None else make_key("import", content)


def _read_type(value: Any) -> MemoryType | None:
    if value is None or value == "":
        return None
    if value not in MEMORY_TYPES:
        shown = shorten(value) if isinstance(value, str) else type(value).__name__
        told = _("type is %(type)r; it must be one of %(names)s") % {"type": shown, "names": ", ".join(MEMORY_TYPES)}
        raise BadRowError(told)
    return cast(MemoryType, value)


def _read_owner(value: Any) -> str:
    owner = _check_optional(value, "apiKeyId", MAX_ID_CHARACTERS) or ""
    if owner == HEALTH_CHECK_OWNER:
        raise BadRowError(_("it belongs to the self-test"))
    return owner


def _read_id(value: Any) -> str | None:
    text = value.lower() if isinstance(value, str) else ""
    return text if UUID.fullmatch(text) else None


def _read_metadata(value: Any) -> Mapping[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise BadRowError(_("metadata is no object"))
    if not fits_depth(value, MAX_METADATA_DEPTH):
        raise BadRowError(_("metadata is nested more than %(count)d levels deep") % {"count": MAX_METADATA_DEPTH})
    if find_unstorable_text(value) is not None:
        raise BadRowError(_("metadata holds NUL characters or broken surrogate pairs"))
    if not all(_is_finite(number) for number in _walk(value)):
        raise BadRowError(_("metadata holds a number that is not finite, or too long"))
    if len(json.dumps(value, ensure_ascii=False).encode()) > MAX_METADATA_BYTES:
        raise BadRowError(_("metadata is larger than %(bytes)d bytes") % {"bytes": MAX_METADATA_BYTES})
    return value


def _walk(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _walk(item)
    else:
        yield value


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _read_moment(value: Any, name: str) -> datetime | None:
    if value is None or value == "":
        return None
    moment = value if isinstance(value, datetime) else parse_moment(value)
    if moment is None:
        raise BadRowError(_("%(field)s is no date or time") % {"field": name})
    return moment


def _read_past(value: Any, name: str, now: datetime, reading: Reading) -> datetime | None:
    """A moment that is still to come is taken for not told: then nobody can have written anything."""
    moment = _read_moment(value, name)
    if moment is not None and moment > now:
        reading.in_future += 1
        return None
    return moment


def _check_optional(value: Any, name: str, max_characters: int) -> str | None:
    return None if value is None else _check_text(value, name, max_characters)


def _check_text(value: Any, name: str, max_characters: int) -> str:
    if value is None:
        raise BadRowError(_("%(field)s is missing") % {"field": name})
    if not isinstance(value, str):
        raise BadRowError(_("%(field)s is no text") % {"field": name})
    if len(value) > max_characters:
        told = _("%(field)s has %(count)d characters, more than %(maximum)d")
        raise BadRowError(told % {"field": name, "count": len(value), "maximum": max_characters})
    if not is_storable(value):
        raise BadRowError(_("%(field)s holds NUL characters or broken characters") % {"field": name})
    return value
