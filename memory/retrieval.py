"""What goes into a prompt: search, describe, walk the token budget. Preview and chat are this same call."""

import time
from dataclasses import replace
from typing import Any, get_args

from django.conf import settings as process_settings

from core import metrics
from memory.backends import manager
from memory.backends.routes import LOCAL
from memory.config import MemorySettings
from memory.extraction import Category, Polarity, describe_fact
from memory.indexing import backfill_owner
from memory.records import ChosenMemory, MemoryRecord, MemoryType, Retrieval, SearchOutcome, SearchQuery
from memory.search.packing import pack_budget
from memory.search.ranking import estimate_tokens, walk_budget

# Budgets beyond this are cut to it, as in the specification (contract 6.1), in chat and preview alike.
MAX_BUDGET_TOKENS = 8000
# What a tool may spend when the setting says 0, which only keeps chats from carrying memories.
DEFAULT_BUDGET_TOKENS = 2000
# Lazy backfill before a chat's search (contract B16); a preview writes nothing.
BACKFILL_ROWS = 20
BACKFILL_SECONDS = 0.3
EXTRACTION_SOURCES = ("user_message", "llm_response")


def retrieve(query: SearchQuery, *, max_tokens: int) -> Retrieval:
    """Search and keep what fits `max_tokens`, at least one memory if any matched. Touches nothing."""
    if max_tokens <= 0:
        return Retrieval([], SearchOutcome([], query.strategy), 0)
    budget = min(max_tokens, MAX_BUDGET_TOKENS)
    started = time.perf_counter()
    outcome = manager.search(replace(query, max_tokens=budget))
    tier = outcome.hits[0].tier if outcome.hits else "none"
    metrics.time_retrieval(tier, time.perf_counter() - started)
    # The specification's strategies stop at the first memory that does not fit; ours passes over it.
    are_stand_ins = _are_stand_ins(query, outcome)
    choose = pack_budget if query.strategy == "adaptive" or are_stand_ins else walk_budget
    kept = choose(outcome.hits[: query.limit], budget, lambda hit: estimate_tokens(hit.record.content))
    if are_stand_ins and sum(tokens for _, tokens in kept) > budget:
        kept = []
    chosen = [ChosenMemory(hit, tokens, describe_memory(hit.record)) for hit, tokens in kept]
    return Retrieval(chosen, outcome, budget)


def retrieve_for_chat(owner: str, text: str, settings: MemorySettings) -> Retrieval:
    """The memories of `owner` for a chat request whose last user message is `text`, by the saved settings."""
    return _retrieve_by_settings(_start_query(owner, text, settings), settings, max_tokens=settings.max_tokens)


def retrieve_for_tool(
    owner: str,
    text: str,
    settings: MemorySettings,
    *,
    type: MemoryType | None = None,
    limit: int | None = None,
    max_tokens: int | None = None,
) -> Retrieval:
    """The same for an agent that asks in words of its own, whether or not chats carry memories; of one type if given.

    The budget is the saved one unless `max_tokens` is given.
    """
    query = replace(_start_query(owner, text, settings), type=type)
    query = query if limit is None else replace(query, limit=limit)
    budget = max_tokens or settings.max_tokens or DEFAULT_BUDGET_TOKENS
    return _retrieve_by_settings(query, settings, max_tokens=budget)


def _start_query(owner: str, text: str, settings: MemorySettings) -> SearchQuery:
    return SearchQuery(
        owner=owner,
        text=text.strip(),
        strategy="hybrid",
        retention_days=settings.retention_days,
        settings=settings,
        timeout_seconds=process_settings.BACKEND_CHAT_TIMEOUT_SECONDS,
    )


def _retrieve_by_settings(query: SearchQuery, settings: MemorySettings, *, max_tokens: int) -> Retrieval:
    if settings.strategy == "recent":
        query = replace(query, strategy="exact", text="")
    else:
        query = replace(query, strategy=settings.strategy)
        if query.owner is not None and settings.primary_backend == LOCAL:
            backfill_owner(query.owner, settings.embedding, limit=BACKFILL_ROWS, timeout_seconds=BACKFILL_SECONDS)
    return retrieve(query, max_tokens=max_tokens)


def _are_stand_ins(query: SearchQuery, outcome: SearchOutcome) -> bool:
    """True when nothing matched the query and the newest merely stand in: "at least one" is for matches."""
    return bool(query.text.strip()) and bool(outcome.hits) and outcome.hits[0].score == 0


def describe_memory(record: MemoryRecord) -> str:
    """The line that a prompt gets: a written memory verbatim, an extracted fact so told that it can't be misread."""
    source: Any = record.metadata.get("source")
    category: Any = record.metadata.get("category")
    polarity: Any = record.metadata.get("polarity")
    if source in EXTRACTION_SOURCES and category in get_args(Category) and polarity in get_args(Polarity):
        return describe_fact(category, polarity, record.content, source)
    return record.content
