"""An OpenAI-compatible upstream that does what a test tells it to, over real sockets, and keeps what it was sent.

    with UpstreamStub() as stub:
        stub.reply_with(json_reply(chat_answer("Hello.")))           # every request from now on
        stub.queue(sse_reply(["I prefer ", "tea."]), never_answer())  # the next two, in order
        stub.reply_by(lambda request: ...)                            # decide by the request

`stub.requests` are the requests seen; each knows its headers, body and when the other side has left. Requests for
embeddings come from the background too, so they are kept apart and answered with `stub.embedding_reply`.
Run as a script it serves one fixed answer for benchmarks: `python -m tests.upstream_stub`.
"""

import argparse
import json
import select
import socket
import socketserver
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.upstream_replies import (
    NEVER_SECONDS,
    Gate,
    HangUp,
    Pause,
    Reply,
    Reset,
    Send,
    Step,
    chat_answer,
    json_reply,
    sse_reply,
)

NO_EMBEDDINGS = json_reply({"error": {"message": "no embeddings here", "type": "x", "code": "y"}}, 404)


# --- what was asked ---
@dataclass
class RecordedRequest:
    """`left` is set as soon as the asking side closes its connection before the reply is through."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes
    left: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.json["messages"])

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


# --- the server ---
class UpstreamStub:
    """Listens on a free port of loopback from `start` (or `with`) to `stop`."""

    def __init__(self, port: int = 0) -> None:
        self.requests: list[RecordedRequest] = []
        self.embedding_requests: list[RecordedRequest] = []
        self.embedding_reply = NO_EMBEDDINGS
        self._arrived = threading.Condition()
        self._queue: deque[Reply] = deque()
        self._choose: Callable[[RecordedRequest], Reply] = lambda _: json_reply(chat_answer("Hello."))
        self._open = 0
        self.stopping = threading.Event()
        self._server = _Server(("127.0.0.1", port), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def start(self) -> "UpstreamStub":
        self._thread.start()
        return self

    def stop(self) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> "UpstreamStub":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # what to say
    def reply_with(self, reply: Reply) -> None:
        self._choose = lambda _: reply

    def reply_by(self, choose: Callable[[RecordedRequest], Reply]) -> None:
        self._choose = choose

    def queue(self, *replies: Reply) -> None:
        self._queue.extend(replies)

    def reset(self) -> None:
        """Forget requests and script; connections that are kept alive stay."""
        self.requests.clear()
        self.embedding_requests.clear()
        self.embedding_reply = NO_EMBEDDINGS
        self._queue.clear()
        self.reply_with(json_reply(chat_answer("Hello.")))

    # what happened
    @property
    def last(self) -> RecordedRequest:
        return self.requests[-1]

    @property
    def open_connections(self) -> int:
        return self._open

    def wait_for_requests(self, count: int, timeout_seconds: float = 10.0) -> list[RecordedRequest]:
        with self._arrived:
            arrived = self._arrived.wait_for(lambda: len(self.requests) >= count, timeout_seconds)
        assert arrived, f"{len(self.requests)} of {count} requests came"
        return self.requests

    # for the handler
    def note(self, request: RecordedRequest) -> Reply:
        if request.path.endswith("/embeddings"):
            self.embedding_requests.append(request)
            return self.embedding_reply
        with self._arrived:
            self.requests.append(request)
            reply = self._queue.popleft() if self._queue else None
            self._arrived.notify_all()
        return self._choose(request) if reply is None else reply

    def count_connection(self, change: int) -> None:
        with self._arrived:
            self._open += change


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], stub: UpstreamStub) -> None:
        self.stub = stub
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A peer that leaves in the middle is what tests do on purpose."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True
    server: _Server

    def handle(self) -> None:
        stub = self.server.stub
        stub.count_connection(+1)
        try:
            while not stub.stopping.is_set() and (request := self._read_request()) is not None:
                if not self._play(stub.note(request), request):
                    return
        finally:
            stub.count_connection(-1)

    def _read_request(self) -> RecordedRequest | None:
        start = self.rfile.readline().decode("latin-1").split()
        if len(start) != 3:
            return None
        headers = []
        while line := self.rfile.readline().decode("latin-1").strip():
            name, _, value = line.partition(":")
            headers.append((name, value.strip()))
        request = RecordedRequest(start[0], start[1], headers, b"")
        if (request.header("transfer-encoding") or "").lower() == "chunked":
            request.body = self._read_chunks()
        else:
            request.body = self.rfile.read(int(request.header("content-length") or 0))
        return request

    def _read_chunks(self) -> bytes:
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _play(self, reply: Reply, request: RecordedRequest) -> bool:
        """Return whether the connection can take another request."""
        try:
            return all(self._take(step, request) for step in reply)
        except OSError:
            request.left.set()
            return False
        finally:
            request.over.set()

    def _take(self, step: Step, request: RecordedRequest) -> bool:
        match step:
            case Send(data):
                self.connection.sendall(data)
            case Pause(seconds):
                return self._wait(lambda left: left <= 0, seconds, request)
            case Gate(event):
                return self._wait(lambda left: left <= 0 or event.is_set(), NEVER_SECONDS, request)
            case Reset():
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                return False
            case HangUp():
                return False
        return True

    def _wait(self, is_over: Callable[[float], bool], seconds: float, request: RecordedRequest) -> bool:
        """Wait with an eye on the other side; False when it has left or the stub stops."""
        deadline = time.monotonic() + seconds
        while not is_over(left := deadline - time.monotonic()):
            if self.server.stub.stopping.is_set():
                return False
            readable, _, _ = select.select([self.connection], [], [], min(left, 0.02))
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                request.left.set()
                return False
        return True


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve one fixed chat answer, streamed or not as asked.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--words", type=int, default=20, help="how many events a stream has")
    arguments = parser.parse_args()
    words = [f"word{number} " for number in range(arguments.words)]
    whole, streamed = json_reply(chat_answer("".join(words))), sse_reply(words)
    # A real server writes a burst of events at once; one write a token would measure the kernel.
    streamed = (streamed[0], Send(b"".join(step.data for step in streamed[1:] if isinstance(step, Send))))
    stub = UpstreamStub(arguments.port)
    stub.reply_by(lambda request: streamed if b'"stream":true' in request.body.replace(b" ", b"") else whole)
    with stub:
        print(stub.base_url, flush=True)
        sys.stdin.read()  # until whoever started us closes the pipe


if __name__ == "__main__":
    main()
