"""Memories of this database in the order that is asked for: pages from an offset, or from a cursor on.

Orders of columns read an index of the memories. The order by uses reads the counters' own index and looks each memory
up, before or after the memories that no chat has carried, which have no counter.
"""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q, QuerySet

from core.errors import FieldError, InvalidFieldsError
from core.words import gettext as _
from memory.backends.selection import select_matching
from memory.models import Memory, MemoryQuerySet, MemoryUse
from memory.records import MEMORY_ORDERS, MemoryFilter, MemoryOrder, MemoryRecord
from memory.rows import load_records

BROKEN_CURSOR: Final = _("Is no cursor of this list; begin again without one")
# What an order without its minus sign goes by: a column and an attribute of the record, which are called alike.
_COLUMNS: Final = {"created": "created_at", "updated": "updated_at", "key": "key"}
_USED: Final = "used"
# From here on it is cheaper to pass by ids alone, and to read the memories of one page afterwards: what is sorted or
# passed by is then some bytes a memory and not all that it says.
DEEP_ROWS: Final = 1000
_MAX_NUMBER: Final = 2**63
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a memory stands in the order by uses; one without uses by its `memory_id` alone."""

    count: int
    last_at: datetime
    uuid: str
    memory_id: int


_Part = Callable[[int, int], list[MemoryRecord]]


def load_page(filter: MemoryFilter, order: MemoryOrder, *, limit: int, offset: int) -> list[MemoryRecord]:
    """Up to `limit` memories that match, the first of them `offset` places from the first."""
    if _is_by_use(order):
        return _load_by_use(filter, order, None, limit, offset)
    rows = _put_in_order(select_matching(filter), order)
    if offset < DEEP_ROWS:
        return load_records(rows[offset : offset + limit])
    ids = list(rows.values_list("memory_id", flat=True)[offset : offset + limit])
    found = load_records(Memory.objects.owned_by(filter.owner).filter(memory_id__in=ids))
    return sorted(found, key=lambda record: ids.index(record.memory_id))


def load_after(filter: MemoryFilter, order: MemoryOrder, *, limit: int, after: str | None) -> list[MemoryRecord]:
    """Up to `limit` memories that come after the cursor, from the first without one.

    Raises `InvalidFieldsError` for what is no cursor, or one of another order.
    """
    if _is_by_use(order):
        return _load_by_use(filter, order, None if after is None else _read_use_cursor(after, order), limit, 0)
    rows = _skip_to(select_matching(filter), after, order)
    return load_records(_put_in_order(rows, order)[:limit])


def write_cursor(record: MemoryRecord, order: MemoryOrder) -> str:
    """The cursor that a list in that order goes on from after this memory. An opaque text for everybody else."""
    if _is_by_use(order):
        use = MemoryUse.objects.filter(memory_uuid=record.id).first()
        told: Any = [0, "", ""] if use is None else [use.count, _write_moment(use.last_injected_at), record.id]
    else:
        value = attrgetter(_read_order(order)[0])(record)
        told = _write_moment(value) if isinstance(value, datetime) else value
    place = json.dumps([order, told, record.memory_id], separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def _put_in_order(rows: MemoryQuerySet, order: MemoryOrder) -> MemoryQuerySet:
    """`memory_id` decides between equals the same way."""
    column, sign = _read_order(order)
    return rows.order_by(f"{sign}{column}", f"{sign}memory_id")


def _skip_to(rows: MemoryQuerySet, cursor: str | None, order: MemoryOrder) -> MemoryQuerySet:
    if cursor is None:
        return rows
    column, sign = _read_order(order)
    value, memory_id = _read_cursor(cursor, order)
    beyond = "lt" if sign else "gt"
    # The first condition is implied by the others; it is what lets SQLite begin in the middle of the index.
    return rows.filter(
        Q(**{f"{column}__{beyond}e": value}),
        Q(**{f"{column}__{beyond}": value}) | Q(**{f"memory_id__{beyond}": memory_id}),
    )


def _load_by_use(
    filter: MemoryFilter, order: MemoryOrder, place: _Place | None, limit: int, offset: int
) -> list[MemoryRecord]:
    """Those with uses and those without, one after the other; the second are read only as far as they are reached."""
    is_descending = order.startswith("-")
    parts: list[QuerySet[Any, Any]] = []
    if place is None or place.count or not is_descending:
        parts.append(_select_used(filter, is_descending, place if place is not None and place.count else None))
    if place is None or not place.count or is_descending:
        parts.append(_select_unused(filter, is_descending, place if place is not None and not place.count else None))
    records: list[MemoryRecord] = []
    for rows in parts if is_descending else reversed(parts):
        found = _load_part(filter, rows[offset : offset + limit - len(records)])
        offset = 0 if found or not offset else offset - rows.count()
        records += found
        if len(records) == limit:
            break
    return records


def _load_part(filter: MemoryFilter, rows: QuerySet[Any, Any]) -> list[MemoryRecord]:
    if rows.model is Memory:
        return load_records(rows)  # type: ignore[arg-type]
    ids = list(rows.values_list("memory_uuid", flat=True))
    found = {record.id: record for record in load_records(Memory.objects.owned_by(filter.owner).filter(uuid__in=ids))}
    return [found[id] for id in ids if id in found]


def _select_used(filter: MemoryFilter, is_descending: bool, place: _Place | None) -> QuerySet[MemoryUse]:
    """Counters of what matches; among equals by when they were carried last."""
    uses = MemoryUse.objects.filter(Exists(select_matching(filter).filter(uuid=OuterRef("memory_uuid"))))
    if place is not None:
        beyond = "lt" if is_descending else "gt"
        uses = uses.filter(
            Q(**{f"count__{beyond}e": place.count}),
            Q(**{f"count__{beyond}": place.count})
            | Q(**{f"last_injected_at__{beyond}": place.last_at})
            | Q(**{"last_injected_at": place.last_at, f"memory_uuid__{beyond}": place.uuid}),
        )
    sign = "-" if is_descending else ""
    return uses.order_by(f"{sign}count", f"{sign}last_injected_at", f"{sign}memory_uuid")


def _select_unused(filter: MemoryFilter, is_descending: bool, place: _Place | None) -> MemoryQuerySet:
    rows = select_matching(filter).filter(~Exists(MemoryUse.objects.filter(memory_uuid=OuterRef("uuid"))))
    if place is not None:
        rows = rows.filter(**{"memory_id__lt" if is_descending else "memory_id__gt": place.memory_id})
    return rows.order_by("-memory_id" if is_descending else "memory_id")


def _is_by_use(order: MemoryOrder) -> bool:
    return order.removeprefix("-") == _USED


def _read_order(order: MemoryOrder) -> tuple[str, str]:
    """Return the column and "-" when the last comes first."""
    if order not in MEMORY_ORDERS:
        raise InvalidFieldsError(
            [FieldError("order", _("Must be one of: %(names)s") % {"names": ", ".join(MEMORY_ORDERS)})]
        )
    return _COLUMNS[order.removeprefix("-")], "-" if order.startswith("-") else ""


def _read_cursor(cursor: str, order: MemoryOrder) -> tuple[datetime | str, int]:
    told, memory_id = _open_cursor(cursor, order)
    try:
        told.encode()  # a broken surrogate could not be asked for
        value = told if order.endswith("key") else datetime.fromisoformat(told).astimezone(UTC)
    except (ValueError, TypeError, AttributeError, OverflowError):
        raise _refuse_cursor() from None
    return value, memory_id


def _read_use_cursor(cursor: str, order: MemoryOrder) -> _Place:
    told, memory_id = _open_cursor(cursor, order)
    try:
        count, last_at, uuid = told
        uuid.encode()
        if type(count) is not int or not 0 <= count < _MAX_NUMBER:
            raise ValueError
        return _Place(count, datetime.fromisoformat(last_at).astimezone(UTC) if count else _NEVER, uuid, memory_id)
    except (ValueError, TypeError, AttributeError, OverflowError):
        raise _refuse_cursor() from None


def _open_cursor(cursor: str, order: MemoryOrder) -> tuple[Any, int]:
    try:
        place: Sequence[Any] = json.loads(
            base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        )
        given_order, told, memory_id = place
    except (ValueError, TypeError, RecursionError):
        raise _refuse_cursor() from None
    if given_order != order or type(memory_id) is not int or not 0 < memory_id < _MAX_NUMBER:
        raise _refuse_cursor()
    return told, memory_id


def _refuse_cursor() -> InvalidFieldsError:
    return InvalidFieldsError([FieldError("cursor", BROKEN_CURSOR)])


def _write_moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()
