"""A chat request from the door to the provider, and what is remembered of it afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import structlog
from django.conf import settings
from django.db import DatabaseError

from core import metrics
from core.accounts.keys import Caller, identify_caller
from core.errors import UnauthenticatedError
from core.providers.routing import Route, resolve_route
from gateway.payload import (
    ChatRequest,
    opts_out_of_memory,
    parse_chat_request,
    read_session_id,
    write_upstream_body,
)
from gateway.transcript import MAX_TEXT_CHARS, join_surrogates
from memory.config import MemorySettings, load_settings
from memory.injection import inject_memories
from memory.queue import enqueue_extraction
from memory.records import Retrieval
from memory.retrieval import retrieve_for_chat
from memory.search.ranking import estimate_tokens

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Exchange:
    """What one chat may teach: whose it is, what the user said, and the contents of the memories it carried."""

    owner: str
    session_id: str
    user_text: str
    injected: tuple[str, ...]
    said_at: datetime


@dataclass(frozen=True)
class Carried:
    """The body after injection: `count` memories were put in and cost `tokens`; `contents` is what it carries."""

    body: dict[str, Any]
    count: int = 0
    tokens: int = 0
    contents: tuple[str, ...] = ()


@dataclass(frozen=True)
class PreparedChat:
    """A request ready for its provider; without an `exchange` nothing is learned from it."""

    route: Route
    body: bytes
    session_id: str
    memories_injected: int
    memory_tokens: int
    exchange: Exchange | None


def authenticate(headers: Mapping[str, str]) -> Caller | None:
    """Return who calls; None only where REQUIRE_API_KEY is off. Raises UnauthenticatedError."""
    caller = identify_caller(headers.get("authorization"))
    if caller is None and settings.REQUIRE_API_KEY:
        raise UnauthenticatedError("Authentication required")
    return caller


def prepare_chat(caller: Caller | None, raw: bytes, headers: Mapping[str, str]) -> PreparedChat:
    """Check, route and remember. Raises InvalidRequestError and whatever `resolve_route` raises."""
    request = parse_chat_request(raw)
    route = resolve_route(request.model)
    session_id = read_session_id(headers) or str(uuid4())
    owner = "" if caller is None or opts_out_of_memory(headers) else caller.key_id
    memory_settings = _load_memory_settings() if owner else None
    carried, exchange = Carried(request.body), None
    if memory_settings and memory_settings.injects:
        carried = _carry_memories(request, route, owner, memory_settings)
    if memory_settings and memory_settings.extracts:
        exchange = Exchange(owner, session_id, request.user_text, carried.contents, datetime.now(UTC))
    body = write_upstream_body(request, carried.body, route.model)
    return PreparedChat(route, body, session_id, carried.count, carried.tokens, exchange)


def queue_extraction(exchange: Exchange, assistant_text: str) -> None:
    """Write the job that will take the facts out. Never raises: the answer is on its way."""
    user_text = join_surrogates(exchange.user_text)[-MAX_TEXT_CHARS:]
    if not (user_text.strip() or assistant_text.strip()):
        return
    try:
        enqueue_extraction(
            owner=exchange.owner,
            session_id=exchange.session_id,
            user_text=user_text,
            assistant_text=assistant_text,
            injected=exchange.injected,
            said_at=exchange.said_at,
        )
    except Exception as error:  # the answer is out already and must not learn of it
        log.error("memory.extraction.background.failed", error=type(error).__name__, exc_info=True)


def _load_memory_settings() -> MemorySettings | None:
    try:
        return load_settings()
    except DatabaseError as error:
        log.warning("memory.injection.failed", error=type(error).__name__, exc_info=True)
        return None


def _carry_memories(request: ChatRequest, route: Route, owner: str, memory_settings: MemorySettings) -> Carried:
    try:
        retrieval = retrieve_for_chat(owner, join_surrogates(request.query_text), memory_settings)
        return _inject(request, route, retrieval)
    except Exception as error:  # an engine's failure costs the memories, never the answer
        log.warning("memory.injection.failed", error=type(error).__name__, exc_info=True)
        return Carried(request.body)


def _inject(request: ChatRequest, route: Route, retrieval: Retrieval) -> Carried:
    lines = [item.line for item in retrieval.chosen]
    injection = inject_memories(request.body, lines, system_role=route.system_role)
    contents = tuple(item.hit.record.content for item in retrieval.chosen) if injection.text else ()
    if not injection.changed:
        reason = "no_memories" if not lines else (injection.strategy or "empty_context")
        log.info("memory.injection.skipped", reason=reason, model=request.model)
        return Carried(request.body, contents=contents)
    tokens = estimate_tokens(injection.text)
    metrics.count_injection(len(contents), tokens)
    log.info(
        "memory.injection.injected",
        count=len(contents),
        strategy=injection.strategy,
        model=request.model,
        tokens=tokens,
    )
    return Carried(injection.body, len(contents), tokens, contents)
