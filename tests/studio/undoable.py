"""Memories of several owners, types and sessions, to be changed and put back."""

from datetime import timedelta

from django.utils import timezone

from memory.records import MemoryRecord
from tests.studio.memories_page import remember


def make_store(count: int = 5) -> list[MemoryRecord]:
    return [
        remember(
            f"memory {number}",
            f"k{number}",
            owner="AB"[number % 2],
            type=("factual", "episodic")[number % 2],
            session_id=f"s{number % 3}",
            metadata={"n": number, "polarity": "negative"},
            expires_at=timezone.now() + timedelta(days=number + 1) if number % 2 else None,
        )
        for number in range(count)
    ]
