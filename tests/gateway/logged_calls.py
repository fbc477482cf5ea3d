"""What a running server has written into its log of requests."""

import json
from typing import Any

from core.db.sqlite.driver import DRIVER
from tests.live_server import LiveServer, wait_until


def ask(server: LiveServer, statement: str, *values: Any) -> list[dict[str, Any]]:
    connection = DRIVER.dbapi.connect(str(server.data_dir / "storage.sqlite"), timeout=10)
    try:
        cursor = connection.execute(statement, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    finally:
        connection.close()


def read_calls(server: LiveServer, owner: str, count: int = 1) -> list[dict[str, Any]]:
    """The owner's calls in the log, the oldest first, as soon as there are `count` of them."""
    found: list[dict[str, Any]] = []

    def is_there() -> bool:
        found[:] = ask(server, "SELECT * FROM request_log WHERE api_key_id = ? ORDER BY created_at, id", owner)
        return len(found) >= count

    wait_until(is_there, f"the log has no {count} calls")
    assert len(found) == count
    return [{**row, "carried": json.loads(row["carried"])} for row in found]


def read_links(server: LiveServer, request_id: str) -> set[tuple[str, str]]:
    """(kind, memory id) of all links of a request."""
    rows = ask(server, "SELECT kind, memory_uuid FROM memory_request_links WHERE request_id = ?", request_id)
    return {(row["kind"], row["memory_uuid"]) for row in rows}
