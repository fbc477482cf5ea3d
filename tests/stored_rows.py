"""All that is stored, to be compared before and after a change that is taken back."""

from typing import Any

from memory.models import Memory

FLAGS = ("needs_reindex", "index_attempts", "index_retry_at")


def read_rows() -> list[dict[str, Any]]:
    """Every column of every memory that is not about an index entry."""
    rows = Memory.objects.owned_by(None).order_by("memory_id").values()
    return [{name: value for name, value in row.items() if name not in FLAGS} for row in rows]
