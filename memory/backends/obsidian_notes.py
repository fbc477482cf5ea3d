"""A memory as a note of an Obsidian vault: front matter with its fields, its content as the body. Pure.

Every value is read as text whatever YAML makes of it, because Obsidian's editor writes `key: yes` for the key "yes".
Fields that a person has added to a note are kept as they are written.
"""

import hashlib
import json
import re
import unicodedata
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

import yaml

from memory.backends.drafts import claim_for_operator
from memory.backends.generic_wire import write_moment
from memory.backends.narrowing import derive_memory_id
from memory.records import MEMORY_TYPES, MemoryRecord

# The field by which a note is known as a memory; its value is the memory's id.
ID_FIELD: Final = "omniroute-memory"
OWN_FIELDS: Final = (
    ID_FIELD, "owner", "session", "type", "key", "created", "updated", "expires", "metadata", "checksum",
)  # fmt: skip
MAX_NAME_LENGTH: Final = 60
_FRONT_MATTER: Final = re.compile(r"---[ \t]*\r?\n(.*?)(?:^)---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
# What can stand without quotes and is read as a text by every reader of YAML.
_PLAIN: Final = re.compile(
    r"(?!(?:true|false|yes|no|on|off|null|y|n)\Z)[A-Za-z][A-Za-z0-9._-]*(?: [A-Za-z0-9._-]+)*", re.I
)
# Characters that YAML forbids, or takes for the end of a line.
_SPECIAL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_TOP_LEVEL_KEY: Final = re.compile(r"(?=^[^\s#-][^\n]*?:)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Note:
    """`foreign` is the text of the front matter that is not ours."""

    record: MemoryRecord
    foreign: str


class _PlainLoader(yaml.BaseLoader):
    """Builds nothing but texts, lists and dicts: no tag, no type, and nothing that stands for a part of the note, since
    a few lines of that can grow without end."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)


def write_note(record: MemoryRecord, foreign: str = "") -> str:
    """The whole text of the note."""
    fields = {
        ID_FIELD: record.id,
        "owner": record.owner,
        "session": record.session_id,
        "type": record.type,
        "key": record.key,
        "created": _write_exactly(record.created_at),
        "updated": _write_exactly(record.updated_at),
        "expires": "" if record.expires_at is None else _write_exactly(record.expires_at),
        "metadata": _escape(json.dumps(dict(record.metadata), ensure_ascii=False, sort_keys=True)),
        "checksum": digest(record.content),
    }
    own = "".join(f"{name}: {_write_scalar(value)}\n" for name, value in fields.items())
    return f"---\n{own}{foreign}---\n{record.content}"


def read_note(text: str, modified_at: datetime | None = None) -> Note | None:
    """The memory of a note's text; None for a note that is no memory.

    `modified_at` is when the file was changed; it counts where somebody has changed the content by hand.
    """
    match = _FRONT_MATTER.match(text)
    fields = None if match is None else _load_fields(match[1])
    if match is None or fields is None or not fields.get(ID_FIELD):
        return None
    content = text[match.end() :]
    record = _make_record(fields, content)
    if record is None:
        return None
    if fields.get("checksum") not in (None, "", digest(content)):
        record = replace(record, updated_at=modified_at or record.updated_at)
        record = claim_for_operator(record)
    return Note(record, _keep_foreign(match[1]))


def is_edited(text: str) -> bool:
    """True when somebody has changed the content since we wrote it."""
    match = _FRONT_MATTER.match(text)
    fields = None if match is None else _load_fields(match[1])
    return bool(match and fields and fields.get("checksum") not in (None, "", digest(text[match.end() :])))


def name_folder(owner: str) -> str:
    """The folder of an owner's notes: readable, and apart from every other owner's."""
    return f"{_make_slug(owner, 'shared')}-{_hash(owner, 8)}"


def name_file(record: MemoryRecord) -> str:
    """The file of a memory: by its key where it has one, so that the same key is the same file for every writer."""
    if not record.key:
        return f"memory-{record.id}.md"
    return name_file_of_key(record.owner, record.key)


def name_file_of_key(owner: str, key: str) -> str:
    identity = "\0".join((owner, key))
    return f"{_make_slug(key, 'memory')}-{_hash(identity, 12)}.md"


def digest(content: str) -> str:
    return _hash(content, 16)


def _write_scalar(text: str) -> str:
    """The text as one line of YAML, quoted unless it is plain."""
    if _PLAIN.fullmatch(text):
        return text
    if _SPECIAL.search(text):
        return _escape(json.dumps(text, ensure_ascii=False))
    return "'" + text.replace("'", "''") + "'"


def _escape(written: str) -> str:
    """JSON in which special characters are spelled as escapes, which YAML's double quotes read the same way."""
    return _SPECIAL.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


def _load_fields(text: str) -> dict[str, Any] | None:
    """Front matter as texts, lists and objects of texts; None when it is none."""
    try:
        fields = yaml.load(text, Loader=_PlainLoader)  # noqa: S506
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    return {str(name): value for name, value in fields.items()} if isinstance(fields, dict) else None


def _make_record(fields: dict[str, Any], content: str) -> MemoryRecord | None:
    """None where a person has changed a field into what can't be read: better unseen than misread."""
    id, kind = _text(fields, ID_FIELD), _text(fields, "type") or "factual"
    created_at, updated_at = _moment(fields, "created"), _moment(fields, "updated")
    expires_at = _moment(fields, "expires")
    is_expiry_broken = expires_at is None and _text(fields, "expires") not in ("", "null", "~")
    if kind not in MEMORY_TYPES or created_at is None or is_expiry_broken:
        return None
    return MemoryRecord(
        memory_id=derive_memory_id(id),
        id=id,
        owner=_text(fields, "owner"),
        session_id=_text(fields, "session"),
        type=kind,
        key=_text(fields, "key"),
        content=content,
        metadata=_metadata(fields.get("metadata")),
        created_at=created_at,
        updated_at=updated_at or created_at,
        expires_at=expires_at,
    )


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _moment(fields: dict[str, Any], name: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(_text(fields, name))
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _metadata(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _keep_foreign(text: str) -> str:
    blocks = [block for block in _TOP_LEVEL_KEY.split(text) if block.strip()]
    kept = [block for block in blocks if _name_of(block) not in OWN_FIELDS]
    return "".join(block if block.endswith("\n") else f"{block}\n" for block in kept)


def _name_of(block: str) -> str:
    return block.split(":", 1)[0].strip().strip("\"'")


def _make_slug(text: str, substitute: str) -> str:
    slug = re.sub(r"[\W_]+", "-", unicodedata.normalize("NFKC", text)).strip("-")[:MAX_NAME_LENGTH].strip("-")
    return slug or substitute


def _hash(text: str, length: int) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def _write_exactly(moment: datetime) -> str:
    """Milliseconds are what people read; the rest is kept only where there is any."""
    if moment.microsecond % 1000 == 0:
        return write_moment(moment)
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
