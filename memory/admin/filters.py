"""What the list of memories can be narrowed by; the rules are those of every list, `memory.backends.selection`."""

from typing import Any, ClassVar, Final

from django.contrib import admin
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from core.accounts.keys import list_keys
from memory.backends.bulk_rows import list_owners
from memory.backends.selection import MemoryFilterSet
from memory.services import ASSISTANT_SOURCE, OPERATOR_SOURCE, USER_SOURCE

# More than that nobody reads through; any other owner can be written into the address.
MAX_OWNERS: Final = 100
NO_SOURCE: Final = "client"

# (value in the address, what it is called, now or translated later)
Choices = list[tuple[str, Any]]


class RuleFilter(admin.SimpleListFilter):
    """A field of `MemoryFilter`; `values` are (value in the address, value of the field, what it is called)."""

    field: ClassVar[str]
    values: ClassVar[tuple[tuple[str, Any, str | Promise], ...]]

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> Choices:
        return [(name, told) for name, _value, told in self.values]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        wanted = next((value for name, value, _told in self.values if name == self.value()), None)
        return queryset if wanted is None else MemoryFilterSet({self.field: wanted}, queryset=queryset).qs


class SourceFilter(RuleFilter):
    title = _("source")
    parameter_name = "source"
    field = "source"
    values = (
        (USER_SOURCE, USER_SOURCE, _("said by the user")),
        (ASSISTANT_SOURCE, ASSISTANT_SOURCE, _("said by the model")),
        (OPERATOR_SOURCE, OPERATOR_SOURCE, _("written by an operator")),
        (NO_SOURCE, "", _("stored by a client")),
    )


class ExpiryFilter(RuleFilter):
    title = _("expiry")
    parameter_name = "expiry"
    field = "expiry"
    values = (
        ("never", "never", _("never expires")),
        ("active", "active", _("not expired")),
        ("soon", "soon", _("expires within a week")),
        ("expired", "expired", _("expired")),
    )


class IndexFilter(RuleFilter):
    title = _("index")
    parameter_name = "index"
    field = "is_indexed"
    values = (("pending", "false", _("needs index")), ("done", "true", _("indexed")))


class OwnerFilter(admin.SimpleListFilter):
    """By API key, told by its name."""

    title = _("API key")
    parameter_name = "owner"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin[Any]) -> Choices:
        owners = list_owners(MAX_OWNERS)
        names = name_owners(owners)
        return sorted(((owner, names[owner]) for owner in owners), key=lambda choice: choice[1].casefold())

    def has_output(self) -> bool:
        return True

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        owner = self.value()
        return queryset if owner is None else queryset.filter(api_key_id=owner)


def name_owners(owners: list[str]) -> dict[str, str]:
    """Return the names of API keys in one query, the id itself where no key has it."""
    names = {key.id: key.name for key in list_keys(ids=owners)}
    return {owner: names.get(owner) or owner or str(_("(none)")) for owner in owners}
