"""Rows of the built-in backend narrowed by a `MemoryFilter`."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final

import django_filters
from django import forms
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from core.errors import FieldError, InvalidFieldsError
from core.words import gettext as _
from memory.models import Memory, MemoryQuerySet, MemoryUse
from memory.records import EXPIRY_STATES, MemoryFilter

# How far ahead `expiry=soon` looks.
SOON: Final = timedelta(days=7)


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
    raise InvalidFieldsError(
        [FieldError("expiry", _("Must be one of: %(names)s") % {"names": ", ".join(EXPIRY_STATES)})]
    )


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
