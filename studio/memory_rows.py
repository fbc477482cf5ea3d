"""Memories as rows of a table: the record, and what stands beside it. As many queries for one row as for a hundred."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.utils import timezone
from django.utils.translation import gettext as _

from memory.inspection import list_waiting
from memory.records import MemoryRecord
from memory.usage import MemoryUse, read_uses
from studio.memory_list import NO_SOURCE, SOURCES
from studio.owners import name_owners
from studio.wording import tell_age

# From when on an expiry is worth a badge.
SHOWN_DAYS: Final = 30


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """`expiry` is what the badge says, "" without one; `name` is what buttons call the memory aloud."""

    record: MemoryRecord
    owner_name: str
    source: str
    use: MemoryUse | None
    is_negative: bool
    is_waiting: bool
    is_expired: bool
    expiry: str

    @property
    def name(self) -> str:
        return self.record.key or self.record.content[:60]

    @property
    def seen_at(self) -> str:
        """When the memory was changed last, to the microsecond: what an editor has seen."""
        return self.record.updated_at.isoformat()


def build_rows(records: Sequence[MemoryRecord]) -> list[MemoryRow]:
    ids = [record.id for record in records]
    uses, waiting = read_uses(ids), list_waiting(ids)
    names = name_owners(list({record.owner for record in records}))
    now = timezone.now()
    return [
        MemoryRow(
            record=record,
            owner_name=names[record.owner],
            source=tell_source(record),
            use=uses.get(record.id),
            is_negative=record.metadata.get("polarity") == "negative",
            is_waiting=record.id in waiting,
            is_expired=record.expires_at is not None and record.expires_at <= now,
            expiry=tell_expiry(record.expires_at, now),
        )
        for record in records
    ]


def tell_source(record: MemoryRecord) -> str:
    """Who the memory is from, in a word or two; a source that nobody knows is told as it stands."""
    source = record.metadata.get("source") or NO_SOURCE
    return str(SOURCES.get(source, source)) if isinstance(source, str) else str(source)


def tell_expiry(moment: datetime | None, now: datetime) -> str:
    if moment is None or moment - now > timedelta(days=SHOWN_DAYS):
        return ""
    age = tell_age(moment, now)
    return (_("expired %(age)s") if moment <= now else _("expires %(age)s")) % {"age": age}
