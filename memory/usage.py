"""Which chats carried a memory and which taught it: counters, and links between requests and memories.

Every read here is a management call: its caller narrows by owner where an owner asks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet

from memory import models
from memory.models import Memory, RequestLink
from memory.records import EraseScope, MemoryRecord
from memory.rows import load_records

# Rows that one transaction deletes, so that nobody who wants to write waits for long.
DELETED_AT_ONCE: Final = 1000
# By hand: the log of every chat comes through here, and building rows costs more than writing them.
ADD_LINK: Final = """
INSERT INTO memory_request_links (request_id, kind, memory_uuid, api_key_id, created_at) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (request_id, kind, memory_uuid) DO NOTHING
"""
COUNT_USES: Final = """
INSERT INTO memory_uses (memory_uuid, api_key_id, count, last_injected_at, last_request_id) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (memory_uuid) DO UPDATE SET
  count = count + excluded.count,
  last_request_id = CASE WHEN excluded.last_injected_at >= last_injected_at
    THEN excluded.last_request_id ELSE last_request_id END,
  last_injected_at = MAX(last_injected_at, excluded.last_injected_at)
"""


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """How often chats have carried a memory, when last, and in which request."""

    count: int
    last_injected_at: datetime
    last_request_id: str


@dataclass(frozen=True, slots=True)
class RequestMemory:
    """A memory that a request carried (`injected`) or a fact that came out of it (`extracted`).

    `record` is the memory as it is now, None when it was deleted since.
    """

    request_id: str
    kind: str
    owner: str
    memory_id: str
    record: MemoryRecord | None


@dataclass(frozen=True, slots=True)
class Provenance:
    """The request a memory was first taken out of; None where the log knows none."""

    extracted_request_id: str | None = None
    extracted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CarryingRequest:
    """A request that carried a memory, as far as the log of requests reaches."""

    request_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Injection:
    """A request of the owner that carried these memories at that time."""

    request_id: str
    owner: str
    memory_ids: Sequence[str]
    at: datetime


def note_injections(request_id: str, owner: str, memory_ids: Sequence[str], at: datetime) -> None:
    """Count that a request carried these memories, and link them with it. In the caller's transaction, if any."""
    note_all_injections([Injection(request_id, owner, memory_ids, at)])


def note_all_injections(injections: Sequence[Injection]) -> None:
    """The same for many requests at once."""
    links, uses = [], dict[str, list[str | int]]()
    for injection in sorted(injections, key=lambda injection: injection.at):
        moment = _write_moment(injection.at)
        for memory_id in injection.memory_ids:
            links.append((injection.request_id, "injected", memory_id, injection.owner, moment))
            count = int(uses[memory_id][2]) + 1 if memory_id in uses else 1
            uses[memory_id] = [memory_id, injection.owner, count, moment, injection.request_id]
    if links:
        with connection.cursor() as cursor:
            cursor.executemany(ADD_LINK, links)
            cursor.executemany(COUNT_USES, list(uses.values()))


def note_extraction(request_id: str, owner: str, memory_id: str, at: datetime) -> None:
    """Link a memory with the request whose texts taught it. Safe to run twice."""
    with connection.cursor() as cursor:
        cursor.execute(ADD_LINK, [request_id, "extracted", memory_id, owner, _write_moment(at)])


def read_uses(memory_ids: Sequence[str]) -> dict[str, MemoryUse]:
    """Return the uses of those memories that were ever carried, by id."""
    rows = models.MemoryUse.objects.filter(memory_uuid__in=memory_ids)
    values = rows.values_list("memory_uuid", "count", "last_injected_at", "last_request_id")
    return {memory_id: MemoryUse(count, at, request_id) for memory_id, count, at, request_id in values}


def read_provenance(memory_id: str) -> Provenance:
    """Return where a memory came from, as far as the log of requests reaches."""
    links = RequestLink.objects.filter(memory_uuid=memory_id, kind=RequestLink.Kind.EXTRACTED)
    first = links.order_by("created_at", "id").first()
    return Provenance(
        extracted_request_id=first.request_id if first else None,
        extracted_at=first.created_at if first else None,
    )


def list_carrying_requests(memory_id: str, limit: int) -> list[CarryingRequest]:
    """Return the last `limit` requests that carried the memory, newest first."""
    links = RequestLink.objects.filter(memory_uuid=memory_id, kind=RequestLink.Kind.INJECTED)
    newest = links.order_by("-created_at", "-id").values_list("request_id", "created_at")[:limit]
    return [CarryingRequest(request_id, at) for request_id, at in newest]


def list_request_memories(request_ids: Sequence[str]) -> list[RequestMemory]:
    """Return what those requests carried and taught, the memories with it, in two queries.

    Callers name their requests as they like, so an id may belong to several owners: each link says whose it is.
    """
    links = list(RequestLink.objects.filter(request_id__in=request_ids).order_by("id"))
    ids = {link.memory_uuid for link in links}
    records = {record.id: record for record in load_records(Memory.objects.owned_by(None).filter(uuid__in=ids))}
    return [
        RequestMemory(
            link.request_id,
            link.kind,
            link.api_key_id,
            link.memory_uuid,
            _keep_own(link, records.get(link.memory_uuid)),
        )
        for link in links
    ]


def count_extractions(request_ids: Sequence[str]) -> dict[tuple[str, str], int]:
    """Return how many facts came out of each of those requests, by (owner, request id); those without are left out."""
    links = RequestLink.objects.filter(request_id__in=request_ids, kind=RequestLink.Kind.EXTRACTED)
    counts: dict[tuple[str, str], int] = {}
    for owner, request_id in links.values_list("api_key_id", "request_id"):
        counts[owner, request_id] = counts.get((owner, request_id), 0) + 1
    return counts


def forget_links(before: datetime) -> int:
    """Delete links older than that, and counters of memories that are gone for as long; return how many links."""
    count = _delete_in_batches(RequestLink.objects.filter(created_at__lt=before))
    memories = Memory.objects.owned_by(None).filter(uuid=OuterRef("memory_uuid"))
    _delete_in_batches(models.MemoryUse.objects.filter(~Exists(memories), last_injected_at__lt=before))
    return count


def erase_links(scope: EraseScope, requests: QuerySet[Any, Any]) -> int:
    """Delete links and counters of an owner, or of one session of it; return how many rows that were.

    `requests` is a query for the ids of the session's requests. Whether the memories are erased before or after makes
    no difference: counters of memories that are gone go as well.
    """
    return sum(_delete_in_batches(rows) for rows in _select_scope(scope, requests))


def count_links(scope: EraseScope, requests: QuerySet[Any, Any]) -> int:
    """How many rows `erase_links` would delete."""
    return sum(rows.count() for rows in _select_scope(scope, requests))


def _select_scope(
    scope: EraseScope, requests: QuerySet[Any, Any]
) -> tuple[QuerySet[RequestLink], QuerySet[models.MemoryUse]]:
    links = RequestLink.objects.filter(api_key_id=scope.owner)
    uses = models.MemoryUse.objects.filter(api_key_id=scope.owner)
    if scope.session_id is None:
        return links, uses
    memories = Memory.objects.owned_by(scope.owner)
    of_session = memories.filter(session_id=scope.session_id).values("uuid")
    links = links.filter(Q(memory_uuid__in=of_session) | Q(request_id__in=requests))
    is_gone = ~Exists(memories.filter(uuid=OuterRef("memory_uuid")))
    return links, uses.filter(Q(memory_uuid__in=of_session) | is_gone)


def _write_moment(moment: datetime) -> str:
    return str(connection.ops.adapt_datetimefield_value(moment))


def _keep_own(link: RequestLink, record: MemoryRecord | None) -> MemoryRecord | None:
    """Nobody can name another owner's memory, whatever id its request was given."""
    return record if record is not None and record.owner == link.api_key_id else None


def _delete_in_batches(rows: QuerySet[Any, Any]) -> int:
    count = 0
    while ids := list(rows.values_list("pk", flat=True)[:DELETED_AT_ONCE]):
        count += rows.model.objects.filter(pk__in=ids).delete()[0]
    return count
