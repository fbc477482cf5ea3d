"""How much of what is stored has its vector, by owner and by type: what the Engine page and the API keys show."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count

from memory.backends.manager import get_primary
from memory.models import Memory, MemoryQuerySet
from memory.records import MEMORY_TYPES, MemoryFilter


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of `total` memories of an owner or a type, `waiting` have no current vector."""

    name: str
    total: int
    waiting: int

    @property
    def indexed(self) -> int:
        return self.total - self.waiting


def read_owner_coverage(limit: int) -> tuple[list[Coverage], int]:
    """Return the owners with the most memories, and how many owners there are.

    One read of the owner index and one of the rows that wait, however much the memories hold.
    """
    counts = _count_owners(Memory.objects.owned_by(None))
    waiting = _count_owners(Memory.objects.owned_by(None).filter(needs_reindex=True))
    most = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:limit]
    return [Coverage(owner, count, waiting.get(owner, 0)) for owner, count in most], len(counts)


def read_type_coverage() -> list[Coverage]:
    """Return all four types, also those of which there are none."""
    backend = get_primary()
    counts = backend.count(MemoryFilter(None))
    waiting = backend.count(MemoryFilter(None, is_indexed=False))
    return [Coverage(name, counts.get(name, 0), waiting.get(name, 0)) for name in MEMORY_TYPES]


def count_by_owner(owners: Collection[str]) -> dict[str, int]:
    """Return how many memories each of the owners has, in one query; one that has none is left out."""
    return _count_owners(Memory.objects.owned_by(None).filter(api_key_id__in=owners))


def _count_owners(rows: MemoryQuerySet) -> dict[str, int]:
    counted = rows.order_by().values_list("api_key_id").annotate(count=Count("memory_id"))
    return dict(counted)
