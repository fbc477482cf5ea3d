"""What an operator is told about an import beside its numbers."""

from memory.transfer.plans import ImportOptions
from memory.transfer.rows import Reading


def write_notes(
    reading: Reading, beyond_retention: int, expired: int, options: ImportOptions, retention_days: int
) -> tuple[str, ...]:
    """Return sentences, the most serious first."""
    notes: list[str] = []
    if reading.is_intact is False:
        notes.append(f"The file is not as it was written: {reading.damage}")
    if len(reading.owners) > 1 and options.source_owner is None and not options.keeps_owners:
        notes.append(
            f"The file names {len(reading.owners)} owners or users, and all of their memories go to the one you chose. "
            "Choose a source owner to take those of one only"
        )
    if beyond_retention:
        notes.append(
            f"Memories last changed more than {retention_days} days ago: {beyond_retention}. They are stored, but "
            "retention keeps them out of every prompt; refresh their times to have them used"
        )
    if expired:
        notes.append(f"Memories past their expiry: {expired}. They are stored, but not used")
    if reading.conversations:
        notes.append(_tell_conversations(reading))
    if reading.in_future:
        notes.append(f"Times that lie in the future: {reading.in_future}. They are taken for not told")
    if reading.broken_metadata:
        notes.append(f"Memories with metadata that can't be read: {reading.broken_metadata}. They come without it")
    return (*notes, *reading.notes)


def _tell_conversations(reading: Reading) -> str:
    if not reading.reads_conversations:
        return (
            f"Conversations left out: {reading.conversations}. Facts are taken out of them only when you choose to "
            "have conversations read"
        )
    return f"Conversations read: {reading.conversations}. Facts were looked for in {reading.messages} messages of yours"
