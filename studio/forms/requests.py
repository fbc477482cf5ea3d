"""The query string of the Requests page: filters, place in the list, what is open."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, cast

from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from gateway.request_log import (
    MEMORY_USE_FILTERS,
    STATUS_FILTERS,
    MemoryUseFilter,
    RequestFilter,
    StatusFilter,
)

MAX_TEXT_CHARS: Final = 256
SPANS: Final = {"1h": timedelta(hours=1), "24h": timedelta(hours=24), "7d": timedelta(days=7)}
SPAN_CHOICES: Final = (("1h", _("Last hour")), ("24h", _("Last 24 h")), ("7d", _("Last 7 d")))
STATUS_CHOICES: Final = (
    ("errors", _("Errors only")),
    ("answered", _("Answered")),
    ("refused", _("Refused")),
    ("failed", _("Failed")),
    ("broken", _("Broken off")),
    ("left", _("Client left")),
)
MEMORY_CHOICES: Final = (
    ("injected", _("Memories injected")),
    ("none", _("None injected")),
    ("learned", _("Learned something")),
)


@dataclass(frozen=True, slots=True)
class RequestAsk:
    """What a page shows. Values that mean nothing are left out, as if they had not been given.

    `open_row` is the row whose detail is shown, `older` and `newer` are cursors, `is_live` renews the list by itself.
    """

    text: str = ""
    span: str = ""
    owner: str = ""
    model: str = ""
    status: str = ""
    memory: str = ""
    memory_id: str = ""
    older: str = ""
    newer: str = ""
    open_row: int | None = None
    is_live: bool = False

    @property
    def has_filter(self) -> bool:
        return any((self.text, self.span, self.owner, self.model, self.status, self.memory, self.memory_id))

    @property
    def is_newest(self) -> bool:
        """Whether the page begins with the newest request."""
        return not (self.older or self.newer)

    def build_filter(self) -> RequestFilter:
        return RequestFilter(
            owner=self.owner or None,
            model=self.model or None,
            status=cast(StatusFilter, self.status) if self.status else None,
            memory=cast(MemoryUseFilter, self.memory) if self.memory else None,
            memory_id=self.memory_id or None,
            text=self.text,
            since=timezone.now() - SPANS[self.span] if self.span else None,
        )


def read_ask(query: QueryDict) -> RequestAsk:
    def read(name: str, among: tuple[str, ...] | None = None) -> str:
        value = query.get(name, "").replace("\0", "").strip()[:MAX_TEXT_CHARS]
        return value if among is None or value in among else ""

    row = read("open")
    return RequestAsk(
        text=read("q"),
        span=read("since", tuple(SPANS)),
        owner=read("key"),
        model=read("model"),
        status=read("status", STATUS_FILTERS),
        memory=read("use", MEMORY_USE_FILTERS),
        memory_id=read("memory"),
        older=read("older"),
        newer=read("newer"),
        open_row=int(row) if row.isascii() and row.isdecimal() and len(row) < 19 else None,
        is_live=read("live") == "1",
    )
