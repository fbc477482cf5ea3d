"""Memories old enough to be compacted, calls that compact and undo, and all that is stored before and after."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from rest_api import Api

from memory.models import Memory
from memory.vector_stores import lifecycle

SUMMARIZE, UNDO = "/api/memory/summarize", "/api/memory/summarize/undo"

# Its first sentence says what it is about; the last is in no summary.
STORY = (
    "Note {number} tells of tea beside the zebra crossing at the old station. "
    + "It goes on at length about the weather that day, and about who came by and who did not come. " * 4
    + "Then the kettle is empty."
)


def age(memory: dict[str, Any], days: float) -> None:
    Memory.objects.filter(uuid=memory["id"]).update(created_at=timezone.now() - timedelta(days=days))


def remember_old(api: Api, count: int, *, days: float = 40, **fields: Any) -> list[dict[str, Any]]:
    """Stories, the oldest first."""
    memories = []
    for number in range(count):
        key = f"{fields.get('sessionId', '')}story-{number}"
        memory = api.remember(**{"key": key, "content": STORY.format(number=number), **fields})
        age(memory, days + count - number)
        memories.append(memory)
    return memories


def summarize(api: Api, body: Any = b"") -> dict[str, Any]:
    answer = api.post(SUMMARIZE, body)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def undo(api: Api, undo_id: str, **fields: Any) -> dict[str, Any]:
    answer = api.post(UNDO, {"undoId": undo_id, **fields})
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def find(api: Api, text: str, **query: Any) -> list[str]:
    return [memory["id"] for memory in api.get("/api/memory", {"q": text, **query}).json()["data"]]


def list_vector_ids() -> list[int]:
    index = lifecycle.find_active()
    store = lifecycle.open_store(index) if index else None
    assert store is not None
    return [int(memory_id) for memory_id in store.read(None)[0]]
