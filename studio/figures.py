"""Figures that pages show beside their lists. They may take a while, so they come after the page."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from django.utils.translation import gettext as _

from core.words import translate
from embeddings.resolver import read_cache_statistics
from memory.backends.manager import get_primary
from memory.config import load_settings
from memory.engine_status import EngineStatus, read_engine_status
from memory.inspection import count_tokens, has_embedding_source
from memory.records import MEMORY_TYPES, MemoryFilter
from studio.wording import write_percent

# Beyond this a reason is for the Engine page.
REASON_CHARACTERS: Final = 80


@dataclass(frozen=True, slots=True)
class ShellFigures:
    """How many memories there are, and how many each saved view shows."""

    total: int
    never_injected: int
    negative: int
    expiring: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Health:
    """`verdict` is ok, warn or bad: the colour of the dot; `reason` says why."""

    verdict: str
    headline: str
    reason: str


@dataclass(frozen=True, slots=True)
class TypeShare:
    """`start` and `width` are percent of the bar."""

    type: str
    count: int
    start: float
    width: float


@dataclass(frozen=True, slots=True)
class ListFigures:
    """Figures of one list. `lookups` of the embedding cache are this process's; texts are "" where there is nothing
    to take a share of."""

    total: int
    by_type: Mapping[str, int]
    shares: list[TypeShare]
    tokens: int
    tokens_each: int
    hits: int
    lookups: int
    hit_rate: str
    ready: int
    waiting: int
    readiness: str
    has_embedding_source: bool


def read_list_figures(filter: MemoryFilter) -> ListFigures:
    backend = get_primary()
    by_type = backend.count(filter)
    total = sum(by_type.values())
    waiting = _count_waiting(filter, total)
    tokens = count_tokens(filter)
    cache = read_cache_statistics()
    lookups = cache.hits + cache.misses
    return ListFigures(
        total=total,
        by_type=by_type,
        shares=_share(by_type, total),
        tokens=tokens,
        tokens_each=round(tokens / total) if total else 0,
        hits=cache.hits,
        lookups=lookups,
        hit_rate=write_percent(cache.hits, lookups),
        ready=total - waiting,
        waiting=waiting,
        readiness=write_percent(total - waiting, total),
        has_embedding_source=has_embedding_source(),
    )


def _count_waiting(filter: MemoryFilter, total: int) -> int:
    if filter.is_indexed is not None:
        return 0 if filter.is_indexed else total
    return sum(get_primary().count(replace(filter, is_indexed=False)).values())


def _share(by_type: Mapping[str, int], total: int) -> list[TypeShare]:
    shares, start = [], 0.0
    for name in MEMORY_TYPES:
        width = round(100 * by_type.get(name, 0) / total, 2) if total else 0.0
        if width:
            shares.append(TypeShare(name, by_type[name], round(start, 2), width))
        start += width
    return shares


def read_shell_figures() -> ShellFigures:
    backend = get_primary()

    def count(filter: MemoryFilter) -> int:
        return sum(backend.count(filter).values())

    return ShellFigures(
        total=count(MemoryFilter(None)),
        never_injected=count(MemoryFilter(None, is_used=False)),
        negative=count(MemoryFilter(None, polarity="negative")),
        expiring=count(MemoryFilter(None, expiry="soon")),
        waiting=count(MemoryFilter(None, is_indexed=False)),
    )


def read_health() -> Health:
    """What an operator must know of recall at a glance; the Engine page has the rest."""
    if not load_settings().enabled:
        return Health("off", _("Memory is off"), _("No chat is given memories"))
    return judge_engine(read_engine_status())


def judge_engine(status: EngineStatus) -> Health:
    keyword, store, embedding = status.keyword, status.vector_store, status.embedding
    if not keyword.is_available and not store.is_available:
        return Health("bad", _("Recall does not work"), _shorten(keyword.reason))
    if not keyword.is_available:
        return Health("warn", _("Recall is degraded"), _shorten(keyword.reason))
    if not embedding.is_available:
        return Health("warn", _("Recall by keyword only"), _shorten(embedding.reason))
    if not store.is_available:
        return Health("warn", _("Recall by keyword only"), _shorten(store.reason))
    return Health("ok", _("Recall works"), _("Keyword and vector"))


def _shorten(reason: str) -> str:
    """The first statement of a reason that says much."""
    reason = translate(reason)
    for end in (";", ":", ","):
        if len(reason) > REASON_CHARACTERS:
            reason = reason.partition(end)[0]
    return reason if len(reason) <= REASON_CHARACTERS else f"{reason[:REASON_CHARACTERS]}…"
