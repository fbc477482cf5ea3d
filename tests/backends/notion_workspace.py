"""A stand-in for Notion's API (2022-06-28): one database, its pages, filters, cursors, and the sizes it insists on."""

import json
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from tests.backends.stand_in import Seen, StandIn

KEY = "secret_notion-key-of-the-tests"
DATABASE = "897e5a76-ae52-4b48-a6d4-0b46543ebcda"
PAGE_SIZE = 100


@dataclass
class NotionWorkspace(StandIn):
    """`schema` is the database's: name -> kind. `pages` are told as they were stored, the newest first."""

    schema: dict[str, str] = field(default_factory=lambda: {"Name": "title"})
    pages: dict[str, dict[str, Any]] = field(default_factory=dict)

    def forget(self) -> None:
        super().forget()
        self.schema = {"Name": "title"}
        self.pages.clear()

    async def handle(self, request: Request, seen: Seen) -> Response:
        if seen.headers.get("authorization") != f"Bearer {KEY}":
            return _refuse(401, "unauthorized")
        if seen.headers.get("notion-version") != "2022-06-28":
            return _refuse(400, "missing_version")
        parts = seen.path.strip("/").split("/")
        body = json.loads(seen.body) if seen.body else {}
        match seen.method, parts:
            case "GET", ["v1", "databases", id] if _is_database(id):
                return JSONResponse(self._tell_database())
            case "PATCH", ["v1", "databases", id] if _is_database(id):
                self.schema.update({name: next(iter(kind)) for name, kind in body["properties"].items()})
                return JSONResponse(self._tell_database())
            case "POST", ["v1", "databases", id, "query"] if _is_database(id):
                return self._query(body)
            case "POST", ["v1", "pages"]:
                return self._create(body)
            case "GET" | "PATCH", ["v1", "pages", id]:
                return self._handle_page(id, seen.method, body)
        return _refuse(404, "object_not_found")

    def add_by_hand(self, **texts: str) -> str:
        """A person adds a row; returns the page's id."""
        kinds = {name: self.schema[name] for name in texts}
        values = {name: {kinds[name]: [{"text": {"content": text}}]} for name, text in texts.items()}
        return self._store(str(uuid.uuid4()), values)["id"]

    def _handle_page(self, id: str, method: str, body: dict[str, Any]) -> Response:
        page = self.pages.get(id)
        if page is None:
            try:
                uuid.UUID(id)
            except ValueError:
                return _refuse(400, "validation_error")
            return _refuse(404, "object_not_found")
        if method == "PATCH":
            fault = self._find_fault(body.get("properties", {}))
            if fault:
                return _refuse(400, "validation_error", fault)
            page["archived"] = body.get("archived", page["archived"])
            page["properties"].update(self._keep(body.get("properties", {})))
            page["last_edited_time"] = _now()
        return JSONResponse(page)

    def _create(self, body: dict[str, Any]) -> Response:
        if not _is_database(body["parent"]["database_id"]):
            return _refuse(404, "object_not_found")
        fault = self._find_fault(body["properties"])
        return (
            _refuse(400, "validation_error", fault)
            if fault
            else JSONResponse(self._store(str(uuid.uuid4()), body["properties"]))
        )

    def _store(self, id: str, properties: dict[str, Any]) -> dict[str, Any]:
        empty = {name: {kind: [] if kind in ("title", "rich_text") else None} for name, kind in self.schema.items()}
        page = {
            "object": "page",
            "id": id,
            "created_time": _now(),
            "last_edited_time": _now(),
            "archived": False,
            "parent": {"type": "database_id", "database_id": DATABASE},
            "properties": self._keep({**empty, **properties}),
        }
        self.pages = {id: page, **self.pages}
        return page

    def _keep(self, properties: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for name, value in properties.items():
            kind = self.schema[name]
            told = value[kind]
            if kind in ("title", "rich_text"):
                told = [{**piece, "plain_text": piece["text"]["content"]} for piece in told]
            if kind == "date" and told:
                # Notion keeps dates by the minute.
                told = {"start": datetime.fromisoformat(told["start"]).replace(second=0, microsecond=0).isoformat()}
            kept[name] = {"type": kind, kind: told}
        return kept

    def _find_fault(self, properties: dict[str, Any]) -> str:
        for name, value in properties.items():
            if name not in self.schema or self.schema[name] not in value:
                return f"{name} is not a property that exists, or of another kind"
            pieces = value.get("rich_text", value.get("title", []))
            if len(pieces) > 100:
                return f"{name} should have at most 100 elements"
            if any(len(piece["text"]["content"].encode("utf-16-le")) > 4000 for piece in pieces):
                return f"{name}: text.content.length should be at most 2000"
        return ""

    def _query(self, body: dict[str, Any]) -> Response:
        conditions = body.get("filter", {"and": []})["and"]
        found = [
            page
            for page in self.pages.values()
            if not page["archived"] and all(_fits(page["properties"], condition) for condition in conditions)
        ]
        start = int(body.get("start_cursor", 0))
        end = start + min(body["page_size"], PAGE_SIZE)
        has_more = end < len(found)
        told = {"object": "list", "results": found[start:end], "has_more": has_more}
        return JSONResponse({**told, "next_cursor": str(end) if has_more else None})

    def _tell_database(self) -> dict[str, Any]:
        properties = {name: {"id": name, "type": kind, kind: {}} for name, kind in self.schema.items()}
        return {"object": "database", "id": DATABASE, "properties": properties}


def _fits(properties: dict[str, Any], condition: dict[str, Any]) -> bool:
    value = properties[condition["property"]]
    if "select" in condition:
        return (value["select"] or {}).get("name") == condition["select"]["equals"]
    kind = "title" if "title" in condition else "rich_text"
    text = "".join(piece["plain_text"] for piece in value[kind])
    if "is_empty" in condition[kind]:
        return not text
    return text.casefold() == condition[kind]["equals"].casefold()


def _is_database(id: str) -> bool:
    return id.replace("-", "") == DATABASE.replace("-", "")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _refuse(status: int, code: str, message: str = "") -> Response:
    return JSONResponse({"object": "error", "status": status, "code": code, "message": message}, status)
