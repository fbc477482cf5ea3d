"""A Qdrant of the tests, over real HTTP: qdrant-client's own models on the wire, its local mode behind them.

    with QdrantStandIn() as qdrant:
        qdrant.address          # host and port for the settings
        qdrant.calls            # what was asked, in order
        qdrant.fault = hang()   # what every request meets from now on; None ends it
        qdrant.stop()           # refuses connections; start() listens on the same port again

It proves the wire and our code, not Qdrant's ranking or its speed: the local mode is slow, so keep data small.
"""

import json
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from pydantic import ValidationError
from qdrant_client import QdrantClient, models
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tests.live_server import find_free_port, wait_until
from tests.qdrant.local_mode import (
    change_aliases,
    change_points,
    count_points,
    create_collection,
    delete_points,
    dump,
    scroll_points,
    upsert_points,
)

Scope, Receive, Send = Any, Any, Any


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    body: Any
    api_key: str | None


@dataclass(frozen=True)
class Fault:
    """What a request meets instead of an answer; `seconds` before it, `closes` breaks off in the middle."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    seconds: float = 0.0
    closes: bool = False
    answers_after: bool = False


def hang(seconds: float = 30.0) -> Fault:
    return Fault(seconds=seconds, status=503)


def slow(seconds: float) -> Fault:
    """The right answer, late."""
    return Fault(seconds=seconds, answers_after=True)


def refuse(status: int) -> Fault:
    return Fault(status=status, body=json.dumps({"status": {"error": "s3cret words of the server"}}).encode())


def answer_html() -> Fault:
    return Fault(body=b"<html><body>Welcome to the proxy</body></html>", content_type="text/html")


def break_off() -> Fault:
    return Fault(closes=True)


@dataclass
class QdrantStandIn:
    """Keeps what was stored over `stop` and `start`, as a server with a disk does."""

    api_key: str | None = None
    fault: Fault | None = None
    # Points that every search returns first, whatever it asked for.
    strays: list[dict[str, Any]] = field(default_factory=list)
    # By the end of the path: faults of some requests only, such as {"/points/delete": refuse(500)}.
    faults_by_path: dict[str, Fault] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.local = QdrantClient(":memory:")
        self.port = find_free_port()
        self._lock = threading.Lock()
        self._indexed: dict[str, dict[str, Any]] = {}
        self._server: uvicorn.Server | None = None
        self._stopping = threading.Event()

    @property
    def address(self) -> dict[str, Any]:
        return {"host": "127.0.0.1", "port": self.port}

    def start(self) -> "QdrantStandIn":
        self._stopping.clear()
        app = _Gate(self, Starlette(routes=_build_routes(self)))
        config = uvicorn.Config(
            app, host="127.0.0.1", port=self.port, log_level="critical", lifespan="off", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        threading.Thread(target=self._server.run, daemon=True).start()
        wait_until(lambda: self._server is not None and self._server.started, "the stand-in does not start")
        return self

    def stop(self) -> None:
        if self._server is None:
            return
        self._stopping.set()
        self._server.should_exit = True
        server, self._server = self._server, None
        wait_until(lambda: not server.servers or not any(item.is_serving() for item in server.servers), "it goes on")
        time.sleep(0.05)

    def __enter__(self) -> "QdrantStandIn":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # what is in it, past the wire
    def read_points(self, collection: str) -> dict[str, dict[str, Any]]:
        """Payloads by id."""
        with self._lock:
            rows, _ = self.local.scroll(collection, limit=10_000, with_payload=True)
        return {str(row.id): row.payload or {} for row in rows}

    def list_collections(self) -> list[str]:
        with self._lock:
            return sorted(item.name for item in self.local.get_collections().collections)

    def count_calls(self, method: str, ending: str) -> int:
        return sum(call.method == method and call.path.endswith(ending) for call in list(self.calls))

    def find_calls(self, method: str, ending: str) -> list[Call]:
        return [call for call in list(self.calls) if call.method == method and call.path.endswith(ending)]

    def wait(self, seconds: float) -> None:
        self._stopping.wait(seconds)

    # the requests
    def ask(self, work: Callable[[QdrantClient], Any]) -> Response:
        with self._lock, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = work(self.local)
            except (ValueError, ValidationError) as error:
                is_missing = "not found" in str(error).lower()
                body = {"status": {"error": str(error)}, "time": 0.0}
                return JSONResponse(body, 404 if is_missing else 400)
        return JSONResponse({"result": dump(result), "status": "ok", "time": 0.001})

    def describe(self, name: str, client: QdrantClient) -> Any:
        info = client.get_collection(name)
        aliases = {item.alias_name: item.collection_name for item in client.get_aliases().aliases}
        name = aliases.get(name, name)
        info.payload_schema = {
            key: models.PayloadIndexInfo(data_type=data_type, points=0)
            for key, data_type in self._indexed.get(name, {}).items()
        }
        return info

    def note_index(self, name: str, field_name: str, schema: Any) -> dict[str, Any]:
        self._indexed.setdefault(name, {})[field_name] = getattr(schema, "type", schema)
        return {"operation_id": 0, "status": "completed"}


class _Gate:
    """Faults, the key and the record, before the routes."""

    def __init__(self, standin: QdrantStandIn, app: Any) -> None:
        self._standin = standin
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        standin, request = self._standin, Request(scope, receive)
        raw = await request.body()
        api_key = request.headers.get("api-key")
        standin.calls.append(Call(scope["method"], scope["path"], json.loads(raw) if raw else None, api_key))
        fault = next(
            (fault for end, fault in standin.faults_by_path.items() if scope["path"].endswith(end)), standin.fault
        )
        if fault is not None:
            await run_in_threadpool(standin.wait, fault.seconds)
            if fault.closes:
                await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"99")]})
                return
            if not fault.answers_after:
                await Response(fault.body, fault.status, media_type=fault.content_type)(scope, receive, send)
                return
        if standin.api_key is not None and api_key != standin.api_key and scope["path"] != "/readyz":
            await JSONResponse({"status": {"error": "Invalid API key"}}, 401)(scope, receive, send)
            return

        async def replay() -> dict[str, Any]:
            return {"type": "http.request", "body": raw, "more_body": False}

        await self._app(scope, replay, send)


def _build_routes(standin: QdrantStandIn) -> list[Route]:
    def route(path: str, method: str, work: Callable[[QdrantClient, str, Any], Any]) -> Route:
        async def answer(request: Request) -> Response:
            raw = await request.body()
            body, name = json.loads(raw) if raw else {}, request.path_params.get("name", "")
            return await run_in_threadpool(standin.ask, lambda client: work(client, name, body))

        return Route(path, answer, methods=[method])

    async def ready(request: Request) -> Response:
        return PlainTextResponse("all shards are ready")

    collection = "/collections/{name}"
    return [
        Route("/readyz", ready),
        route("/collections", "GET", lambda client, name, body: client.get_collections()),
        route("/aliases", "GET", lambda client, name, body: client.get_aliases()),
        route("/collections/aliases", "POST", change_aliases),
        route(collection, "GET", lambda client, name, body: standin.describe(name, client)),
        route(collection, "PUT", create_collection),
        route(collection, "PATCH", lambda client, name, body: bool(client.get_collection(name))),
        route(collection, "DELETE", lambda client, name, body: client.delete_collection(name)),
        route(f"{collection}/index", "PUT", lambda client, name, body: _index(standin, client, name, body)),
        route(f"{collection}/points", "PUT", upsert_points),
        route(f"{collection}/points/batch", "POST", change_points),
        route(f"{collection}/points/delete", "POST", delete_points),
        route(f"{collection}/points/query", "POST", lambda client, name, body: _query(standin, client, name, body)),
        route(f"{collection}/points/count", "POST", count_points),
        route(f"{collection}/points/scroll", "POST", scroll_points),
    ]


def _index(standin: QdrantStandIn, client: QdrantClient, name: str, body: Any) -> Any:
    client.get_collection(name)
    asked = models.CreateFieldIndex(**body)
    return standin.note_index(name, asked.field_name, asked.field_schema)


def _query(standin: QdrantStandIn, client: QdrantClient, name: str, body: Any) -> Any:
    asked = models.QueryRequest(**body)
    found = client.query_points(
        name,
        query=asked.query,
        using=asked.using,
        query_filter=asked.filter,
        limit=asked.limit,
        with_payload=asked.with_payload or False,
        search_params=asked.params,
    )
    return {"points": [*standin.strays, *(dump(point) for point in found.points)]}


def stray(point_id: str, score: float = 0.99) -> dict[str, Any]:
    return {"id": point_id, "version": 1, "score": score, "payload": None, "vector": None}
