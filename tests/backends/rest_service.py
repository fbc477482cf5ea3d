"""A stand-in for any REST service that keeps memories, speaking the wire that docs/backends.md tells."""

import json
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.backends.stand_in import Seen, StandIn

PREFIX = "/v1"


@dataclass
class RestService(StandIn):
    """`is_plain`: tells no totals, ignores offsets and unknown filters, as simple services do.

    `keeps_ids`: whether it takes the id of a memory that is posted.
    """

    memories: dict[str, dict[str, Any]] = field(default_factory=dict)
    is_plain: bool = False
    keeps_ids: bool = True
    page_size: int = 1000

    def forget(self) -> None:
        super().forget()
        self.memories.clear()
        self.is_plain, self.keeps_ids, self.page_size = False, True, 1000

    async def handle(self, request: Request, seen: Seen) -> Response:
        path = seen.path.removeprefix(PREFIX)
        if path == "/health":
            return JSONResponse({"ok": True})
        if path == "/memories/search":
            return JSONResponse(self._search(seen.query))
        if path == "/memories":
            if seen.method == "POST":
                return self._create(json.loads(seen.body))
            return JSONResponse(self._list(seen.query))
        if path.startswith("/memories/"):
            return self._handle_one(unquote(path.removeprefix("/memories/")), seen)
        return JSONResponse({"error": "no such route"}, 404)

    def _create(self, body: dict[str, Any]) -> Response:
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        times = {"createdAt": now, "updatedAt": now}
        id = body.get("id") if self.keeps_ids else None
        memory = {**times, **body, "id": id or str(uuid.uuid4())}
        self.memories[memory["id"]] = memory
        return JSONResponse(memory, 201)

    def _handle_one(self, id: str, seen: Seen) -> Response:
        memory = self.memories.get(id)
        if memory is None:
            return JSONResponse({"error": "not found"}, 404)
        if seen.method == "DELETE":
            del self.memories[id]
            return Response(status_code=204)
        if seen.method in ("PATCH", "PUT"):
            now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
            memory.update(json.loads(seen.body), updatedAt=now)
        return JSONResponse({"memory": memory})

    def _list(self, query: dict[str, str]) -> Any:
        if self.is_plain:
            return list(self.memories.values())
        found = self._narrow(query)
        name = query.get("orderBy", "createdAt")
        found.sort(key=lambda it: (it[name], it["id"]), reverse=query.get("orderDir", "desc") == "desc")
        offset, limit = int(query.get("offset", 0)), min(int(query.get("limit", 50)), self.page_size)
        by_type: dict[str, int] = {}
        for memory in found:
            by_type[memory["type"]] = by_type.get(memory["type"], 0) + 1
        return {"data": found[offset : offset + limit], "total": len(found), "byType": by_type}

    def _narrow(self, query: dict[str, str]) -> list[dict[str, Any]]:
        fields = [name for name in ("apiKeyId", "type", "sessionId") if query.get(name)]
        return [it for it in self.memories.values() if all(it.get(name) == query[name] for name in fields)]

    def _search(self, query: dict[str, str]) -> Any:
        words = query["query"].lower().split()
        scored = [
            {**memory, "score": sum(word in f"{memory['key']} {memory['content']}".lower() for word in words)}
            for memory in self._narrow(query)
        ]
        found = [it for it in scored if it["score"] or not words]
        found.sort(key=lambda it: (it["score"], it["createdAt"]), reverse=True)
        return {"memories": found[: int(query["limit"])]}
