"""Rows of this database that nobody can use any more: counted, and deleted in batches."""

from datetime import datetime

from django.db import transaction

from memory.backends.sqlite import delete_rows
from memory.models import Memory, MemoryQuerySet


def select_expired(by: datetime) -> MemoryQuerySet:
    """Memories whose expiry had passed by then."""
    return Memory.objects.owned_by(None).filter(expires_at__lte=by)


def select_unrefreshed(since: datetime) -> MemoryQuerySet:
    """Memories that were neither stored nor refreshed since then."""
    return Memory.objects.owned_by(None).filter(updated_at__lt=since)


def delete_some(rows: MemoryQuerySet, limit: int) -> int:
    """Delete up to `limit` of the rows, the oldest, in one transaction; return how many that were.

    They are chosen under the write lock: a row that was refreshed meanwhile is no longer among them.
    """
    with transaction.atomic():
        memory_ids = list(rows.order_by("memory_id").values_list("memory_id", flat=True)[:limit])
        return delete_rows(Memory.objects.filter(memory_id__in=memory_ids)) if memory_ids else 0
