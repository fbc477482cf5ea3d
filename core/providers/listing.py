"""The configured providers as pages list them: stored ones, those with a key in the environment, and echo."""

from dataclasses import dataclass
from typing import Literal

from django.conf import settings

from core.errors import NotFoundError
from core.providers.models import Provider
from core.providers.registry import ECHO, PROVIDERS, KnownProvider, find_provider
from core.providers.routing import name_default_provider
from core.words import gettext as _

# `unset`: the registry says that it wants a key, and there is none.
KeyState = Literal["stored", "environment", "not_needed", "unset", "none"]


@dataclass(frozen=True, slots=True)
class ListedProvider:
    """One provider. `key_hint` is the end of a stored key, `env_name` the variable that holds, or would hold, a key.

    `is_stored` is whether an operator has added or changed it, so that it can be removed; `stored_base_url` and
    `system_role` are "" where the registry's hold.
    """

    name: str
    title: str
    base_url: str
    stored_base_url: str
    key_state: KeyState
    key_hint: str
    env_name: str
    is_default: bool
    is_stored: bool
    system_role: str


def list_providers() -> list[ListedProvider]:
    """Return the configured providers: stored ones by name, then those of the environment, echo last. Two queries."""
    default = name_default_provider()
    stored = list(Provider.objects.all())
    names = {provider.name for provider in stored}
    rest = [it for it in PROVIDERS if it.id not in names and (it.id == ECHO or _has_env_key(it))]
    return [*(_list_stored(row, default) for row in stored), *(_list_known(it, default) for it in rest)]


def count_providers() -> int:
    """Return how many providers `list_providers` lists, in one query."""
    names = set(Provider.objects.values_list("name", flat=True))
    return len(names | {ECHO} | {known.id for known in PROVIDERS if _has_env_key(known)})


def read_provider(name: str) -> ListedProvider:
    """Return the provider of that very name, configured or known; `NotFoundError` when there is none."""
    default = name_default_provider()
    stored = Provider.objects.filter(name=name).first()
    if stored is not None:
        return _list_stored(stored, default)
    known = find_provider(name)
    if known is None or known.id != name:
        raise NotFoundError(_("No provider is called %(name)s") % {"name": name})
    return _list_known(known, default)


def _list_stored(row: Provider, default: str) -> ListedProvider:
    known = find_provider(row.name)
    state: KeyState = "stored" if row.has_key else "none"
    if not row.has_key and known is not None and row.base_url in ("", known.base_url):
        state = _judge_env_key(known)
    return ListedProvider(
        name=row.name,
        title=known.name if known else row.name,
        base_url=row.base_url or (known.base_url if known else ""),
        stored_base_url=row.base_url,
        key_state=state,
        key_hint=row.api_key_hint,
        env_name=known.env_name if known else "",
        is_default=row.name == default,
        is_stored=True,
        system_role=row.system_role,
    )


def _list_known(known: KnownProvider, default: str) -> ListedProvider:
    return ListedProvider(
        name=known.id,
        title=known.name,
        base_url=known.base_url,
        stored_base_url="",
        key_state=_judge_env_key(known),
        key_hint="",
        env_name=known.env_name,
        is_default=known.id == default,
        is_stored=False,
        system_role="",
    )


def _judge_env_key(known: KnownProvider) -> KeyState:
    if not known.needs_key:
        return "not_needed"
    return "environment" if _has_env_key(known) else "unset"


def _has_env_key(known: KnownProvider) -> bool:
    return bool(settings.PROVIDER_API_KEYS.get(known.env_name))
