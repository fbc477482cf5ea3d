"""mem0: what `get_all` and the platform's exports give. `memory` is the text; user, agent and run say whose it is."""

from collections.abc import Mapping
from typing import Any, Final

from memory.transfer.formats.stamps import stamp
from memory.transfer.rows import ForeignMemory, make_key, read_epoch

NAME: Final = "mem0"
# Kept beside the metadata that the program's user gave.
KEPT: Final = ("agent_id", "actor_id", "app_id", "role", "categories")


def recognises(first: Mapping[str, Any]) -> bool:
    return "memory" in first and bool({"hash", "user_id", "agent_id", "run_id", "created_at"} & first.keys())


def read_memory(row: Mapping[str, Any]) -> ForeignMemory:
    metadata = row.get("metadata")
    kept = {name: row[name] for name in KEPT if row.get(name)}
    if isinstance(metadata, dict):
        kept = {**metadata, **kept}
    content, foreign_id = row.get("memory"), row.get("id")
    return ForeignMemory(
        content,
        key=f"mem0:{foreign_id}" if isinstance(foreign_id, str) and foreign_id else make_key("import", str(content)),
        type="procedural" if kept.get("memory_type") == "procedural_memory" else None,
        session_id=row.get("run_id") or None,
        metadata=stamp(NAME, kept),
        created_at=read_epoch(row.get("created_at")),
        updated_at=read_epoch(row.get("updated_at") or row.get("created_at")),
        expires_at=read_epoch(row.get("expiration_date")),
        owner=row.get("user_id") or row.get("agent_id"),
        tells_expiry=row.get("expiration_date") is not None,
    )
