"""Open WebUI: the answer of GET /api/v1/memories/, or its database's table `memory`. Times are seconds since 1970."""

from collections.abc import Mapping
from typing import Any, Final

from memory.transfer.formats.stamps import stamp
from memory.transfer.rows import ForeignMemory, make_key, read_epoch

NAME: Final = "open-webui"
COLUMNS: Final = frozenset({"id", "user_id", "content", "updated_at", "created_at"})


def recognises(first: Mapping[str, Any]) -> bool:
    return first.keys() >= COLUMNS and "memory" not in first


def read_memory(row: Mapping[str, Any]) -> ForeignMemory:
    content, foreign_id = row.get("content"), row.get("id")
    return ForeignMemory(
        content,
        key=f"open-webui:{foreign_id}" if foreign_id else make_key("import", str(content)),
        metadata=stamp(NAME),
        created_at=read_epoch(row.get("created_at")),
        updated_at=read_epoch(row.get("updated_at")),
        owner=row.get("user_id"),
    )
