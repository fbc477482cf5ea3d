"""Schemas of our serializer fields, which are stricter than those of the framework."""

from typing import Any

from rest_framework import serializers
from rest_framework.fields import empty

from core.fields import (
    QueryBooleanField,
    StrictBooleanField,
    StrictChoiceField,
    StrictIntegerField,
    StrictObjectField,
    StrictSerializer,
    StrictTextField,
    StrictTextListField,
    TimestampField,
)
from omniroute.openapi.description import Schema, or_null

AnyField = serializers.Field[Any, Any, Any, Any]


def describe_fields(serializer: type[serializers.Serializer[Any]]) -> Schema:
    """The schema of the object that the serializer reads."""
    fields = serializer().fields
    ignored = serializer.ignored_fields if issubclass(serializer, StrictSerializer) else frozenset[str]()
    schema: Schema = {
        "type": "object",
        "properties": {
            **{name: describe_field(field) for name, field in fields.items()},
            **{name: {"description": "Taken and ignored."} for name in sorted(ignored)},
        },
        "additionalProperties": not issubclass(serializer, StrictSerializer),
    }
    required = [name for name, field in fields.items() if field.required]
    return {**schema, "required": required} if required else schema


def describe_field(field: AnyField) -> Schema:
    """The schema of what a field accepts, with its default."""
    schema = _describe_value(field)
    if field.allow_null:
        schema = or_null(schema) if "type" in schema else {"oneOf": [*schema["oneOf"], {"type": "null"}]}
    if field.default is not empty:
        schema["default"] = field.default() if callable(field.default) else field.default
    if field.help_text:
        schema["description"] = str(field.help_text)
    return schema


def _describe_value(field: AnyField) -> Schema:
    match field:
        case StrictTextField():
            schema: Schema = {"type": "string", "maxLength": field.max_length}
            return schema if field.allow_blank else {**schema, "minLength": 1}
        case StrictIntegerField():
            return {"type": "integer", "minimum": field.minimum, "maximum": field.maximum}
        case StrictBooleanField() | QueryBooleanField():
            return {"type": "boolean"}
        case StrictChoiceField():
            return {"type": "string", "enum": list(field.choices)}
        case StrictTextListField():
            item = {"type": "string", "minLength": 1, "maxLength": field.max_length}
            return {"type": "array", "items": item, "maxItems": field.max_items}
        case StrictObjectField():
            return {"type": "object"}
        case TimestampField():
            return {"oneOf": [{"type": "string", "format": "date-time"}, {"type": "number"}]}
    raise TypeError(f"{type(field).__name__} has no schema; describe it in omniroute/openapi/fields.py")
