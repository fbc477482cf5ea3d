"""A chat request from the door to the provider, and what is remembered of it afterwards."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import structlog
from django.conf import settings
from django.db import DatabaseError

from core import metrics
from core.accounts.keys import Caller, identify_caller, require_scope
from core.errors import UnauthenticatedError
from core.providers.routing import Route, resolve_route
from core.words import gettext as _
from gateway.calls import MemoryReport, MemoryState, OpenCall, measure_ms
from gateway.payload import (
    ChatRequest,
    opts_out_of_memory,
    parse_chat_request,
    read_session_id,
    write_upstream_body,
)
from gateway.request_settings import load_request_settings
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
    """What one chat may teach: whose it is, what the user said, and the contents of the memories it carried.

    `request_id` names the request in the log, which is to know what it taught.
    """

    owner: str
    session_id: str
    user_text: str
    injected: tuple[str, ...]
    said_at: datetime
    request_id: str = ""


@dataclass(frozen=True)
class Carried:
    """The body after injection, the contents of the memories that it carries, and what the log is told of it."""

    body: dict[str, Any]
    report: MemoryReport
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
    """Return who calls; None only where REQUIRE_API_KEY is off.

    Raises UnauthenticatedError, and ForbiddenError for a key that is for memories alone.
    """
    caller = identify_caller(headers.get("authorization"))
    if caller is None and settings.REQUIRE_API_KEY:
        raise UnauthenticatedError(_("Authentication required"))
    return None if caller is None else require_scope(caller, "chat")


def prepare_chat(caller: Caller | None, raw: bytes, headers: Mapping[str, str], call: OpenCall) -> PreparedChat:
    """Check, route and remember. Raises InvalidRequestError and whatever `resolve_route` raises."""
    request = parse_chat_request(raw)
    session_id = read_session_id(headers) or str(uuid4())
    call.name_request(request.model, session_id, is_stream=request.body.get("stream") is True)
    route = resolve_route(request.model)
    call.name_provider(route.provider)
    owner = "" if caller is None or opts_out_of_memory(headers) else caller.key_id
    memory_settings = _load_memory_settings() if owner else None
    if memory_settings and memory_settings.injects:
        carried = _carry_memories(request, route, owner, memory_settings)
    else:
        carried = Carried(request.body, MemoryReport(_tell_absence(caller, owner, memory_settings)))
    call.tell_memory(carried.report)
    exchange = None
    if memory_settings and memory_settings.extracts:
        said = request.user_text
        exchange = Exchange(owner, session_id, said, carried.contents, datetime.now(UTC), call.request_id)
    if owner and _keeps_text():
        call.keep_user_text(join_surrogates(request.user_text))
    body = write_upstream_body(request, carried.body, route.model)
    return PreparedChat(route, body, session_id, len(carried.report.carried), carried.report.tokens, exchange)


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
            request_id=exchange.request_id,
        )
    except Exception as error:  # the answer is out already and must not learn of it
        log.error("memory.extraction.background.failed", error=type(error).__name__, exc_info=True)


def _load_memory_settings() -> MemorySettings | None:
    try:
        return load_settings()
    except DatabaseError as error:
        log.warning("memory.injection.failed", error=type(error).__name__, exc_info=True)
        return None


def _keeps_text() -> bool:
    try:
        return load_request_settings().keeps_text
    except DatabaseError as error:
        log.warning("gateway.request_log.settings_unread", error=type(error).__name__)
        return False


def _tell_absence(caller: Caller | None, owner: str, memory_settings: MemorySettings | None) -> str:
    """Why no memory was looked for."""
    if not owner:
        return MemoryState.NO_KEY if caller is None else MemoryState.OPTED_OUT
    return MemoryState.FAILED if memory_settings is None else MemoryState.OFF


def _carry_memories(request: ChatRequest, route: Route, owner: str, memory_settings: MemorySettings) -> Carried:
    started = time.perf_counter()
    try:
        retrieval = retrieve_for_chat(owner, join_surrogates(request.query_text), memory_settings)
        searched_ms = measure_ms(started)
        carried = _inject(request, route, retrieval)
    except Exception as error:  # an engine's failure costs the memories, never the answer
        log.warning("memory.injection.failed", error=type(error).__name__, exc_info=True)
        return Carried(request.body, MemoryReport(MemoryState.FAILED, total_ms=measure_ms(started)))
    report = replace(carried.report, search_ms=searched_ms, total_ms=measure_ms(started), retrieval=retrieval)
    return replace(carried, report=report)


def _inject(request: ChatRequest, route: Route, retrieval: Retrieval) -> Carried:
    lines = [item.line for item in retrieval.chosen]
    injection = inject_memories(request.body, lines, system_role=route.system_role)
    contents = tuple(item.hit.record.content for item in retrieval.chosen) if injection.text else ()
    if not injection.changed:
        reason = "no_memories" if not lines else (injection.strategy or "empty_context")
        log.info("memory.injection.skipped", reason=reason, model=request.model)
        return Carried(request.body, MemoryReport(MemoryState.ON), contents)
    tokens = estimate_tokens(injection.text)
    metrics.count_injection(len(contents), tokens)
    log.info(
        "memory.injection.injected",
        count=len(contents),
        strategy=injection.strategy,
        model=request.model,
        tokens=tokens,
    )
    chosen = tuple((item.hit.record.id, round(item.hit.score, 4), item.tokens) for item in retrieval.chosen)
    return Carried(injection.body, MemoryReport(MemoryState.ON, chosen, tokens), contents)
