"""Whether a message is JSON-RPC at all, and the error that says why not, with JSON-RPC's own codes."""

import json
from dataclasses import dataclass
from typing import Any, Final

from core.error_handler import clean_text
from core.errors import InvalidFieldsError
from core.json_body import parse_json_object

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602


@dataclass(frozen=True, slots=True)
class FrameFault:
    """`request_id` is that of the message, where it can be told."""

    code: int
    message: str
    request_id: str | int | None = None

    def write(self) -> dict[str, Any]:
        error = {"code": self.code, "message": self.message}
        return {"jsonrpc": "2.0", "id": self.request_id, "error": error}


def find_frame_fault(raw: bytes) -> FrameFault | None:
    """Return what is wrong with the bytes of a message, None when it is one JSON-RPC message."""
    try:
        message = parse_json_object(raw)
    except InvalidFieldsError as error:
        if _is_json(raw):
            return FrameFault(INVALID_REQUEST, "Invalid Request: one JSON-RPC message is expected, no batch")
        told = "; ".join(f"{item.field}: {item.message}" for item in error.details) or error.message
        return FrameFault(PARSE_ERROR, clean_text(f"Parse error: {told}"))
    return find_envelope_fault(message)


def find_envelope_fault(message: dict[str, Any]) -> FrameFault | None:
    """Return what is wrong around the content of a message: version, id, method."""
    given_id = message.get("id")
    has_usable_id = isinstance(given_id, str | int) and not isinstance(given_id, bool)
    request_id = given_id if has_usable_id else None
    if message.get("jsonrpc") != "2.0":
        return FrameFault(INVALID_REQUEST, 'Invalid Request: jsonrpc must be "2.0"', request_id)
    if "id" in message and not has_usable_id:
        return FrameFault(INVALID_REQUEST, "Invalid Request: id must be a string or a whole number")
    is_answer = "result" in message or "error" in message
    if not is_answer and not isinstance(message.get("method"), str):
        return FrameFault(INVALID_REQUEST, "Invalid Request: method must be a string", request_id)
    if not isinstance(message.get("params"), dict | None):
        return FrameFault(INVALID_PARAMS, "Invalid params: params must be an object", request_id)
    return None


def _is_json(raw: bytes) -> bool:
    """Tell whether it is JSON, but no object: an object that could not be read is broken JSON to us."""
    try:
        return not isinstance(json.loads(raw), dict)
    except (ValueError, RecursionError):
        return False
