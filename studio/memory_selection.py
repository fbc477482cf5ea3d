"""Which memories an action is about: those that are ticked, or all that a list shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _

from core.errors import InvalidRequestError, NotFoundError
from memory.backends.manager import get_primary
from memory.records import MemoryFilter, MemoryRecord
from studio.memory_list import FILTERS, ListQuery, read_list_query

MAX_IDS: Final = 200


@dataclass(frozen=True, slots=True)
class Selection:
    """`ids` that are ticked, or with `is_whole` all that `listed` shows; `count` is how many that is now."""

    ids: tuple[str, ...]
    listed: ListQuery
    is_whole: bool
    count: int

    @property
    def filter(self) -> MemoryFilter:
        return self.listed.filter

    @property
    def fields(self) -> list[tuple[str, str]]:
        """What a form carries to mean the same selection."""
        if self.is_whole:
            return [("whole", "1"), *((name, value) for name, value in self.listed.values.items() if name in FILTERS)]
        return [("id", id) for id in self.ids]


def read_selection(request: HttpRequest) -> Selection:
    """Read what the form or the address selects; nothing selected is an `InvalidRequestError`."""
    parameters: QueryDict = request.POST if request.method == "POST" else request.GET
    listed = read_list_query(_drop_page(parameters))
    if parameters.get("whole") == "1":
        return Selection((), listed, True, sum(get_primary().count(listed.filter).values()))
    ids = tuple(dict.fromkeys(parameters.getlist("id")))
    if not ids:
        raise InvalidRequestError(_("No memory is selected"))
    if len(ids) > MAX_IDS:
        raise InvalidRequestError(
            _("Select at most %(count)d memories, or all that the list shows") % {"count": MAX_IDS}
        )
    return Selection(ids, listed, False, len(ids))


def load_selected(ids: Sequence[str]) -> list[MemoryRecord]:
    """The memories of these ids that are still there, in their order."""
    found = (get_primary().get(id) for id in ids)
    return [record for record in found if record is not None]


def load_memory(id: str) -> MemoryRecord:
    """The memory of that id; `NotFoundError` when it is gone."""
    record = get_primary().get(id)
    if record is None:
        raise NotFoundError(_("This memory is not there any more"))
    return record


def _drop_page(parameters: QueryDict) -> QueryDict:
    """A selection is of the filter, whatever page it was made on."""
    kept = parameters.copy()
    for name in ("page", "sort"):
        kept.pop(name, None)
    return kept
