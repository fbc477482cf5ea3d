"""Reads of the log of requests: lists a page long, one request with its memories, what a filter can be set to."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet

from core.errors import FieldError, InvalidFieldsError, NotFoundError
from core.words import gettext as _
from gateway.models import RequestLog
from memory import usage
from memory.models import RequestLink
from memory.usage import RequestMemory

StatusFilter = Literal["answered", "errors", "refused", "failed", "broken", "left"]
STATUS_FILTERS: Final[tuple[StatusFilter, ...]] = ("answered", "errors", "refused", "failed", "broken", "left")
MemoryUseFilter = Literal["injected", "none", "learned"]
MEMORY_USE_FILTERS: Final[tuple[MemoryUseFilter, ...]] = ("injected", "none", "learned")

# More rows than this are not counted: nobody pages through them.
MAX_COUNTED: Final = 10_000
MAX_CHOICES: Final = 200
# One value after the other out of the index, instead of all its entries.
_LIST_VALUES: Final = """
WITH RECURSIVE found(value) AS (
  SELECT MIN({column}) FROM request_log
  UNION ALL SELECT (SELECT MIN({column}) FROM request_log WHERE {column} > found.value) FROM found
  WHERE found.value IS NOT NULL
) SELECT value, {name} FROM found WHERE value <> '' LIMIT %s
"""
_LAST_NAME: Final = (
    "(SELECT key_name FROM request_log WHERE api_key_id = value ORDER BY created_at DESC, id DESC LIMIT 1)"
)
_LONG_COLUMNS: Final = ("carried", "user_text", "answer_text")


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """Which requests a list shows. `text` is how the id of a request or a session begins.

    `memory_id` narrows to requests that carried or taught that memory, `since` to those from that moment on.
    """

    owner: str | None = None
    model: str | None = None
    status: StatusFilter | None = None
    memory: MemoryUseFilter | None = None
    memory_id: str | None = None
    text: str = ""
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """A row of the log, and how many facts came out of the request so far."""

    row: RequestLog
    facts_extracted: int


@dataclass(frozen=True, slots=True)
class RequestPage:
    """Requests, the newest first. A cursor is None where nothing comes before or after."""

    requests: tuple[LoggedRequest, ...]
    newer_cursor: str | None
    older_cursor: str | None


@dataclass(frozen=True, slots=True)
class CarriedMemory:
    """A memory that went into a request. `memory.record` is it as it is now, None when it was deleted since."""

    memory: RequestMemory
    score: float
    tokens: int


@dataclass(frozen=True, slots=True)
class RequestDetail:
    """One request with the memories that it carried, in order, and those that came out of it.

    `twins` is how many other requests of the log have the same id: callers may choose it.
    """

    request: LoggedRequest
    carried: tuple[CarriedMemory, ...]
    learned: tuple[RequestMemory, ...]
    twins: int


def list_requests(filter: RequestFilter, *, limit: int, older: str = "", newer: str = "") -> RequestPage:
    """Return a page of requests, in two queries: the newest, or those older or newer than a cursor.

    Raises InvalidFieldsError for a cursor that is none of ours.
    """
    rows = _select(filter).defer(*_LONG_COLUMNS)
    if newer:
        found = list(rows.filter(_read_cursor("newer", newer)).order_by("created_at", "id")[: limit + 1])
        has_newer, has_older = len(found) > limit, True
        found = found[:limit][::-1]
    else:
        rows = rows.filter(_read_cursor("older", older)) if older else rows
        found = list(rows.order_by("-created_at", "-id")[: limit + 1])
        has_newer, has_older = bool(older), len(found) > limit
        found = found[:limit]
    return RequestPage(
        _add_counts(found),
        newer_cursor=_write_cursor(found[0]) if found and has_newer else None,
        older_cursor=_write_cursor(found[-1]) if found and has_older else None,
    )


def count_requests(filter: RequestFilter) -> int:
    """Count what matches; anything above MAX_COUNTED is told as one more than that."""
    return _select(filter).order_by()[: MAX_COUNTED + 1].count()


def read_request(request_id: str, *, row_id: int | None = None) -> RequestDetail:
    """Return a request with its memories; of several that have the id, the newest unless `row_id` names another.

    Raises NotFoundError when the log has none of that id, or no longer.
    """
    rows = RequestLog.objects.filter(request_id=request_id)
    return _tell_detail((rows if row_id is None else rows.filter(pk=row_id)).order_by("-created_at", "-id").first())


def read_row(row_id: int) -> RequestDetail:
    """The same for a row of a list."""
    return _tell_detail(RequestLog.objects.filter(pk=row_id).first())


def list_models() -> list[str]:
    """The models that the log has requests for, in order."""
    return [model for model, _ in _list_values("model", "value")]


def list_owners() -> list[tuple[str, str]]:
    """Ids and last known names of the API keys that the log has requests of, by name."""
    return sorted(_list_values("api_key_id", _LAST_NAME), key=lambda owner: (owner[1].casefold(), owner[0]))


def select_of_memory(rows: QuerySet[RequestLog], memory_id: str) -> QuerySet[RequestLog]:
    """Those of the requests that carried or taught the memory."""
    links = RequestLink.objects.filter(memory_uuid=memory_id)
    return rows.filter(request_id__in=links.values("request_id"), api_key_id__in=links.values("api_key_id"))


def begins_with(column: str, text: str) -> Q:
    """As a range, which an index answers; LIKE takes upper and lower case for the same and reads every row."""
    return Q(**{f"{column}__gte": text, f"{column}__lt": f"{text}\U0010ffff"})


def _tell_detail(row: RequestLog | None) -> RequestDetail:
    if row is None:
        raise NotFoundError(_("The log has no such request. Requests are kept for some days only."))
    memories = usage.list_request_memories([row.request_id])
    own = [memory for memory in memories if memory.owner == row.api_key_id]
    learned = tuple(memory for memory in own if memory.kind == RequestLink.Kind.EXTRACTED)
    twins = RequestLog.objects.filter(request_id=row.request_id).count() - 1
    return RequestDetail(LoggedRequest(row, len(learned)), _order_carried(row, own), learned, twins)


def _select(filter: RequestFilter) -> QuerySet[RequestLog]:
    rows = RequestLog.objects.all()
    exact = {"api_key_id": filter.owner, "model": filter.model}
    rows = rows.filter(**{name: value for name, value in exact.items() if value is not None})
    if filter.since is not None:
        rows = rows.filter(created_at__gte=filter.since)
    if filter.status is not None:
        rows = rows.filter(is_failed=True) if filter.status == "errors" else rows.filter(outcome=filter.status)
    if filter.memory is not None:
        rows = _narrow_by_use(rows, filter.memory)
    if filter.memory_id is not None:
        rows = select_of_memory(rows, filter.memory_id)
    if text := filter.text.strip():
        rows = rows.filter(begins_with("request_id", text) | begins_with("session_id", text))
    return rows


def _narrow_by_use(rows: QuerySet[RequestLog], use: MemoryUseFilter) -> QuerySet[RequestLog]:
    if use == "injected":
        return rows.filter(memories_injected__gt=0)
    if use == "none":
        return rows.filter(memories_injected=0)
    links = RequestLink.objects.filter(
        request_id=OuterRef("request_id"), api_key_id=OuterRef("api_key_id"), kind=RequestLink.Kind.EXTRACTED
    )
    return rows.filter(Exists(links))


def _write_cursor(row: RequestLog) -> str:
    return f"{row.created_at.timestamp():.6f}_{row.pk}"


def _read_cursor(name: Literal["older", "newer"], cursor: str) -> Q:
    moment_text, id_text = cursor.partition("_")[::2]
    try:
        moment, row_id = datetime.fromtimestamp(float(moment_text), UTC), int(id_text)
    except (ValueError, OverflowError, OSError):
        raise InvalidFieldsError([FieldError(name, _("Is no place in this list"))]) from None
    way = "lt" if name == "older" else "gt"
    return Q(**{f"created_at__{way}": moment}) | Q(**{"created_at": moment, f"pk__{way}": row_id})


def _add_counts(rows: Sequence[RequestLog]) -> tuple[LoggedRequest, ...]:
    counts = usage.count_extractions([row.request_id for row in rows])
    return tuple(LoggedRequest(row, counts.get((row.api_key_id, row.request_id), 0)) for row in rows)


def _order_carried(row: RequestLog, memories: Sequence[RequestMemory]) -> tuple[CarriedMemory, ...]:
    injected = {memory.memory_id: memory for memory in memories if memory.kind == RequestLink.Kind.INJECTED}
    return tuple(
        CarriedMemory(injected[memory_id], score, tokens)
        for memory_id, score, tokens in row.carried
        if memory_id in injected
    )


def _list_values(column: str, name: str) -> list[tuple[str, str]]:
    with connection.cursor() as cursor:
        cursor.execute(_LIST_VALUES.format(column=column, name=name), [MAX_CHOICES])
        return [(value, told) for value, told in cursor.fetchall()]
