"""What people said in conversations, to facts. The same rules as for a live chat: only the person's own words."""

from collections.abc import Iterator
from datetime import datetime

from memory.extraction import extract_facts
from memory.transfer.rows import ForeignMemory, Reading


def read_statement(text: str, session_id: str, said_at: datetime | None, reading: Reading) -> Iterator[ForeignMemory]:
    """Yield the facts in one message of the user's."""
    reading.messages += 1
    for fact in extract_facts(text, "user"):
        yield ForeignMemory(
            fact.content,
            key=fact.key,
            type=fact.memory_type,
            session_id=session_id,
            created_at=said_at,
            updated_at=said_at,
            fact=fact,
        )
