"""drf-spectacular's inspector of a view, told by our descriptions instead of by guessing."""

from typing import Any, Final

from drf_spectacular.openapi import AutoSchema
from uritemplate import variables

from omniroute.openapi.components import COMMON_ERRORS, JOB, SECURITY, STATUS_WORDS
from omniroute.openapi.description import Description, Schema, refer
from omniroute.openapi.fields import describe_field, describe_fields
from omniroute.openapi.operations import DESCRIPTIONS

JSON: Final = "application/json"
PATH_PARAMETERS: Final[dict[str, Schema]] = {
    "memory_id": {"type": "string", "format": "uuid"},
    "job_id": {"type": "string", "format": "uuid"},
}
QUERY_TEXTS: Final = {
    "cursor": "`nextCursor` of an earlier answer with the same `order` and filters; wins over `offset` and `page`.",
    "expiry": "`soon` is within seven days; `active` is not expired.",
    "indexed": "Whether the vector is up to date.",
    "offset": "Wins over `page`.",
    "q": "Part of content or key, in any case.",
    "source": "`metadata.source`; `none` for memories without one.",
    "used": "Whether a chat has ever carried it.",
}


class DescribedSchema(AutoSchema):
    @property
    def description(self) -> Description:
        return DESCRIPTIONS[type(self.view), self.method]

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: Any
    ) -> dict[str, Any] | None:
        self.method, self.path, self.registry = method.upper(), path, registry
        told = self.description
        operation: dict[str, Any] = {
            "operationId": told.id,
            "summary": told.summary,
            "tags": [told.tag],
            "security": SECURITY,
            "responses": build_responses(told),
        }
        if told.text:
            operation["description"] = told.text
        parameters = [*_describe_path(path), *_describe_query(told)]
        if parameters:
            operation["parameters"] = parameters
        body = _describe_body(told)
        if body:
            operation["requestBody"] = body
        return operation


def build_responses(told: Description) -> dict[str, Any]:
    """What an operation may answer: its 200, and the errors."""
    content = {name: {"schema": schema} for name, schema in told.answers.items()} or {JSON: {"schema": told.answer}}
    if told.example is not None and JSON in content:
        content[JSON]["example"] = told.example
    responses: dict[str, Any] = {"200": {"description": told.summary, "content": content}}
    if told.is_left_to_jobs:
        responses["202"] = {"description": "There is much to do: a job does it.", "content": {JSON: {"schema": JOB}}}
    for status in sorted({*COMMON_ERRORS, *told.errors}):
        responses[str(status)] = {
            "description": STATUS_WORDS[status],
            "content": {JSON: {"schema": refer("Error")}},
        }
    return responses


def _describe_path(path: str) -> list[dict[str, Any]]:
    return [{"name": name, "in": "path", "required": True, "schema": PATH_PARAMETERS[name]} for name in variables(path)]


def _describe_query(told: Description) -> list[dict[str, Any]]:
    if told.query is None:
        return []
    return [
        {
            "name": name,
            "in": "query",
            "required": field.required,
            "schema": _describe_parameter(field),
            **({"description": QUERY_TEXTS[name]} if name in QUERY_TEXTS else {}),
        }
        for name, field in told.query().fields.items()
    ]


def _describe_parameter(field: Any) -> Schema:
    """An empty parameter is an absent one."""
    return {name: value for name, value in describe_field(field).items() if name != "minLength"}


def _describe_body(told: Description) -> dict[str, Any] | None:
    if told.raw_body:
        return {"required": True, "content": {name: {"schema": schema} for name, schema in told.raw_body.items()}}
    if told.body is None:
        return None
    schema = describe_fields(told.body)
    return {"required": "required" in schema, "content": {JSON: {"schema": schema}}}
