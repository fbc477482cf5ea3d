"""Memories as pages of a Notion database. Notion ranks nothing and answers slowly: docs/backends.md has its limits."""

import threading
import time
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from core.outbound import Deadline
from core.words import gettext as _
from memory.backends.base import BackendError
from memory.backends.config_fields import BASE_URL, HEADERS, TIMEOUT, ConfigField, read_names
from memory.backends.connection import Connection, Reply, encode_segment
from memory.backends.notion_pages import PROPERTIES, find_title, read_page, write_properties, write_schema
from memory.backends.remote import RemoteBackend
from memory.records import MemoryFilter, MemoryRecord

PAGE_SIZE: Final = 100
MAX_MEMORIES: Final = 20_000
# Notion takes three requests a second; one that was too many may be sent again after this long at most.
MAX_WAIT_SECONDS: Final = 5.0
MAX_TRIES: Final = 3
MAX_PAGES_REMEMBERED: Final = 10_000


class NotionBackend(RemoteBackend):
    """Implements `MemoryBackend` on a database that was shared with an integration."""

    id = "notion"
    display_name = "Notion"
    config_fields: ClassVar[tuple[ConfigField, ...]] = (
        BASE_URL,
        ConfigField("apiKey", "secret", _("The secret of the integration."), is_required=True),
        ConfigField("databaseId", "text", _("The id in the database's address."), is_required=True),
        HEADERS,
        TIMEOUT,
    )

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.timeout_seconds = config.get("timeout", TIMEOUT.default) / 1000
        headers = {**read_names(config, "headers"), "authorization": f"Bearer {config['apiKey']}"}
        self._connection = Connection("Notion", config["baseUrl"], headers)
        self._database_id: str = config["databaseId"]
        self._title = ""
        # Pages of memories, by memory id. They never change.
        self._pages: dict[str, str] = {}
        self._lock = threading.Lock()

    def check(self, deadline: Deadline) -> None:
        """Also adds the properties that the database lacks."""
        told = self._call("GET", self._database_path, deadline).read_json()
        schema = told.get("properties") if isinstance(told, Mapping) else None
        if not isinstance(schema, Mapping):
            raise BackendError(_("Notion answered no database"), code="backend_bad_answer")
        self._title = find_title(schema)
        for name, kind in PROPERTIES.items():
            if name in schema and schema[name].get("type") != kind:
                told = _("The property %(name)s of the Notion database must be of the kind %(kind)s")
                raise BackendError(told % {"name": name, "kind": kind}, code="backend_not_configured")
        missing = [name for name in PROPERTIES if name not in schema]
        if missing:
            self._call("PATCH", self._database_path, deadline, {"properties": write_schema(missing)})

    def load(self, filter: MemoryFilter, deadline: Deadline) -> list[MemoryRecord]:
        conditions = []
        if filter.owner is not None:
            conditions.append(_write_condition("Owner", filter.owner))
        if filter.session_id is not None:
            conditions.append(_write_condition("Session", filter.session_id))
        if filter.type is not None:
            conditions.append({"property": "Type", "select": {"equals": filter.type}})
        return self._query(conditions, deadline)

    def find(self, id: str, deadline: Deadline) -> MemoryRecord | None:
        page_id = self._pages.get(id)
        if page_id is None:
            found = self._query([_write_condition("Memory ID", id)], deadline)
            # A page that a person has made is known by its own id.
            page_id = self._pages[found[0].id] if found and found[0].id == id else id
        record = self._read(page_id, deadline)
        return record if record is not None and record.id == id else None

    def find_key(self, owner: str, key: str, deadline: Deadline) -> MemoryRecord | None:
        conditions = [_write_condition("Owner", owner), {"property": self._title, "title": {"equals": key}}]
        # Notion doesn't tell letters' cases apart.
        found = self._query(conditions, deadline)
        matching = (record for record in found if (record.owner, record.key) == (owner, key))
        return max(matching, key=lambda record: record.updated_at, default=None)

    def write(self, record: MemoryRecord, stored: MemoryRecord | None, deadline: Deadline) -> MemoryRecord | None:
        body: dict[str, Any] = {"properties": write_properties(record, self._title)}
        if stored is None:
            body["parent"] = {"database_id": self._database_id}
            reply = self._call("POST", "/pages", deadline, body)
        else:
            page_id = self._find_page(stored.id, deadline)
            if page_id is None:
                return None
            reply = self._call("PATCH", f"/pages/{encode_segment(page_id)}", deadline, body, taken=(404,))
            if reply.status == 404:
                return None
        return self._keep(reply.read_json())

    def remove(self, id: str, deadline: Deadline) -> bool:
        """Into Notion's bin, from which people can take it back; the API has no way to delete for good."""
        page_id = self._find_page(id, deadline)
        if page_id is None:
            return False
        path = f"/pages/{encode_segment(page_id)}"
        is_gone = self._call("PATCH", path, deadline, {"archived": True}, taken=(404,)).is_success
        with self._lock:
            self._pages.pop(id, None)
        return is_gone

    @property
    def _database_path(self) -> str:
        return f"/databases/{encode_segment(self._database_id)}"

    def _find_page(self, id: str, deadline: Deadline) -> str | None:
        return self._pages.get(id) if self.find(id, deadline) is not None else None

    def _read(self, page_id: str, deadline: Deadline) -> MemoryRecord | None:
        """A page by its own id, if it is one of our database. 400 is Notion's answer to what is no id."""
        reply = self._call("GET", f"/pages/{encode_segment(page_id)}", deadline, taken=(404, 400))
        page = reply.read_json() if reply.is_success else None
        parent = page.get("parent") if isinstance(page, Mapping) else None
        if not isinstance(parent, Mapping) or _plain(parent.get("database_id")) != _plain(self._database_id):
            return None
        return self._keep(page)

    def _query(self, conditions: list[dict[str, Any]], deadline: Deadline) -> list[MemoryRecord]:
        records: list[MemoryRecord] = []
        body: dict[str, Any] = {"page_size": PAGE_SIZE, **({"filter": {"and": conditions}} if conditions else {})}
        while True:
            answer = self._call("POST", f"{self._database_path}/query", deadline, body).read_json()
            pages = answer.get("results") if isinstance(answer, Mapping) else None
            if not isinstance(pages, list):
                raise BackendError(_("Notion answered no list of pages"), code="backend_bad_answer")
            records += [record for record in map(self._keep, pages) if record is not None]
            cursor = answer.get("next_cursor")
            if not (answer.get("has_more") and cursor):
                return records
            if len(records) > MAX_MEMORIES:
                raise BackendError(
                    _("The Notion database holds more than the %(count)d memories that can be gone through")
                    % {"count": MAX_MEMORIES},
                    code="backend_too_large",
                )
            body["start_cursor"] = cursor

    def _keep(self, page: Any) -> MemoryRecord | None:
        record = read_page(page, self._title)
        if record is not None:
            with self._lock:
                if len(self._pages) >= MAX_PAGES_REMEMBERED:
                    self._pages.clear()
                self._pages[record.id] = str(page["id"])
        return record

    def _call(
        self, method: str, path: str, deadline: Deadline, body: object = None, *, taken: tuple[int, ...] = ()
    ) -> Reply:
        """One request, sent again where Notion says that it came too soon and there is time to wait."""
        for is_last in (*[False] * (MAX_TRIES - 1), True):
            statuses = taken if is_last else (*taken, 429)
            reply = self._connection.request_json(method, path, deadline=deadline, body=body, taken=statuses)
            if reply.status != 429:
                return reply
            seconds = _read_seconds(reply.retry_after)
            if seconds > min(MAX_WAIT_SECONDS, deadline.seconds_left()):
                break
            time.sleep(seconds)
        raise BackendError(
            _("%(peer)s has had too many requests (HTTP %(status)d)") % {"peer": "Notion", "status": 429},
            code="backend_rate_limited",
        )


def _write_condition(name: str, text: str) -> dict[str, Any]:
    return {"property": name, "rich_text": {"equals": text} if text else {"is_empty": True}}


def _read_seconds(retry_after: str) -> float:
    return float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 1.0


def _plain(id: Any) -> str:
    """Notion writes its ids with and without dashes."""
    return str(id).replace("-", "").lower()
