"""Rows of the log of requests in words and figures."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from gateway.models import RequestLog
from gateway.request_log import CarriedMemory, LoggedRequest, RequestDetail
from memory.usage import RequestMemory
from studio.wording import write_number

Outcome = RequestLog.Outcome
MemoryState = RequestLog.MemoryState
# Narrower than this a bar can't be seen.
MIN_SHARE_PERCENT: Final = 2.0
SMALL_SCORE: Final = 0.1
# The error code of a call whose API key nobody knows (`core.accounts.keys`).
UNKNOWN_KEY: Final = "invalid_api_key"


@dataclass(frozen=True, slots=True)
class RequestRow:
    """A line of the list. `share_width` is the bar's width in percent as SVG writes it, "" when memory took no time."""

    row: RequestLog
    clock: str
    key_name: str
    verdict: str
    duration: str
    share_width: str
    memory_time: str
    summary: str
    is_quiet: bool


@dataclass(frozen=True, slots=True)
class CarriedLine:
    """A memory that went in: its place, its score and its cost."""

    place: int
    memory: RequestMemory
    score: str
    tokens: int


@dataclass(frozen=True, slots=True)
class RequestStory:
    """All that the log tells of one request. `no_memory` says why nothing went in, "" when something did."""

    line: RequestRow
    carried: list[CarriedLine]
    learned: tuple[RequestMemory, ...]
    no_memory: str
    memory_time: str
    provider_time: str
    twins: int


def build_row(logged: LoggedRequest) -> RequestRow:
    row = logged.row
    share = 100 * (row.memory_ms or 0) / row.duration_ms if row.duration_ms else 0
    return RequestRow(
        row=row,
        clock=tell_clock(row.created_at),
        key_name=row.key_name or row.api_key_id or _name_stranger(row),
        verdict=judge(row),
        duration=tell_seconds(row.duration_ms),
        share_width="" if row.memory_ms is None else f"{min(max(share, MIN_SHARE_PERCENT), 100):.1f}",
        memory_time="" if row.memory_ms is None else tell_milliseconds(row.memory_ms),
        summary=_summarise(logged),
        is_quiet=not (row.memories_injected or logged.facts_extracted),
    )


def build_story(detail: RequestDetail) -> RequestStory:
    row = detail.request.row
    return RequestStory(
        line=build_row(detail.request),
        carried=[_build_line(place, item) for place, item in enumerate(detail.carried, start=1)],
        learned=detail.learned,
        no_memory="" if row.memories_injected else _tell_absence(row),
        memory_time=_tell_memory_time(row),
        provider_time=_tell_provider_time(row),
        twins=detail.twins,
    )


def judge(row: RequestLog) -> str:
    """ok, warn or bad: the colour of the status."""
    if row.is_failed:
        return "bad"
    return "warn" if row.outcome == Outcome.LEFT else "ok"


def tell_clock(moment: datetime) -> str:
    """14:05:02, with the day before it when that is not today."""
    local = timezone.localtime(moment)
    is_today = local.date() == timezone.localdate()
    return date_format(local, "H:i:s" if is_today else "j M, H:i:s")


def tell_seconds(milliseconds: float) -> str:
    """1.24 s, and less than one as 18 ms."""
    if milliseconds < 1000:
        return tell_milliseconds(milliseconds)
    return _("%(number)s s") % {"number": number_format(milliseconds / 1000, decimal_pos=2)}


def tell_milliseconds(milliseconds: float) -> str:
    """0.4 ms, 18 ms, 2,011 ms."""
    number = number_format(milliseconds, decimal_pos=1) if milliseconds < 10 else write_number(round(milliseconds))
    return _("%(number)s ms") % {"number": number}


def _name_stranger(row: RequestLog) -> str:
    return _("unknown API key") if row.error_code == UNKNOWN_KEY else _("no API key")


def _summarise(logged: LoggedRequest) -> str:
    row, learned = logged.row, logged.facts_extracted
    figures = {"count": row.memories_injected, "tokens": write_number(row.memory_tokens), "learned": learned}
    if row.memories_injected and learned:
        return _("%(count)d in, +%(tokens)s tokens, %(learned)d learned") % figures
    if row.memories_injected:
        return _("%(count)d in, +%(tokens)s tokens") % figures
    if learned:
        return _("none injected, %(learned)d learned") % figures
    return _tell_absence(row)


def _tell_absence(row: RequestLog) -> str:
    told = {
        MemoryState.OFF: _("memory is off"),
        MemoryState.OPTED_OUT: _("opted out of memory"),
        MemoryState.NO_KEY: _("no API key, so no memory"),
        MemoryState.FAILED: _("memory failed, the chat went on without"),
        MemoryState.UNKNOWN: _("did not get as far as memory"),
    }
    return told.get(MemoryState(row.memory_state), _("none injected"))


def _build_line(place: int, item: CarriedMemory) -> CarriedLine:
    if item.score == 0:
        # Nothing matched, so the newest were taken.
        return CarriedLine(place, item.memory, _("newest"), item.tokens)
    # A fused rank is a hundredth or two, the score of words ten or more.
    decimals = 4 if abs(item.score) < SMALL_SCORE else 2
    return CarriedLine(place, item.memory, number_format(item.score, decimal_pos=decimals), item.tokens)


def _tell_memory_time(row: RequestLog) -> str:
    if row.memory_ms is None:
        return ""
    if row.retrieval_ms is None:
        return tell_milliseconds(row.memory_ms)
    return _("%(total)s (search %(search)s)") % {
        "total": tell_milliseconds(row.memory_ms),
        "search": tell_milliseconds(row.retrieval_ms),
    }


def _tell_provider_time(row: RequestLog) -> str:
    if row.first_byte_ms is None:
        return _("gave no answer")
    spent = tell_milliseconds(max(row.duration_ms - (row.memory_ms or 0), 0))
    first = tell_milliseconds(row.first_byte_ms)
    return _("%(spent)s, first byte %(first)s after the request came in") % {"spent": spent, "first": first}


def tell_count(shown: int, total: int, counted_up_to: int) -> str:
    """How many of how many; counting ends at `counted_up_to`."""
    if total > counted_up_to:
        return _("%(shown)s of more than %(total)s requests") % {
            "shown": write_number(shown),
            "total": write_number(counted_up_to),
        }
    return ngettext("%(shown)s of %(total)s request", "%(shown)s of %(total)s requests", total) % {
        "shown": write_number(shown),
        "total": write_number(total),
    }
