"""A caller of the management endpoints, in process."""

import json
from dataclasses import dataclass
from typing import Any

from django.test import Client

from qdrant_admin.operations import LAST_HEALTH

MANAGEMENT_KEY = "management-key-of-the-tests"


@dataclass(frozen=True)
class Api:
    client: Client

    def get(self, path: str) -> Any:
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def send(self, method: str, path: str, body: Any = None) -> Any:
        raw = b"" if body is None else json.dumps(body).encode()
        return self.client.generic(method, path, raw, content_type="application/json")

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.send(method, path, body)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def set_qdrant(self, **changes: Any) -> Any:
        return self.ask("PUT", "/api/settings/qdrant", changes)

    def remember(self, content: str, owner: str = "A", **fields: Any) -> dict[str, Any]:
        body = {"apiKeyId": owner, "key": content[:60], "content": content, **fields}
        return dict(self.ask("POST", "/api/memory", body)["memory"])

    def preview(self, query: str, strategy: str = "semantic", owner: str = "A", **fields: Any) -> Any:
        body = {"query": query, "strategy": strategy, "apiKeyId": owner, **fields}
        return self.ask("POST", "/api/memory/retrieve-preview", body)

    def list_found(self, query: str, strategy: str = "semantic", owner: str = "A", **fields: Any) -> list[str]:
        return [memory["content"] for memory in self.preview(query, strategy, owner, **fields)["memories"]]

    def read_status(self) -> Any:
        """As of now, not of a few seconds ago."""
        LAST_HEALTH.clear()
        return self.get("/api/memory/engine-status")
