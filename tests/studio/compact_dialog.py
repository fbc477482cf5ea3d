"""The dialog that compacts as an operator meets it, memories old enough for it, and its jobs."""

from datetime import timedelta
from typing import Any

from django.test import Client
from django.utils import timezone

from core.jobs.execution import run_job
from core.jobs.models import Job
from core.jobs.queue import claim_next
from memory import services
from memory.models import Memory
from memory.records import MemoryDraft

MEMORY = "/dashboard/memory"
COMPACT = f"{MEMORY}/compact"
STORY = "Note {number} says what this is about. " + "The rest of it only goes on and on. " * 9


def remember(count: int, *, owner: str = "A", session_id: str = "") -> None:
    for number in range(count):
        services.create(MemoryDraft(owner, f"{session_id}{number}", STORY.format(number=number), session_id=session_id))
    Memory.objects.owned_by(owner).update(created_at=timezone.now() - timedelta(days=40))


def ask(client: Client, **query: Any) -> str:
    """Open the dialog as the page does."""
    answer = client.get(COMPACT, {"days": 30, "owner": "", **query}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def compact(client: Client, **fields: Any) -> str:
    answer = client.post(COMPACT, {"days": 30, "owner": "", **fields}, headers={"HX-Request": "true"})
    return " ".join(answer.content.decode().split())


def do_jobs(*names: str) -> None:
    for name in names or ("memory.count_old", "memory.compact"):
        while job := claim_next(name):
            run_job(job)


def list_jobs(name: str) -> list[Job]:
    return list(Job.objects.filter(name=name).exclude(state=Job.State.DONE))
