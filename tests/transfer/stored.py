"""What is stored, told shortly, and imports done in one line."""

from pathlib import Path
from typing import Any

from memory import services
from memory.models import Memory
from memory.records import MemoryDraft, MemoryRecord
from memory.rows import load_records
from memory.transfer import ImportOptions, ImportPlan, plan_import, run_import


def load(owner: str | None = "A") -> list[MemoryRecord]:
    """Memories, in the order they were stored in."""
    return load_records(Memory.objects.owned_by(owner).order_by("memory_id"))


def list_contents(owner: str | None = "A") -> list[str]:
    return [record.content for record in load(owner)]


def remember(content: str, owner: str = "A", **fields: Any) -> MemoryRecord:
    return services.create(MemoryDraft(owner, fields.pop("key", content), content, **fields))


def plan(path: Path, owner: str = "A", **options: Any) -> ImportPlan:
    return plan_import(path, ImportOptions(owner=owner, **options))


def run(path: Path, owner: str = "A", **options: Any) -> ImportPlan:
    """Import, and see that the numbers add up and the plan had said so before."""
    before = plan(path, owner, **options)
    done = run_import(path, ImportOptions(owner=owner, **options)).plan
    assert done.counts == before.counts
    assert sum(done.counts.values()) == done.total
    return done


def count(done: ImportPlan) -> dict[str, int]:
    """The outcomes that occur."""
    return {name: number for name, number in done.counts.items() if number}
