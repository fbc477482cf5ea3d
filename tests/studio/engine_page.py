"""The Engine page: its addresses, what is sent to them, and what its poll brings."""

import re
from typing import Any

from memory import services
from memory.records import MemoryDraft, MemoryRecord

PAGE = "/dashboard/memory?tab=engine"
COVERAGE = "/dashboard/memory/engine/coverage"
STATUS = "/dashboard/memory/engine/status"
REINDEX = "/dashboard/memory/engine/reindex"
EMBEDDING = "/dashboard/memory/engine/embedding"
RERANK = "/dashboard/memory/engine/rerank"
QDRANT = "/dashboard/memory/engine/qdrant"
HTMX = {"HX-Request": "true"}
FROM_AUTO = {"source": "auto", "provider_model": "", "base_url": "", "model_id": ""}

NO_QDRANT = {
    "host": "127.0.0.1:9",
    "port": "6333",
    "collection": "omniroute_memory",
    "embedding_model": "memory",
    "quantization": "none",
}


def remember(content: str, owner: str = "") -> MemoryRecord:
    return services.create(MemoryDraft(owner, content[:60], content))


def read_poll(answer: Any) -> str:
    """The address that the page polls next."""
    found = re.search(r'id="engine-poll"\s+hx-get="([^"]+)"', answer.content.decode())
    assert found is not None
    return found[1].replace("&amp;", "&")


def list_swapped(answer: Any) -> list[str]:
    """Ids of what an answer to the poll has swapped."""
    return re.findall(r'id="([a-z-]+)"[^>]*hx-swap-oob', answer.content.decode())
