"""A web service in a thread of its own, for tests: an application on a free port, which keeps what it was sent."""

import asyncio
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


@dataclass
class Seen:
    """One request as it came in; `path` is still encoded."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass
class StandIn:
    """Subclasses answer in `handle`. `reply_next` answers the next requests instead, in order."""

    seen: list[Seen] = field(default_factory=list)
    reply_next: list[Response] = field(default_factory=list)
    delay_seconds: float = 0.0
    is_down: bool = False

    async def handle(self, request: Request, seen: Seen) -> Response:
        raise NotImplementedError

    def forget(self) -> None:
        """As it was when it was started."""
        self.seen.clear()
        self.reply_next.clear()
        self.delay_seconds, self.is_down = 0.0, False

    def __enter__(self) -> Any:
        app = Starlette(routes=[Route("/{path:path}", self._answer, methods=METHODS)])
        config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="off", ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(10)

    async def _answer(self, request: Request) -> Response:
        raw_path: bytes = request.scope["raw_path"]
        seen = Seen(
            request.method,
            raw_path.decode("ascii"),
            dict(request.query_params),
            {name.lower(): value for name, value in request.headers.items()},
            await request.body(),
        )
        self.seen.append(seen)
        if self.delay_seconds:
            await asyncio.sleep(self.delay_seconds)
        if self.is_down:
            return JSONResponse({"message": "down"}, 503)
        if self.reply_next:
            return self.reply_next.pop(0)
        return await self.handle(request, seen)
