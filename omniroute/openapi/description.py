"""How one operation is described, and the small words that schemas are written with."""

from dataclasses import dataclass, field
from typing import Any, Final

from rest_framework import serializers

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
WHOLE: Final[Schema] = {"type": "integer"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
NUMBER: Final[Schema] = {"type": "number"}
FLAG: Final[Schema] = {"type": "boolean"}
OBJECT: Final[Schema] = {"type": "object"}
MOMENT: Final[Schema] = {"type": "string", "format": "date-time", "examples": ["2026-11-30T15:44:24.091Z"]}
MEMORY_ID: Final[Schema] = {"type": "string", "format": "uuid"}


@dataclass(frozen=True)
class Description:
    """One operation. `body` and `query` are the serializers that read them, `answer` the schema of a 200.

    With `is_left_to_jobs` there may be a 202 that tells the job. `errors` are the statuses beside those that every
    operation may give. `answers` are further media types of a 200
    with their schemas; `raw_body` the media types of a body that no serializer reads.
    """

    id: str
    tag: str
    summary: str
    answer: Schema
    text: str = ""
    body: type[serializers.Serializer[Any]] | None = None
    query: type[serializers.Serializer[Any]] | None = None
    errors: tuple[int, ...] = ()
    is_left_to_jobs: bool = False
    example: Any = None
    answers: dict[str, Schema] = field(default_factory=dict)
    raw_body: dict[str, Schema] = field(default_factory=dict)


def refer(name: str) -> Schema:
    """A component of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def list_of(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def choice_of(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


def or_null(schema: Schema) -> Schema:
    if "$ref" in schema:
        return {"oneOf": [schema, {"type": "null"}]}
    return {
        **schema,
        "type": [schema["type"], "null"],
        **({"enum": [*schema["enum"], None]} if "enum" in schema else {}),
    }


def record(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """An object with these fields and no other one."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }
