"""API keys as pages name and offer them."""

from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _

from core.accounts.keys import ENV_KEY_ID, ENV_KEY_NAME, list_keys

MAX_OFFERED: Final = 500


@dataclass(frozen=True, slots=True)
class OwnerChoice:
    id: str
    name: str


def list_owner_choices(chosen: str | None) -> list[OwnerChoice]:
    """Return the keys to choose from, by name, those in use first; one that is chosen is always among them."""
    keys = list_keys(limit=MAX_OFFERED)
    choices = [OwnerChoice(key.id, key.name) for key in sorted(keys, key=lambda key: (key.is_revoked, key.name))]
    if chosen and all(choice.id != chosen for choice in choices):
        choices.insert(0, OwnerChoice(chosen, name_owner(chosen)))
    return choices


def name_owner(owner: str) -> str:
    """Return what people call the owner: its key's name, or its id where no key has it."""
    if owner == ENV_KEY_ID:
        return ENV_KEY_NAME
    return name_owners([owner])[owner] if owner else _("no API key")


def name_owners(owners: list[str]) -> dict[str, str]:
    """Return the names of many owners in one query."""
    names = {key.id: key.name for key in list_keys(ids=owners)}
    named = {owner: names.get(owner) or owner or _("no API key") for owner in owners}
    return {**named, **({ENV_KEY_ID: ENV_KEY_NAME} if ENV_KEY_ID in named else {})}
