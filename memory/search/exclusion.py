"""Which filter keeps a memory from a query: the rule of `memory.rows`, asked one condition at a time, for people."""

from datetime import datetime, timedelta
from typing import Literal

from memory.models import Memory
from memory.records import SearchQuery

Exclusion = Literal["not_stored", "other_owner", "expired", "beyond_retention", "other_session", "other_type"]


def find_exclusion(query: SearchQuery, memory_uuid: str, now: datetime) -> Exclusion | None:
    """Return the first filter that keeps the memory out, None when the query may use it."""
    row = Memory.objects.filter(uuid=memory_uuid).first()
    if row is None:
        return "not_stored"
    if not Memory.objects.owned_by(query.owner).filter(pk=row.pk).exists():
        return "other_owner"
    if row.expires_at is not None and row.expires_at <= now:
        return "expired"
    if row.updated_at < now - timedelta(days=query.retention_days):
        return "beyond_retention"
    if query.session_id is not None and row.session_id != query.session_id:
        return "other_session"
    if query.type is not None and row.type != query.type:
        return "other_type"
    return None
