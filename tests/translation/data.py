"""Something of everything, in Greek letters: what is shown of it is no word of ours."""

import uuid
from datetime import timedelta
from typing import Any

from django.utils import timezone

from core.accounts.keys import create_api_key
from gateway.models import RequestLog
from memory import services, usage
from memory.records import MemoryDraft, MemoryRecord

# The tiny model of tests.embeddings knows the word tea, and gives a text of strange words no vector.
CONTENT = "πίνει τσάι το πρωί tea"


def make_owner(name: str = "βοηθός") -> str:
    return create_api_key(name, ("chat", "read:memory"))[0].id


def remember(owner: str, content: str = CONTENT, key: str = "τσάι", **fields: Any) -> MemoryRecord:
    return services.create(MemoryDraft(owner, key, content, **fields))


def make_memories(owner: str) -> list[MemoryRecord]:
    """Of every type, polarity and expiry."""
    now = timezone.now()
    return [
        remember(
            owner,
            "πίνει τσάι το πρωί tea",
            "α",
            metadata={"polarity": "positive", "source": "user_message"},
            session_id="σ1",
        ),
        remember(owner, "δεν πίνει καφέ tea", "β", metadata={"polarity": "negative", "source": "import"}),
        remember(owner, "χθες μίλησε για τη θάλασσα tea", "γ", type="episodic", expires_at=now + timedelta(days=2)),
        remember(owner, "πρώτα νερό, μετά τσάι tea", "δ", type="procedural", expires_at=now - timedelta(days=1)),
        remember(owner, "τσάι είναι ποτό tea", "ε", type="semantic", metadata={"α": 1}),
    ]


def log_call(owner: str, *carried: str, **fields: Any) -> RequestLog:
    plain: dict[str, Any] = {
        "request_id": uuid.uuid4().hex,
        "created_at": timezone.now(),
        "api_key_id": owner,
        "key_name": "βοηθός",
        "model": "openai/gpt-4o-mini",
        "status": 200,
        "outcome": "answered",
        "duration_ms": 1840.0,
        "memory_state": "on",
        "memories_injected": len(carried),
        "memory_tokens": 85 if carried else 0,
        "retrieval_ms": 14.0,
        "memory_ms": 18.0,
        "tier": "fts5",
        "strategy": "adaptive",
        "carried": [[memory_id, 0.91, 7] for memory_id in carried],
    }
    row = RequestLog.objects.create(**{**plain, **fields})
    usage.note_injections(row.request_id, row.api_key_id, carried, row.created_at)
    return row
