"""Any REST service that keeps memories, by its configuration (contract 14); see docs/backends.md for the wire."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from django.utils import timezone

from core.outbound import Deadline
from core.words import gettext as _
from memory.backends import narrowing
from memory.backends.base import BackendError
from memory.backends.config_fields import API_KEY, BASE_URL, HEADERS, TIMEOUT, ConfigField, read_names
from memory.backends.connection import Connection, encode_segment
from memory.backends.generic_wire import read_item, read_list, write_difference, write_fields, write_moment
from memory.backends.remote import RemoteBackend
from memory.records import (
    DEFAULT_ORDER,
    MemoryFilter,
    MemoryOrder,
    MemoryPage,
    MemoryRecord,
    SearchHit,
    SearchOutcome,
    SearchQuery,
)

ENDPOINTS: Final = {
    "search": "/memories/search",
    "create": "/memories",
    "list": "/memories",
    "get": "/memories/{id}",
    "update": "/memories/{id}",
    "delete": "/memories/{id}",
    "health": "/health",
}
QUERY_PARAMS: Final = (
    "query", "apiKeyId", "limit", "offset", "strategy", "maxTokens", "type", "sessionId", "orderBy", "orderDir",
    "options",
)  # fmt: skip
PATH_PARAMS: Final = ("id", "memoryId")
ORDER_NAMES: Final = {"created": "createdAt", "updated": "updatedAt", "key": "key"}
PAGE_SIZE: Final = 200
# What is fetched whole where the service can't narrow or count itself.
MAX_MEMORIES: Final = 20_000


Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class _Listing:
    """One answer of the list endpoint; the counts are None where it tells none."""

    records: list[MemoryRecord]
    total: int | None
    by_type: dict[str, int] | None


class GenericMemoryBackend(RemoteBackend):
    """A REST service behind `baseUrl`. `config` is validated: see `config_fields`."""

    id = "generic"
    display_name: str = _("REST service")
    config_fields: ClassVar[tuple[ConfigField, ...]] = (
        BASE_URL,
        API_KEY,
        HEADERS,
        TIMEOUT,
        ConfigField("backendType", "text", _("A word for the log.")),
        ConfigField(
            "endpoints", "names", _("Paths below baseUrl; empty where the service has none."), names=tuple(ENDPOINTS)
        ),
        ConfigField("queryParams", "names", _("The service's names of query parameters."), names=QUERY_PARAMS),
        ConfigField("pathParams", "names", _("The placeholders' names in the paths."), names=PATH_PARAMS),
        ConfigField("updateMethod", "choice", _("How the service takes changes."), names=("PATCH", "PUT")),
    )

    def __init__(self, config: Mapping[str, Any], *, id: str | None = None, display_name: str | None = None) -> None:
        self.id = id or type(self).id
        self.display_name = display_name or type(self).display_name
        self.timeout_seconds = config.get("timeout", TIMEOUT.default) / 1000
        self._endpoints = {**ENDPOINTS, **read_names(config, "endpoints")}
        self._query_params = read_names(config, "queryParams")
        self._path_params = read_names(config, "pathParams")
        self._update_method: str = config.get("updateMethod", "PATCH")
        headers = {**read_names(config, "headers")}
        if config.get("apiKey"):
            # The key wins over an Authorization header of one's own, in whatever letters that is written.
            headers = {name: value for name, value in headers.items() if name.lower() != "authorization"}
            headers["authorization"] = f"Bearer {config['apiKey']}"
        # A service may be called by its kind beside its id: "The backend generic Chroma".
        peer = _("The backend %(name)s") % {"name": " ".join(filter(None, (self.id, config.get("backendType"))))}
        self._connection = Connection(peer, config["baseUrl"], headers)

    def check(self, deadline: Deadline) -> None:
        if self._endpoints["health"]:
            self._connection.request_json("GET", self._endpoints["health"], deadline=deadline)
        else:
            self._list(MemoryFilter(None), DEFAULT_ORDER, 1, 0, deadline)

    def find(self, id: str, deadline: Deadline) -> MemoryRecord | None:
        reply = self._connection.request_json("GET", self._fill("get", id), deadline=deadline, taken=(404,))
        if reply.status == 404:
            return None
        record = read_item(reply.read_json(), reply.peer)
        if record is None:
            raise BackendError(_("%(peer)s answered no memory") % {"peer": reply.peer}, code="backend_bad_answer")
        return record

    def find_key(self, owner: str, key: str, deadline: Deadline) -> MemoryRecord | None:
        """Services have no look-up by key: the owner's memories are gone through."""
        held = self.load(MemoryFilter(owner), deadline)
        return next((record for record in held if record.owner == owner and record.key == key), None)

    def write(self, record: MemoryRecord, stored: MemoryRecord | None, deadline: Deadline) -> MemoryRecord | None:
        if stored is None:
            return self._post(write_fields(record), record, deadline)
        changes = write_difference(record, stored)
        if not changes:
            return stored
        path = self._fill("update", stored.id)
        reply = self._connection.request_json(self._update_method, path, deadline=deadline, body=changes, taken=(404,))
        if reply.status == 404:
            return None
        return read_item(reply.read_json(), reply.peer) or self.find(stored.id, deadline)

    def copy(self, record: MemoryRecord, stored: MemoryRecord | None, deadline: Deadline) -> None:
        """A new copy is offered under its own id and dates; a service that takes none gives it another id."""
        if stored is not None and self.write(record, stored, deadline) is not None:
            return
        dates = {"createdAt": write_moment(record.created_at), "updatedAt": write_moment(record.updated_at)}
        try:
            self._post({"id": record.id, **write_fields(record), **dates}, record, deadline)
        except BackendError as error:
            if not error.is_lasting:
                raise
            self._post(write_fields(record), record, deadline)

    def remove(self, id: str, deadline: Deadline) -> bool:
        path = self._fill("delete", id)
        return self._connection.request_json("DELETE", path, deadline=deadline, taken=(404,)).is_success

    def load(self, filter: MemoryFilter, deadline: Deadline) -> list[MemoryRecord]:
        """Page after page, however many the service gives at once and whether or not it takes an offset."""
        loaded: dict[str, MemoryRecord] = {}
        offset = 0
        while True:
            listing = self._list(filter, DEFAULT_ORDER, PAGE_SIZE, offset, deadline)
            before = len(loaded)
            loaded.update((record.id, record) for record in listing.records)
            offset += len(listing.records)
            if len(loaded) == before or (listing.total is not None and offset >= listing.total):
                return list(loaded.values())
            if len(loaded) > MAX_MEMORIES:
                raise BackendError(
                    _("The backend %(name)s holds more than the %(count)d memories that can be gone through")
                    % {"name": self.id, "count": MAX_MEMORIES},
                    code="backend_too_large",
                )

    def list(self, filter: MemoryFilter, *, limit: int, offset: int, order: MemoryOrder = DEFAULT_ORDER) -> MemoryPage:
        """The service's own page where it says what a page must say and keeps to what was asked."""
        if filter == MemoryFilter(filter.owner, filter.type, filter.session_id):
            listing = self._list(filter, order, limit, offset, self.start())
            records = narrowing.sort_records(narrowing.narrow(listing.records, filter), order)
            is_true = records == listing.records and len(records) <= limit
            if is_true and listing.total is not None and listing.by_type is not None:
                has_more = bool(records) and offset + limit < listing.total
                cursor = narrowing.write_cursor(records[-1], order) if has_more else None
                return MemoryPage(records, listing.total, listing.by_type, cursor)
        return super().list(filter, limit=limit, offset=offset, order=order)

    def search(self, query: SearchQuery) -> SearchOutcome:
        """As the service ranks; what the query may not use is left out here, whatever the service thinks."""
        if not self._endpoints["search"]:
            return super().search(query)
        asked: dict[str, Any] = {
            "query": query.text,
            "apiKeyId": query.owner,
            "limit": query.limit,
            "maxTokens": query.max_tokens,
            "strategy": query.strategy,
            "type": query.type,
            "sessionId": query.session_id,
            "options": json.dumps({"retentionDays": query.retention_days}, separators=(",", ":")),
        }
        reply = self._connection.request_json(
            "GET", self._endpoints["search"], deadline=self.start(query.timeout_seconds), query=self._name(asked)
        )
        now = timezone.now()
        hits = [
            SearchHit(record, 1 / rank if score is None else score, "backend")
            for rank, (record, score) in enumerate(read_list(reply.read_json(), reply.peer), start=1)
            if narrowing.is_usable(record, query, now)
        ]
        return SearchOutcome(hits[: query.limit], query.strategy)

    def _post(self, body: dict[str, Any], record: MemoryRecord, deadline: Deadline) -> MemoryRecord:
        reply = self._connection.request_json("POST", self._endpoints["create"], deadline=deadline, body=body)
        answer = reply.read_json()
        written = read_item(answer, reply.peer)
        if written is None and isinstance(answer, Mapping) and isinstance(answer.get("id"), str):
            written = self.find(answer["id"], deadline)
        if written is None:
            raise BackendError(
                _("%(peer)s did not tell the memory it stored") % {"peer": reply.peer}, code="backend_bad_answer"
            )
        if written.owner != record.owner:
            # Kept where nobody, or somebody else, would find it.
            self.remove(written.id, deadline)
            raise BackendError(
                _("%(peer)s does not keep a memory's apiKeyId") % {"peer": reply.peer},
                code="backend_bad_answer",
                is_lasting=True,
            )
        return written

    def _list(self, filter: MemoryFilter, order: MemoryOrder, limit: int, offset: int, deadline: Deadline) -> _Listing:
        asked: dict[str, Any] = {
            "apiKeyId": filter.owner,
            "type": filter.type,
            "sessionId": filter.session_id,
            "limit": limit,
            "offset": offset,
            "orderBy": ORDER_NAMES[order.removeprefix("-")],
            "orderDir": "desc" if order.startswith("-") else "asc",
        }
        reply = self._connection.request_json(
            "GET", self._endpoints["list"], deadline=deadline, query=self._name(asked)
        )
        answer = reply.read_json()
        records = [record for record, _ in read_list(answer, reply.peer)]
        told = answer if isinstance(answer, Mapping) else {}
        return _Listing(records, _read_count(told.get("total")), _read_counts(told))

    def _name(self, asked: Mapping[str, Any]) -> Pairs:
        """Query parameters under the service's names. Nothing is left out but what is None: 0 and "" are values."""
        return [
            (self._query_params.get(name) or name, str(value)) for name, value in asked.items() if value is not None
        ]

    def _fill(self, endpoint: str, id: str) -> str:
        """The endpoint's path with the id in its placeholders; a placeholder that nobody knows stays as it is."""
        path = self._endpoints[endpoint]
        for name in PATH_PARAMS:
            path = path.replace("{" + (self._path_params.get(name) or name) + "}", encode_segment(id))
        return path


def _read_count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _read_counts(told: Mapping[str, Any]) -> dict[str, int] | None:
    stats = told.get("stats")
    by_type = told.get("byType", stats.get("byType") if isinstance(stats, Mapping) else None)
    if not isinstance(by_type, Mapping) or any(_read_count(value) is None for value in by_type.values()):
        return None
    return {str(name): int(value) for name, value in by_type.items()}
