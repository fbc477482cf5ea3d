"""Holds an answer of the REST API against what the OpenAPI document declares for it."""

import re
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from omniroute.openapi.document import build_document

JSON = "application/json"


def assert_declared(method: str, address: str, answer: Any) -> None:
    """Fail when the status, or the shape of the body, is not in the document. Routes it does not have are passed by."""
    path = find_path(address.partition("?")[0])
    if path is None or method.lower() not in build_document()["paths"][path]:
        return
    status = str(answer.status_code)
    validator = find_validator(path, method.lower(), status)
    assert validator is not None, f"{method} {path} answers {status}, which is not declared"
    if answer.headers.get("Content-Type") == JSON and not getattr(answer, "streaming", False):
        faults = [f"{fault.json_path}: {fault.message[:300]}" for fault in validator.iter_errors(answer.json())]
        assert not faults, f"{method} {path} {status}: {faults}"


def find_path(address: str) -> str | None:
    """The path of the document that an address is of; a fixed one before one with a parameter."""
    paths = build_document()["paths"]
    if address in paths:
        return address
    fitting = (path for path in paths if re.fullmatch(re.sub(r"{\w+}", "[^/]+", path), address))
    return next(fitting, None)


@cache
def find_validator(path: str, method: str, status: str) -> Draft202012Validator | None:
    """What checks the JSON of that answer; None when the status is not declared."""
    document = build_document()
    declared = document["paths"][path][method]["responses"].get(status)
    if declared is None:
        return None
    schema = declared.get("content", {}).get(JSON, {}).get("schema", {})
    return Draft202012Validator({**schema, "components": document["components"]})
