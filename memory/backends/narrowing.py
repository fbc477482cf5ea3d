"""Memories of other backends narrowed, ordered and cut into pages here, by the rules that SQL follows for our own.

Other services filter by what they know, and some ignore what they don't: nothing is believed that these functions have
not looked at.
"""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from django.utils import timezone

from core.errors import FieldError, InvalidFieldsError
from core.words import gettext as _
from memory.backends.listing import BROKEN_CURSOR
from memory.backends.selection import SOON
from memory.models import HEALTH_CHECK_OWNER, MemoryUse
from memory.records import MEMORY_ORDERS, MemoryFilter, MemoryOrder, MemoryPage, MemoryRecord, MemorySlice, SearchQuery
from memory.search.exclusion import Exclusion

# Ids in one statement: SQLite bounds the number of parameters.
_IDS_AT_ONCE: Final = 500


def derive_memory_id(id: str) -> int:
    """A number for a memory that has no row: below 0, so that it is never mistaken for a row's."""
    return -(int.from_bytes(hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest()[:7], "big") + 1)


def narrow(records: Iterable[MemoryRecord], filter: MemoryFilter) -> list[MemoryRecord]:
    """Those of the records that match. None of them has a vector here, so none is indexed."""
    now = timezone.now()
    if filter.is_indexed:
        return []
    matching = [record for record in records if _matches(record, filter, now)]
    if filter.is_used is None:
        return matching
    used = _load_uses([record.id for record in matching])
    return [record for record in matching if (record.id in used) == filter.is_used]


def belongs_to(record: MemoryRecord, owner: str | None) -> bool:
    """True for a memory of the owner; without one, for all but those of the self-test."""
    return record.owner != HEALTH_CHECK_OWNER if owner is None else record.owner == owner


def is_usable(record: MemoryRecord, query: SearchQuery, now: datetime) -> bool:
    """The rule of `memory.rows.select_usable` for a memory that has no row."""
    return find_exclusion(record, query, now) is None


def find_exclusion(record: MemoryRecord, query: SearchQuery, now: datetime) -> Exclusion | None:
    """The first filter that keeps the memory from the query, None when the query may use it."""
    if not belongs_to(record, query.owner):
        return "other_owner"
    if record.expires_at is not None and record.expires_at <= now:
        return "expired"
    if record.updated_at < now - timedelta(days=query.retention_days):
        return "beyond_retention"
    if query.session_id not in (None, record.session_id):
        return "other_session"
    return None if query.type in (None, record.type) else "other_type"


def sort_records(records: Iterable[MemoryRecord], order: MemoryOrder) -> list[MemoryRecord]:
    """Sorted by what the order names, ids deciding between equals."""
    if order not in MEMORY_ORDERS:
        raise InvalidFieldsError(
            [FieldError("order", _("Must be one of: %(names)s") % {"names": ", ".join(MEMORY_ORDERS)})]
        )
    placed = zip(_read_places(records := list(records), order), records, strict=True)
    return [record for _, record in sorted(placed, key=lambda pair: pair[0], reverse=order.startswith("-"))]


def count_types(records: Iterable[MemoryRecord]) -> dict[str, int]:
    return dict(sorted(Counter(record.type for record in records).items()))


def make_page(records: Sequence[MemoryRecord], order: MemoryOrder, *, limit: int, offset: int) -> MemoryPage:
    """The page of records that are sorted already."""
    page = list(records[offset : offset + limit])
    has_more = bool(page) and offset + limit < len(records)
    return MemoryPage(page, len(records), count_types(records), write_cursor(page[-1], order) if has_more else None)


def make_slice(records: Sequence[MemoryRecord], order: MemoryOrder, *, limit: int, after: str | None) -> MemorySlice:
    """What comes after the cursor in records that are sorted already, whether or not its memory is still there."""
    if after is not None:
        place, is_descending = _read_cursor(after, order), order.startswith("-")
        places = zip(_read_places(records, order), records, strict=True)
        records = [record for at, record in places if (at < place if is_descending else at > place)]
    page = list(records[:limit])
    return MemorySlice(page, write_cursor(page[-1], order) if page and len(records) > limit else None)


def write_cursor(record: MemoryRecord, order: MemoryOrder) -> str:
    """An opaque text that says where in that order the record stands."""
    text = json.dumps([order, *_read_places([record], order)[0]], separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read_places(records: Sequence[MemoryRecord], order: MemoryOrder) -> list[tuple[str, str]]:
    """As text, which sorts moments of one zone and one length as time does, and numbers of one length."""
    match order.removeprefix("-"):
        case "created":
            return [(_write_moment(record.created_at), record.id) for record in records]
        case "updated":
            return [(_write_moment(record.updated_at), record.id) for record in records]
        case "used":
            uses = _load_uses([record.id for record in records])
            return [(uses.get(record.id, ""), record.id) for record in records]
    return [(record.key, record.id) for record in records]


def _read_cursor(cursor: str, order: MemoryOrder) -> tuple[str, str]:
    try:
        told = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        given_order, value, id = told
    except (ValueError, TypeError, RecursionError):
        raise InvalidFieldsError([FieldError("cursor", BROKEN_CURSOR)]) from None
    if given_order != order or not isinstance(value, str) or not isinstance(id, str):
        raise InvalidFieldsError([FieldError("cursor", BROKEN_CURSOR)])
    return value, id


def _write_moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def _matches(record: MemoryRecord, filter: MemoryFilter, now: datetime) -> bool:
    metadata = record.metadata
    text = filter.text.strip().casefold()
    return (
        belongs_to(record, filter.owner)
        and filter.type in (None, record.type)
        and filter.session_id in (None, record.session_id)
        and filter.category in (None, metadata.get("category"))
        and filter.polarity in (None, metadata.get("polarity"))
        and (filter.source is None or (metadata.get("source") or "") == filter.source)
        and (not text or text in record.content.casefold() or text in record.key.casefold())
        and _is_in_state(record.expires_at, filter.expiry, now)
    )


def _is_in_state(expires_at: datetime | None, state: str | None, now: datetime) -> bool:
    match state:
        case None:
            return True
        case "never":
            return expires_at is None
        case "active":
            return expires_at is None or expires_at > now
        case "soon":
            return expires_at is not None and now < expires_at <= now + SOON
        case "expired":
            return expires_at is not None and expires_at <= now
    raise InvalidFieldsError(
        [FieldError("expiry", _("Must be one of: %(names)s") % {"names": "never, active, soon, expired"})]
    )


def _load_uses(ids: Sequence[str]) -> dict[str, str]:
    """How often, and when last, chats have carried those that any has, as text that sorts."""
    used: dict[str, str] = {}
    for start in range(0, len(ids), _IDS_AT_ONCE):
        uses = MemoryUse.objects.filter(memory_uuid__in=ids[start : start + _IDS_AT_ONCE])
        for id, count, at in uses.values_list("memory_uuid", "count", "last_injected_at"):
            used[id] = f"{count:012d} {_write_moment(at)}"
    return used
