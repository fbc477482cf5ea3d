"""The body of a settings section, built from the section's own table, so that a range stands in one place."""

from collections.abc import Mapping
from typing import Any, Final

from rest_framework import serializers

from core.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictObjectField,
    StrictSerializer,
    StrictTextField,
    StrictTextListField,
)
from core.runtime_settings import Section, SettingField

MAX_TEXT_LENGTH: Final = 2000
MAX_LIST_ITEMS: Final = 50

AnyField = serializers.Field[Any, Any, Any, Any]


def build_section_serializer(section: Section, special: Mapping[str, AnyField]) -> type[StrictSerializer]:
    """Return a strict serializer of partial changes: every field is optional, no unknown field is taken.

    `special` holds the fields, by wire name, of which the table can't tell all.
    """
    fields = {item.name: special.get(item.name) or _build_field(item) for item in section.fields}
    return type(f"{section.name.title()}SectionSerializer", (StrictSerializer,), dict(fields))


def _build_field(item: SettingField) -> AnyField:
    if item.kind == "bool":
        return StrictBooleanField(required=False)
    if item.kind == "int":
        return StrictIntegerField(minimum=item.minimum, maximum=item.maximum, required=False)
    if item.kind == "choice":
        return StrictChoiceField(item.choices, required=False)
    if item.kind == "text":
        return SettingTextField(is_nullable=item.nullable)
    if item.kind == "text_list":
        return StrictTextListField(max_items=MAX_LIST_ITEMS, max_length=MAX_TEXT_LENGTH, required=False)
    return StrictObjectField(required=False)


class SettingTextField(StrictTextField):
    """Trimmed text; where it may be null, an empty one is null."""

    def __init__(self, *, is_nullable: bool) -> None:
        super().__init__(
            max_length=MAX_TEXT_LENGTH, required=False, allow_blank=is_nullable, allow_null=is_nullable, trim=True
        )

    def run_validation(self, data: Any = serializers.empty) -> Any:
        value = super().run_validation(data)
        return None if value == "" else value
