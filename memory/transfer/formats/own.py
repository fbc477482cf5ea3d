"""Our own format: JSON Lines with a header, one memory a line with every field, and a closing line with a checksum.

The closing line's `sha256` is that of every byte before it, so a file that was cut off or changed is found out.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import IO, Any, Final

from core.words import gettext as _
from memory.records import MemoryRecord
from memory.transfer.formats.lines import read_line, split_lines
from memory.transfer.formats.memories import read_memory
from memory.transfer.json_stream import BrokenFileError
from memory.transfer.rows import BadRow, ForeignMemory, Reading

FORMAT_NAME: Final = "omniroute-memory"
VERSION: Final = 1


def recognises(first: Mapping[str, Any]) -> bool:
    """Whether this is the header of such a file."""
    return first.get("format") == FORMAT_NAME


def read(stream: IO[bytes], reading: Reading) -> Iterator[ForeignMemory | BadRow]:
    """Read the rows; what the closing line says is told in `reading` once they are all read."""
    digest, count = hashlib.sha256(), 0
    reading.is_intact, reading.damage = False, _("it has no closing line: it is cut off")
    for line in split_lines(stream):
        value = read_line(line)
        if isinstance(value, dict) and value.get("format") == FORMAT_NAME:
            if value.get("end") is True:
                reading.damage = _find_damage(value, count, digest.hexdigest())
                reading.is_intact = not reading.damage
                return
            _check_version(value)
        elif value is not None:
            count += 1
            yield value if isinstance(value, BadRow) else read_memory(value)
        digest.update(line)


def write_header(moment: datetime) -> bytes:
    """The first line of an export."""
    return _write({"format": FORMAT_NAME, "version": VERSION, "exportedAt": write_moment(moment)})


def write_row(record: MemoryRecord) -> bytes:
    """A memory's line: a Memory as the REST API tells it, its times to the microsecond."""
    return _write(
        {
            "id": record.id,
            "apiKeyId": record.owner,
            "sessionId": record.session_id,
            "type": record.type,
            "key": record.key,
            "content": record.content,
            "metadata": dict(record.metadata),
            "createdAt": write_moment(record.created_at),
            "updatedAt": write_moment(record.updated_at),
            "expiresAt": None if record.expires_at is None else write_moment(record.expires_at),
        }
    )


def write_end(count: int, sha256: str) -> bytes:
    """The closing line of an export of so many memories."""
    return _write({"format": FORMAT_NAME, "end": True, "count": count, "sha256": sha256})


def write_moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _write(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _check_version(header: Mapping[str, Any]) -> None:
    version = header.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version > VERSION:
        raise BrokenFileError(_("The file was written by a newer version; update this one first"))


def _find_damage(end: Mapping[str, Any], count: int, sha256: str) -> str:
    if end.get("count") != count:
        told = _("its closing line says %(said)s memories and there are %(count)d")
        return told % {"said": end.get("count"), "count": count}
    return "" if end.get("sha256") == sha256 else _("its checksum is wrong: it was changed, or damaged")
