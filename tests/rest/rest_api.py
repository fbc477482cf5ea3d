"""A caller of the management endpoints, and a reader of their refusals."""

import json
from typing import Any

from django.test import Client

from tests.declared_answers import assert_declared

MANAGEMENT_KEY = "management-key-of-the-tests"


class Api:
    """Sends JSON (or raw bytes) with a bearer key; a failure in the server is a 500, not an exception here.

    Every answer is held against the OpenAPI document.
    """

    def __init__(self, key: str | None) -> None:
        headers = {"authorization": f"Bearer {key}"} if key else None
        self.client = Client(raise_request_exception=False, headers=headers)

    def get(self, path: str, query: Any = None) -> Any:
        answer = self.client.get(path, query)
        assert_declared("GET", path, answer)
        return answer

    def send(
        self, method: str, path: str, body: Any = b"", content_type: str = "application/json", **extra: Any
    ) -> Any:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = self.client.generic(method, path, raw, content_type=content_type, **extra)
        assert_declared(method, path, answer)
        return answer

    def post(self, path: str, body: Any = b"", **extra: Any) -> Any:
        return self.send("POST", path, body, **extra)

    def put(self, path: str, body: Any = b"", **extra: Any) -> Any:
        return self.send("PUT", path, body, **extra)

    def delete(self, path: str) -> Any:
        return self.send("DELETE", path)

    def remember(self, **fields: Any) -> dict[str, Any]:
        """Store a memory and return it as the API tells it."""
        answer = self.post("/api/memory", {"key": "k", "content": "c", **fields})
        assert answer.status_code == 200, answer.content
        return answer.json()["memory"]


def fields_of(answer: Any) -> set[str]:
    """The fields that a 400 names, after checking that both shapes of the answer agree."""
    body = answer.json()
    assert answer.status_code == 400, answer.content
    assert body["details"] == body["error"]["details"]
    assert body["message"] == body["error"]["message"]
    assert body["error"]["type"] == "invalid_request"
    return {detail["field"] for detail in body["details"]}
