"""Replies of the upstream that the tests script: steps on a socket, and whole answers and streams made of them."""

import gzip
import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Send:
    """Bytes, flushed to the network at once."""

    data: bytes


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Reset:
    """Cut the connection with RST, as a crashed process or a middlebox does."""


@dataclass(frozen=True)
class HangUp:
    """Close the connection although more was promised."""


@dataclass(frozen=True)
class Gate:
    """Go on when the test opens it."""

    event: threading.Event


Step = Send | Pause | Reset | HangUp | Gate
Reply = Sequence[Step]
NEVER_SECONDS = 3600.0


def raw_reply(*steps: Step) -> Reply:
    return steps


def head(status: int, headers: dict[str, str]) -> Send:
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    return Send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))


def chunk(data: bytes) -> Send:
    """One piece of a body in chunked transfer encoding."""
    return Send(b"%x\r\n%b\r\n" % (len(data), data))


LAST_CHUNK = Send(b"0\r\n\r\n")


def body_reply(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Reply:
    """A complete answer with a Content-Length."""
    return (head(status, {**(headers or {}), "Content-Length": str(len(body))}), Send(body))


def json_reply(
    body: Any, status: int = 200, headers: dict[str, str] | None = None, *, compressed: bool = False
) -> Reply:
    data = json.dumps(body).encode()
    own = {"Content-Type": "application/json", **({"Content-Encoding": "gzip"} if compressed else {})}
    return body_reply(gzip.compress(data) if compressed else data, status, {**own, **(headers or {})})


def stream_reply(
    data: Iterable[bytes | Step], status: int = 200, headers: dict[str, str] | None = None, *, ends: bool = True
) -> Reply:
    """A chunked answer of type text/event-stream: each `bytes` is one piece, steps are taken as they are."""
    own = {"Content-Type": "text/event-stream; charset=utf-8", "Transfer-Encoding": "chunked"}
    steps = [chunk(item) if isinstance(item, bytes) else item for item in data]
    return (head(status, {**own, **(headers or {})}), *steps, *((LAST_CHUNK,) if ends else ()))


def sse_reply(texts: Iterable[str], *, pause_seconds: float = 0.0, is_bytewise: bool = False) -> Reply:
    """A whole chat stream that says `texts`, with role, finish and `[DONE]`."""
    data = [*(delta_event(text) for text in texts), FINISH_EVENT, DONE_EVENT]
    if is_bytewise:
        data = [bytes([byte]) for byte in b"".join(data)]
    steps: list[bytes | Step] = []
    for item in data:
        steps += [item, Pause(pause_seconds)] if pause_seconds else [item]
    return stream_reply(steps)


def never_answer() -> Reply:
    return (Pause(NEVER_SECONDS),)


def delta_event(text: str, index: int = 0) -> bytes:
    event = {
        "id": "chatcmpl-stub",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "stub",
        "choices": [{"index": index, "delta": {"role": "assistant", "content": text}, "finish_reason": None}],
    }
    return b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n"


FINISH_EVENT = (
    b'data: {"id":"chatcmpl-stub","object":"chat.completion.chunk","created":1,"model":"stub",'
    b'"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
)
DONE_EVENT = b"data: [DONE]\n\n"


def chat_answer(*contents: Any, **message: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": 1,
        "model": "stub",
        "choices": [
            {
                "index": index,
                "message": {"role": "assistant", "content": content, **message},
                "finish_reason": "stop",
            }
            for index, content in enumerate(contents)
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
