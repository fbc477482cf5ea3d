"""An embedding API on this machine that answers as a test tells it to, and keeps what it was asked."""

import base64
import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

import numpy as np

from tests.embeddings.loopback import LoopbackServer

WIDTH = 8


@dataclass
class Asked:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        return self.body.get("input") or self.body.get("texts") or []


@dataclass
class Reply:
    """`chunks` are sent one after another with `pause_seconds` between; `pause_seconds` also passes before the head."""

    body: bytes | dict[str, Any] | list[Any] = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pause_seconds: float = 0.0
    chunks: list[bytes] | None = None
    sends_length: bool = True

    def encode(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def vector_of(text: str, width: int = WIDTH) -> list[float]:
    """A vector that depends on the text alone, of no particular length."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return [float(value) for value in np.random.default_rng(seed).normal(size=width) * 3]


def openai_reply(texts: list[str], width: int = WIDTH) -> dict[str, Any]:
    data = [
        {"object": "embedding", "index": index, "embedding": vector_of(text, width)} for index, text in enumerate(texts)
    ]
    return {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def cohere_reply(texts: list[str]) -> dict[str, Any]:
    return {"id": "1", "embeddings": {"float": [vector_of(text) for text in texts]}, "texts": texts}


def in_base64(values: list[float]) -> str:
    return base64.b64encode(np.array(values, dtype="<f4").tobytes()).decode()


def answer_normally(asked: Asked) -> Reply:
    return Reply(cohere_reply(asked.texts) if "/embed" in asked.path and "texts" in asked.body
                 else openai_reply(asked.texts))  # fmt: skip


def reply(**fields: Any) -> Callable[[Asked], Reply]:
    """The same reply to every request."""
    return lambda asked: Reply(**fields)


class StubApi(LoopbackServer):
    """Use as a context manager. `answer` may be replaced at any time; `asked` lists the requests so far."""

    def __init__(self, answer: Callable[[Asked], Reply] = answer_normally) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.is_closing = threading.Event()
        super().__init__(self._build_handler())

    def __exit__(self, *_: object) -> None:
        self.is_closing.set()
        super().__exit__()

    def _build_handler(self) -> type[BaseHTTPRequestHandler]:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._handle(b"{}")

            def do_POST(self) -> None:
                self._handle(self.rfile.read(int(self.headers.get("content-length", 0))))

            def _handle(self, body: bytes) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.path, headers, json.loads(body))
                stub.asked.append(asked)
                self._send(stub.answer(asked))

            def _send(self, reply: Reply) -> None:
                stub.is_closing.wait(reply.pause_seconds)
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                whole = reply.encode()
                if reply.chunks is None and reply.sends_length:
                    self.send_header("content-length", str(len(whole)))
                else:
                    self.send_header("connection", "close")
                    self.close_connection = True
                self.end_headers()
                try:
                    for chunk in reply.chunks if reply.chunks is not None else [whole]:
                        self.wfile.write(chunk)
                        self.wfile.flush()
                        if reply.chunks is not None:
                            stub.is_closing.wait(reply.pause_seconds)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        return Handler
