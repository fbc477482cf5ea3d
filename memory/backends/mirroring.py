"""What fallbacks have to be told: memories of the primary that were changed or deleted, as jobs for each fallback.

A job names memories and not what happened to them: whoever does it looks at how they are then. So jobs may be done
twice, and in any order, and a fallback still ends with what the primary holds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from memory import queue
from memory.backends.routes import read_routes

MEMORIES_A_JOB = 100


@dataclass(frozen=True, slots=True)
class Touched:
    """A memory as it was before it was changed or deleted: its id, its owner, its key at that time."""

    id: str
    owner: str
    key: str


def note_touched(backend_id: str, memories: Iterable[Touched]) -> None:
    """Have the fallbacks brought up to date, if that backend is the primary and there are any.

    In the transaction of the change where the change is a row of this database.
    """
    routes = read_routes()
    if routes.primary != backend_id or not routes.fallbacks:
        return
    touched = list(dict.fromkeys(memories))
    for fallback in routes.fallbacks:
        for start in range(0, len(touched), MEMORIES_A_JOB):
            queue.enqueue_mirroring(fallback, write_touched(touched[start : start + MEMORIES_A_JOB]))


def has_listeners(backend_id: str) -> bool:
    """True when somebody has to be told of changes to that backend's memories."""
    routes = read_routes()
    return routes.primary == backend_id and bool(routes.fallbacks)


def write_touched(memories: Sequence[Touched]) -> list[list[str]]:
    return [[memory.id, memory.owner, memory.key] for memory in memories]


def read_touched(rows: Sequence[Any]) -> list[Touched]:
    return [Touched(*row) for row in rows]
