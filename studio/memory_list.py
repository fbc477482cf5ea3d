"""The list of memories as its address says it: filters, order, page. The address is the state."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import urlencode

from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.errors import InvalidRequestError
from memory.records import MEMORY_ORDERS, MEMORY_TYPES, MemoryFilter, MemoryOrder, MemoryType, Polarity
from studio.addresses import read_current, read_query_string

PAGE_ROWS: Final = 20
# Two hundred million memories: whatever there is can be reached, and a number that is none of a page is near at hand.
MAX_PAGE: Final = 9_999_999
DEFAULT_SORT: Final[MemoryOrder] = "-updated"
MAX_TEXT_CHARACTERS: Final = 1000
# What stands in an address for memories without an API key, and for those that a client stored as they are.
NO_OWNER: Final = "~none"
NO_SOURCE: Final = "api"
SOURCES: Final = {
    "user_message": gettext_lazy("user said"),
    "llm_response": gettext_lazy("model said"),
    NO_SOURCE: gettext_lazy("API"),
    "operator": gettext_lazy("operator"),
    "import": gettext_lazy("import"),
    "compaction": gettext_lazy("compaction"),
}
POLARITIES: Final = {"positive": gettext_lazy("Positive"), "negative": gettext_lazy("Negative")}
EXPIRIES: Final = {
    "active": gettext_lazy("Not expired"),
    "soon": gettext_lazy("Expires within 7 d"),
    "expired": gettext_lazy("Expired"),
    "never": gettext_lazy("Never expires"),
}
# Filters that have no select of their own; saved views set them.
USED: Final = {"never": gettext_lazy("Never injected"), "yes": gettext_lazy("Injected before")}
INDEXED: Final = {"pending": gettext_lazy("Waiting for index"), "done": gettext_lazy("Indexed")}
CHOICES: Final[Mapping[str, Any]] = {
    "type": MEMORY_TYPES,
    "polarity": POLARITIES,
    "expiry": EXPIRIES,
    "used": USED,
    "index": INDEXED,
    "sort": MEMORY_ORDERS,
}
FILTERS: Final = ("q", "type", "key", "session", "source", "polarity", "expiry", "used", "index")


@dataclass(frozen=True, slots=True)
class ListQuery:
    """What a list shows. `values` are the parameters that say something, as they stand in the address."""

    values: Mapping[str, str]
    filter: MemoryFilter
    order: MemoryOrder
    page: int

    @property
    def is_filtered(self) -> bool:
        return any(name in self.values for name in FILTERS)

    @property
    def offset(self) -> int:
        return (self.page - 1) * PAGE_ROWS

    def write(self, **changes: str | int | None) -> str:
        """The query string of this list with some parameters changed, or left out where None; "" when it is empty."""
        values: dict[str, str | int] = dict(self.values)
        for name, value in changes.items():
            values.pop(name, None)
            if value is not None and value != "" and (name, value) not in (("page", 1), ("sort", DEFAULT_SORT)):
                values[name] = value
        return urlencode(values)

    def write_filter(self) -> str:
        """The query string of the filter alone: neither order nor page."""
        return urlencode({name: self.values[name] for name in FILTERS if name in self.values})

    def address(self, **changes: str | int | None) -> str:
        """The address of this list with some parameters changed."""
        query = self.write(**changes)
        return reverse("studio:memory") + (f"?{query}" if query else "")


def read_list_query(parameters: QueryDict) -> ListQuery:
    """Read an address. A value that no filter knows is an `InvalidRequestError`: it must never mean "all"."""
    values = {name: text for name in (*FILTERS, "sort") if (text := _clean(parameters.get(name, "")))}
    for name, known in CHOICES.items():
        if name in values and values[name] not in known:
            raise InvalidRequestError(_("The address asks for what there is not: %(name)s") % {"name": name})
    page = _read_page(parameters.get("page", ""))
    if page > 1:
        values["page"] = str(page)
    if values.get("sort") == DEFAULT_SORT:
        del values["sort"]
    order = cast(MemoryOrder, values.get("sort", DEFAULT_SORT))
    return ListQuery(values, _make_filter(values), order, page)


def read_origin(request: HttpRequest) -> ListQuery:
    """The list that a request of htmx, or a form's field `next`, comes from."""
    address = read_current(request) or request.POST.get("next") or request.GET.get("next") or ""
    return read_list_query(QueryDict(read_query_string(address)))


def _make_filter(values: Mapping[str, str]) -> MemoryFilter:
    owner, source = values.get("key"), values.get("source")
    return MemoryFilter(
        owner="" if owner == NO_OWNER else owner,
        type=cast(MemoryType | None, values.get("type")),
        session_id=values.get("session"),
        text=values.get("q", ""),
        source="" if source == NO_SOURCE else source,
        polarity=cast(Polarity | None, values.get("polarity")),
        expiry=cast(Any, values.get("expiry")),
        is_indexed=None if "index" not in values else values["index"] == "done",
        is_used=None if "used" not in values else values["used"] == "yes",
    )


def _clean(text: str) -> str:
    """What can't be stored can't be found: it is blanked, so that the database need not refuse it."""
    return "".join(" " if sign == "\0" or "\ud800" <= sign <= "\udfff" else sign for sign in text[:MAX_TEXT_CHARACTERS])


def _read_page(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        return 1
    return max(int(text), 1) if len(text) <= len(str(MAX_PAGE)) else MAX_PAGE
