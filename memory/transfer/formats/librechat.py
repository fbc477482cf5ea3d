"""LibreChat: the answer of GET /api/memories, or its collection `memoryentries` as mongoexport writes it."""

from collections.abc import Mapping
from typing import Any, Final

from memory.transfer.formats.stamps import stamp
from memory.transfer.rows import ForeignMemory, read_epoch

NAME: Final = "librechat"


def recognises(first: Mapping[str, Any]) -> bool:
    return "value" in first and "key" in first and bool({"userId", "tokenCount", "updated_at"} & first.keys())


def read_memory(row: Mapping[str, Any]) -> ForeignMemory:
    """A key is unique for a user; `updated_at` is the only time that is kept."""
    updated_at = read_epoch(_unwrap(row.get("updated_at")))
    return ForeignMemory(
        row.get("value"),
        key=row.get("key"),
        metadata=stamp(NAME),
        created_at=updated_at,
        updated_at=updated_at,
        owner=_unwrap(row.get("userId")),
    )


def _unwrap(value: Any) -> Any:
    """MongoDB's extended JSON: {"$oid": …}, {"$date": …}, {"$numberLong": …}, one in the other too."""
    while isinstance(value, dict) and len(value) == 1:
        [(name, inner)] = value.items()
        if not name.startswith("$"):
            break
        value = inner
    return value
