"""Read a chat request: check what we rely on, find what the user said, and write the body that goes upstream.

The body is somebody else's JSON and stays a plain `dict`: fields we know nothing about pass through untouched.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from core.errors import FieldError, InvalidFieldsError
from core.json_body import is_storable, parse_json_object
from core.words import gettext as _
from memory.injection import is_spoken_by_user

MAX_SESSION_ID_CHARS: Final = 256
TEXT_PART_TYPES: Final = ("text", "input_text", "output_text")
TRUE_HEADER_VALUES: Final = frozenset({"true", "1", "yes"})
NO_MEMORY_HEADER: Final = "x-omniroute-no-memory"
SESSION_ID_HEADER: Final = "x-omniroute-session-id"


@dataclass(frozen=True)
class ChatRequest:
    """A chat body that passed the checks. `raw` is what the caller sent; `body` is the same, parsed."""

    raw: bytes
    body: dict[str, Any]

    @property
    def model(self) -> str:
        return str(self.body["model"])

    @property
    def query_text(self) -> str:
        """What memories are searched with: the last thing the user said, its text parts joined by a space."""
        return " ".join(_last_user_texts(self.body["messages"])).strip()

    @property
    def user_text(self) -> str:
        """What facts are taken from: the same message, its text parts one a line."""
        return "\n".join(_last_user_texts(self.body["messages"]))


def parse_chat_request(raw: bytes) -> ChatRequest:
    """Raises InvalidFieldsError naming the field that is wrong, or what `parse_json_object` raises."""
    body = parse_json_object(raw)
    model = body.get("model")
    if not isinstance(model, str) or not model.strip() or not is_storable(model):
        raise _build_error("model", _("must be a non-empty string, such as provider/model"))
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise _build_error("messages", _("must be a non-empty list"))
    for index, message in enumerate(messages):
        _check_message(message, f"messages.{index}")
    return ChatRequest(raw, body)


def write_upstream_body(request: ChatRequest, injected: dict[str, Any], model: str) -> bytes:
    """Return the caller's own bytes when there is nothing to change in them, else the changed body as JSON."""
    if injected is request.body and model == request.model:
        return request.raw
    # Escapes keep lone surrogates, which have no UTF-8, as the caller wrote them.
    return json.dumps({**injected, "model": model}, separators=(",", ":")).encode("ascii")


def opts_out_of_memory(headers: Mapping[str, str]) -> bool:
    """A header that was sent twice arrives joined by a comma: one yes among them is enough."""
    values = headers.get(NO_MEMORY_HEADER, "").split(",")
    return any(value.strip().lower() in TRUE_HEADER_VALUES for value in values)


def read_session_id(headers: Mapping[str, str]) -> str:
    """Return the session the caller names, cut to 256 printable characters; "" when there is none."""
    value = "".join(char for char in headers.get(SESSION_ID_HEADER, "") if char.isprintable())
    return value.strip()[:MAX_SESSION_ID_CHARS]


def read_text_parts(content: Any) -> Iterator[str]:
    """Yield the texts of a message's content; pictures, sound and parts of unknown type have none."""
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            yield part
        elif not isinstance(part, dict):
            continue
        elif part.get("type", "text") in TEXT_PART_TYPES and isinstance(part.get("text"), str):
            yield part["text"]


def _last_user_texts(messages: Sequence[dict[str, Any]]) -> list[str]:
    for message in reversed(messages):
        if is_spoken_by_user(message):
            return list(read_text_parts(message.get("content")))
    return []


def _check_message(message: Any, path: str) -> None:
    if not isinstance(message, dict):
        raise _build_error(path, _("must be an object"))
    role = message.get("role")
    if not isinstance(role, str) or not role.strip():
        raise _build_error(f"{path}.role", _("must be a non-empty string"))
    content = message.get("content")
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list) or not all(isinstance(part, dict | str) for part in content):
        raise _build_error(f"{path}.content", _("must be text, a list of parts, or null"))


def _build_error(field: str, reason: str) -> InvalidFieldsError:
    return InvalidFieldsError(
        [FieldError(field, reason)], _("%(field)s %(reason)s") % {"field": field, "reason": reason}
    )
