"""Rows of the built-in backend narrowed by a `MemoryFilter` and put in order, and cursors into that order."""

import base64
import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any, Final

import django_filters
from django import forms
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from core.errors import FieldError, InvalidFieldsError
from memory.models import Memory, MemoryQuerySet, MemoryUse
from memory.records import EXPIRY_STATES, MEMORY_ORDERS, MemoryFilter, MemoryOrder, MemoryRecord

# How far ahead `expiry=soon` looks.
SOON: Final = timedelta(days=7)
BROKEN_CURSOR: Final = "Is no cursor of this list; begin again without one"
# What an order without its minus sign goes by: a column and an attribute of the record, which are called alike.
_COLUMNS: Final = {"created": "created_at", "updated": "updated_at", "key": "key"}


class _WholeTextField(forms.CharField):
    """Text as it is: no space at its ends is dropped, and "" is a value too."""

    empty_values = [None]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(strip=False, empty_value=None, **kwargs)


class _TextFilter(django_filters.CharFilter):  # type: ignore[misc]
    field_class = _WholeTextField

    def filter(self, rows: MemoryQuerySet, value: str | None) -> MemoryQuerySet:
        return rows if value is None else rows.filter(**{self.field_name: value})


class _RowsFilter(django_filters.Filter):  # type: ignore[misc]
    """A filter whose rule is a function of the value that gives a condition; None is no filter, "" is a value."""

    def __init__(self, field_class: type[forms.Field], write: Callable[[Any], Q]) -> None:
        super().__init__()
        self.field_class, self._write = field_class, write

    def filter(self, rows: MemoryQuerySet, value: Any) -> MemoryQuerySet:
        return rows if value is None else rows.filter(self._write(value))


def _write_text(text: str) -> Q:
    text = text.strip()
    return Q(content__icontains=text) | Q(key__icontains=text) if text else Q()


def _write_source(source: str) -> Q:
    if source:
        return Q(metadata__source=source)
    return Q(metadata__source__isnull=True) | Q(metadata__source=None) | Q(metadata__source="")


def _write_expiry(state: str) -> Q:
    now = timezone.now()
    match state:
        case "never":
            return Q(expires_at__isnull=True)
        case "active":
            return Q(expires_at__isnull=True) | Q(expires_at__gt=now)
        case "soon":
            return Q(expires_at__gt=now, expires_at__lte=now + SOON)
        case "expired":
            return Q(expires_at__lte=now)
    raise InvalidFieldsError([FieldError("expiry", f"Must be one of: {', '.join(EXPIRY_STATES)}")])


def _write_indexed(is_indexed: bool) -> Q:
    return Q(needs_reindex=not is_indexed)


def _write_used(is_used: bool) -> Q:
    used = Q(Exists(MemoryUse.objects.filter(memory_uuid=OuterRef("uuid"))))
    return used if is_used else ~used


class MemoryFilterSet(django_filters.FilterSet):  # type: ignore[misc]
    """Every field of a `MemoryFilter` but the owner, which the rows it is given are narrowed to already."""

    type = _TextFilter()
    session_id = _TextFilter()
    category = _TextFilter(field_name="metadata__category")
    polarity = _TextFilter(field_name="metadata__polarity")
    source = _RowsFilter(_WholeTextField, _write_source)
    text = _RowsFilter(_WholeTextField, _write_text)
    expiry = _RowsFilter(_WholeTextField, _write_expiry)
    is_indexed = _RowsFilter(forms.NullBooleanField, _write_indexed)
    is_used = _RowsFilter(forms.NullBooleanField, _write_used)

    class Meta:
        model = Memory
        fields: list[str] = []


def select_matching(filter: MemoryFilter) -> MemoryQuerySet:
    """Rows that match, in no order. A value that can't be searched for is an `InvalidFieldsError`, never all rows."""
    narrowed = MemoryFilterSet(asdict(filter), queryset=Memory.objects.owned_by(filter.owner))
    if not narrowed.is_valid():
        errors = narrowed.errors.get_json_data()
        raise InvalidFieldsError([FieldError(name, found[0]["message"]) for name, found in errors.items()])
    rows: MemoryQuerySet = narrowed.qs
    return rows


def put_in_order(rows: MemoryQuerySet, order: MemoryOrder) -> MemoryQuerySet:
    """The rows in that order, `memory_id` deciding between equals the same way."""
    column, sign = _read_order(order)
    return rows.order_by(f"{sign}{column}", f"{sign}memory_id")


def skip_to(rows: MemoryQuerySet, cursor: str | None, order: MemoryOrder) -> MemoryQuerySet:
    """Those of the rows that come after the cursor in that order; all without one.

    Raises `InvalidFieldsError` for what is no cursor, or one of another order.
    """
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


def write_cursor(record: MemoryRecord, order: MemoryOrder) -> str:
    """The cursor that a list in that order goes on from after this memory. An opaque text for everybody else."""
    value = attrgetter(_read_order(order)[0])(record)
    told = value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value
    place = json.dumps([order, told, record.memory_id], separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def _read_order(order: MemoryOrder) -> tuple[str, str]:
    """Return the column and "-" when the last comes first."""
    if order not in MEMORY_ORDERS:
        raise InvalidFieldsError([FieldError("order", f"Must be one of: {', '.join(MEMORY_ORDERS)}")])
    return _COLUMNS[order.removeprefix("-")], "-" if order.startswith("-") else ""


def _read_cursor(cursor: str, order: MemoryOrder) -> tuple[datetime | str, int]:
    refusal = InvalidFieldsError([FieldError("cursor", BROKEN_CURSOR)])
    try:
        place = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        given_order, told, memory_id = place
        told.encode()  # a broken surrogate could not be asked for
        value = told if order.endswith("key") else datetime.fromisoformat(told).astimezone(UTC)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        raise refusal from None
    if given_order != order or type(memory_id) is not int or not 0 < memory_id < 2**63:
        raise refusal
    return value, memory_id
