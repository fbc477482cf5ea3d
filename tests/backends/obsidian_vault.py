"""A stand-in for Obsidian with the Local REST API plugin: the routes, statuses and oddities that its documents tell."""

import json
import re
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import yaml
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from tests.backends.stand_in import Seen, StandIn

KEY = "obsidian-key-of-the-tests"
NOTE_JSON = "application/vnd.olrapi.note+json"
JSONLOGIC = "application/vnd.olrapi.jsonlogic+json"
INNER_ADDRESSES = ("heading", "block", "frontmatter")


@dataclass
class File:
    text: str
    mtime: int


@dataclass
class ObsidianVault(StandIn):
    """`files` is the vault. With `is_index_lagging`, new files are on the disk but not in the index."""

    files: dict[str, File] = field(default_factory=dict)
    unindexed: set[str] = field(default_factory=set)
    is_index_lagging: bool = False

    def forget(self) -> None:
        super().forget()
        self.files.clear()
        self.unindexed.clear()
        self.is_index_lagging = False

    def edit(self, path: str, text: str, *, mtime: int | None = None) -> None:
        """A person saves a note in Obsidian."""
        self.files[path] = File(text, mtime or time.time_ns() // 1_000_000)

    def move(self, path: str, new_path: str) -> None:
        self.files[new_path] = self.files.pop(path)

    async def handle(self, request: Request, seen: Seen) -> Response:
        is_authenticated = seen.headers.get("authorization") == f"Bearer {KEY}"
        if seen.path == "/":
            return JSONResponse(
                {"status": "OK", "service": "Obsidian Local REST API", "authenticated": is_authenticated}
            )
        if not is_authenticated:
            return _refuse(401, 40101, "Authorization required.")
        if seen.path == "/search/" and seen.method == "POST":
            return self._search(seen)
        if seen.path.startswith("/vault/"):
            return self._handle_file(seen)
        return _refuse(404, 40400, "Not Found")

    def _handle_file(self, seen: Seen) -> Response:
        segments = [unquote(segment) for segment in seen.path.removeprefix("/vault/").split("/")]
        if ".." in "/".join(segments).split("/"):
            return _refuse(400, 40012, "Path traversal is not allowed.")
        if any("/" in segment for segment in segments):
            return _refuse(404, 40400, "Not Found")
        path = "/".join(segments)
        if not path or path.endswith("/"):
            return self._list(path) if seen.method == "GET" else _refuse(405, 40510, "Only for files.")
        if seen.method == "PUT":
            return self._put(path, segments, seen)
        if path not in self.files:
            return _refuse(404, 40400, "Not Found")
        if seen.method == "DELETE":
            del self.files[path]
            return Response(status_code=204)
        if seen.headers.get("accept") == NOTE_JSON:
            if path in self.unindexed:
                return _refuse(404, 40400, "Not Found")
            return JSONResponse(self._describe(path, includes_content=True), media_type=NOTE_JSON)
        return PlainTextResponse(self.files[path].text, media_type="text/markdown")

    def _put(self, path: str, segments: list[str], seen: Seen) -> Response:
        if path not in self.files and any(segment in INNER_ADDRESSES for segment in segments):
            return _refuse(404, 40400, "Not Found")
        if seen.headers.get("content-type") != "text/markdown":
            return _refuse(400, 40011, "A content type is needed.")
        if self.is_index_lagging and path not in self.files:
            self.unindexed.add(path)
        self.edit(path, seen.body.decode())
        return Response(status_code=204)

    def _list(self, folder: str) -> Response:
        inside = [path.removeprefix(folder) for path in self.files if path.startswith(folder)]
        names = sorted({name.split("/")[0] + ("/" if "/" in name else "") for name in inside})
        return JSONResponse({"files": names}) if names else _refuse(404, 40400, "Not Found")

    def _search(self, seen: Seen) -> Response:
        if seen.headers.get("content-type") != JSONLOGIC:
            return _refuse(400, 40011, "Unknown query format.")
        query, results = json.loads(seen.body), []
        # The plugin reads the files' contents only for queries that name them.
        includes_content = b'"content"' in seen.body
        for path in self.files:
            if path.endswith(".md") and path not in self.unindexed:
                result = apply_logic(query, self._describe(path, includes_content=includes_content))
                if result not in (False, None, 0, "", [], {}):
                    results.append({"filename": path, "result": result})
        return JSONResponse(results)

    def _describe(self, path: str, *, includes_content: bool) -> dict[str, Any]:
        file = self.files[path]
        stat = {"ctime": file.mtime, "mtime": file.mtime, "size": len(file.text.encode())}
        match = re.match(r"---\n(.*?)^---$", file.text, re.DOTALL | re.MULTILINE)
        described: dict[str, Any] = {"path": path, "tags": [], "stat": stat}
        described["frontmatter"] = yaml.load(match[1], yaml.BaseLoader) if match else {}
        return {**described, "content": file.text} if includes_content else described


def apply_logic(rule: Any, data: Any) -> Any:
    """As much of JsonLogic as is asked for here; lists are applied item by item."""
    if isinstance(rule, list):
        return [apply_logic(item, data) for item in rule]
    if not isinstance(rule, dict):
        return rule
    [(operator, values)] = rule.items()
    values = values if isinstance(values, list) else [values]
    if operator == "if":
        condition, then, otherwise = values
        return apply_logic(then if apply_logic(condition, data) else otherwise, data)
    given = [apply_logic(value, data) for value in values]
    match operator:
        case "var":
            for name in given[0].split("."):
                data = data.get(name) if isinstance(data, dict) else None
            return data
        case "and":
            return next((value for value in given if not value), given[-1])
        case "===":
            return given[0] == given[1]
        case "in":
            return given[1] is not None and given[0] in given[1]
        case "substr":
            units = given[0].encode("utf-16-le")
            return units[given[1] * 2 : (given[1] + given[2]) * 2].decode("utf-16-le", "replace")
    raise AssertionError(f"the stand-in knows no {operator}")


def _refuse(status: int, code: int, message: str) -> Response:
    return JSONResponse({"errorCode": code, "message": message}, status)
