"""What an operator is told about an import beside its numbers."""

from core.words import gettext as _
from memory.transfer.plans import ImportOptions
from memory.transfer.rows import Reading


def write_notes(
    reading: Reading, beyond_retention: int, expired: int, options: ImportOptions, retention_days: int
) -> tuple[str, ...]:
    """Return sentences, the most serious first."""
    notes: list[str] = []
    if reading.is_intact is False:
        notes.append(_("The file is not as it was written: %(damage)s") % {"damage": reading.damage})
    if len(reading.owners) > 1 and options.source_owner is None and not options.keeps_owners:
        told = _(
            "The file names %(count)d owners or users, and all of their memories go to the one you chose. "
            "Choose a source owner to take those of one only"
        )
        notes.append(told % {"count": len(reading.owners)})
    if beyond_retention:
        told = _(
            "Memories last changed more than %(days)d days ago: %(count)d. They are stored, but "
            "retention keeps them out of every prompt; refresh their times to have them used"
        )
        notes.append(told % {"days": retention_days, "count": beyond_retention})
    if expired:
        notes.append(_("Memories past their expiry: %(count)d. They are stored, but not used") % {"count": expired})
    if reading.conversations:
        notes.append(_tell_conversations(reading))
    if reading.in_future:
        told = _("Times that lie in the future: %(count)d. They are taken for not told")
        notes.append(told % {"count": reading.in_future})
    if reading.broken_metadata:
        told = _("Memories with metadata that can't be read: %(count)d. They come without it")
        notes.append(told % {"count": reading.broken_metadata})
    return (*notes, *reading.notes)


def _tell_conversations(reading: Reading) -> str:
    if not reading.reads_conversations:
        told = _(
            "Conversations left out: %(count)d. Facts are taken out of them only when you choose to have "
            "conversations read"
        )
        return told % {"count": reading.conversations}
    told = _("Conversations read: %(count)d. Facts were looked for in %(messages)d messages of yours")
    return told % {"count": reading.conversations, "messages": reading.messages}
