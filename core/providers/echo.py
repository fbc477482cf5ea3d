"""The built-in provider: it answers, without any network, with the very messages that it was sent.

So anybody sees what a request looks like when it leaves us, memory included, before there is a key to pay for.
Each message is one line, `role: content`; a message that holds more than plain text is JSON behind its role.
"""

import json
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, Final

from core.providers.replies import UpstreamReply

MAX_CHOICES: Final = 8
PIECE_LENGTH: Final = 48
MAX_PIECES: Final = 200
JSON_HEADERS: Final = {"content-type": "application/json"}
STREAM_HEADERS: Final = {"content-type": "text/event-stream; charset=utf-8"}


@dataclass(frozen=True)
class _Chat:
    """A request that echo understands, and the answer it gets."""

    id: str
    created: int
    model: str
    text: str
    choices: int
    streams: bool
    tells_usage: bool
    prompt_tokens: int

    @property
    def usage(self) -> dict[str, int]:
        completion_tokens = count_tokens(self.text) * self.choices
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": self.prompt_tokens + completion_tokens,
        }


class _BadRequestError(Exception):
    def __init__(self, param: str | None, message: str) -> None:
        super().__init__(message)
        self.param = param
        self.message = message


def answer_chat(model: str, body: bytes) -> UpstreamReply:
    """Answer a chat completions body as an upstream would, a bad one with its 400."""
    try:
        chat = _read_chat(model, body)
    except _BadRequestError as error:
        told = {
            "message": error.message,
            "type": "invalid_request_error",
            "param": error.param,
            "code": None,
        }
        return _build_reply(400, JSON_HEADERS, iter([_dump({"error": told})]))
    if chat.streams:
        return _build_reply(200, STREAM_HEADERS, _write_events(chat))
    return _build_reply(200, JSON_HEADERS, iter([_dump(_build_completion(chat))]))


def render_messages(messages: list[Any]) -> str:
    """Return the messages as text, in their order."""
    return "\n".join(_render_message(message) for message in messages)


def count_tokens(text: str) -> int:
    """Estimate: four characters a token."""
    return -(-len(text) // 4)


def _render_message(message: Any) -> str:
    if not isinstance(message, dict):
        return json.dumps(message, ensure_ascii=False)
    role = message.get("role")
    rest = {name: value for name, value in message.items() if name != "role"}
    if set(rest) == {"content"} and isinstance(rest["content"], str):
        return f"{role}: {rest['content']}"
    return f"{role}: {json.dumps(rest, ensure_ascii=False)}"


def _read_chat(model: str, body: bytes) -> _Chat:
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        raise _BadRequestError(None, "The body is not JSON") from None
    messages = request.get("messages") if isinstance(request, dict) else None
    if not isinstance(messages, list) or not messages:
        raise _BadRequestError("messages", "messages must be a list with at least one message")
    choices = request.get("n")
    choices = 1 if choices is None else choices
    if isinstance(choices, bool) or not isinstance(choices, int) or not 1 <= choices <= MAX_CHOICES:
        raise _BadRequestError("n", f"n must be a whole number between 1 and {MAX_CHOICES}")
    streams = request.get("stream")
    if streams is not None and not isinstance(streams, bool):
        raise _BadRequestError("stream", "stream must be true or false")
    options = request.get("stream_options")
    text = render_messages(messages)
    return _Chat(
        id=f"chatcmpl-{uuid.uuid4().hex}",
        created=int(time.time()),
        model=model or "echo",
        text=text,
        choices=choices,
        streams=bool(streams),
        tells_usage=isinstance(options, dict) and options.get("include_usage") is True,
        prompt_tokens=count_tokens(text),
    )


def _build_completion(chat: _Chat) -> dict[str, Any]:
    return {
        "id": chat.id,
        "object": "chat.completion",
        "created": chat.created,
        "model": chat.model,
        "choices": [
            {
                "index": index,
                "message": {"role": "assistant", "content": chat.text, "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
            for index in range(chat.choices)
        ],
        "usage": chat.usage,
    }


def _write_events(chat: _Chat) -> Iterator[bytes]:
    for index in range(chat.choices):
        yield _write_event(chat, [_build_delta(index, {"role": "assistant", "content": ""})])
        for piece in _cut(chat.text):
            yield _write_event(chat, [_build_delta(index, {"content": piece})])
        yield _write_event(chat, [_build_delta(index, {}, "stop")])
    if chat.tells_usage:
        yield _write_event(chat, [], chat.usage)
    yield b"data: [DONE]\n\n"


def _cut(text: str) -> Iterator[str]:
    """A few characters at a time, as a model would, but never in very many pieces."""
    length = max(PIECE_LENGTH, -(-len(text) // MAX_PIECES))
    return (text[start : start + length] for start in range(0, len(text), length))


def _build_delta(index: int, delta: dict[str, str], finish_reason: str | None = None) -> dict[str, Any]:
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _write_event(chat: _Chat, choices: list[dict[str, Any]], usage: dict[str, int] | None = None) -> bytes:
    chunk: dict[str, Any] = {
        "id": chat.id,
        "object": "chat.completion.chunk",
        "created": chat.created,
        "model": chat.model,
        "choices": choices,
    }
    if chat.tells_usage:
        chunk["usage"] = usage
    return b"data: " + _dump(chunk) + b"\n\n"


def _dump(value: dict[str, Any]) -> bytes:
    """JSON that a person can read in any script; a lone surrogate, which has no UTF-8, stays a JSON escape."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _build_reply(status: int, headers: dict[str, str], pieces: Iterator[bytes]) -> UpstreamReply:
    async def close() -> None:
        """There is no connection to close."""

    return UpstreamReply(status=status, headers=headers, chunks=_give(pieces), content_encoding="", close=close)


async def _give(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
