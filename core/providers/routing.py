"""From the model name of a request to the provider that answers it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import structlog
from django.conf import settings
from django.db import connection

from core.errors import InvalidRequestError, NotFoundError
from core.providers.credentials import decrypt_key, is_sendable
from core.providers.models import Provider
from core.providers.registry import (
    ALIASES,
    ECHO,
    PROVIDER_NAME,
    PROVIDERS,
    KnownProvider,
    SystemRole,
    find_provider,
    read_system_role,
)
from core.words import gettext as _

log = structlog.get_logger(__name__)

# As it stands, since every chat asks: building it anew takes twice as long as asking.
SELECT: Final = "SELECT * FROM providers"
HOW_TO_WRITE: Final = _("Write model as provider/model, such as openai/gpt-4o-mini")


@dataclass(frozen=True)
class Route:
    """Where a chat goes: `model` is what upstream is asked for, `api_key` is "" when none is sent."""

    provider: str
    model: str
    base_url: str
    api_key: str = field(repr=False)
    system_role: SystemRole


def resolve_route(model: str) -> Route:
    """Return the route of `provider/model`, split at the first slash, or of a bare model at the default provider.

    Raises `NotFoundError` (code model_not_found) for a provider that nobody knows and `InvalidRequestError` (code
    provider_not_configured) for one whose key is missing.
    """
    provider_name, slash, model_name = model.partition("/")
    if not slash:
        provider_name, model_name = name_default_provider(), provider_name
    provider_name, model_name = provider_name.strip().lower(), model_name.strip()
    if not model_name or not PROVIDER_NAME.fullmatch(provider_name):
        raise NotFoundError(HOW_TO_WRITE, code="model_not_found", param="model")
    return _build_route(provider_name, model_name, _look_up_row(provider_name))


def list_routes() -> list[Route]:
    """Return one route for each configured provider, its `model` empty: rows by name, then registry entries with a
    key in the environment, then echo. A row whose key can't be read or is missing is left out.
    """
    rows = list(Provider.objects.raw(f"{SELECT} ORDER BY name"))
    names = [row.name for row in rows]
    names += [known.id for known in _list_keyed() if known.id not in names]
    routes = []
    for name in names:
        try:
            routes.append(_build_route(name, "", _find_row(name, rows)))
        except InvalidRequestError as error:
            log.warning("providers.route.skipped", provider=name, code=error.code)
    return [*routes, _build_echo_route("")]


def name_default_provider() -> str:
    """Return the name of the provider that takes models which name none."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM providers WHERE is_default ORDER BY name LIMIT 1")
        stored = cursor.fetchone()
    if stored or settings.DEFAULT_PROVIDER:
        return str(stored[0] if stored else settings.DEFAULT_PROVIDER)
    return next((known.id for known in _list_keyed() if known.chats), ECHO)


def _build_route(name: str, model: str, row: Provider | None) -> Route:
    known = find_provider(name)
    if known is not None and known.id == ECHO:
        return _build_echo_route(model)
    if row is not None:
        provider_id = row.name
    elif known is not None:
        provider_id = known.id
    else:
        raise NotFoundError(
            _(
                "No provider is called %(name)s. Write model as provider/model, such as openai/gpt-4o-mini, also "
                "when the model's own name has a slash: openrouter/%(name)s/...; manage.py list_providers shows the "
                "providers"
            )
            % {"name": name},
            code="model_not_found",
            param="model",
        )
    return Route(
        provider=provider_id,
        model=model,
        base_url=_choose_base_url(row, known),
        api_key=_choose_key(provider_id, row, known),
        system_role=_choose_system_role(provider_id, model, row),
    )


def _build_echo_route(model: str) -> Route:
    return Route(provider=ECHO, model=model, base_url="", api_key="", system_role=read_system_role(ECHO, model))


def _look_up_row(name: str) -> Provider | None:
    return _find_row(name, Provider.objects.raw(f"{SELECT} WHERE name IN (%s, %s)", [name, ALIASES.get(name, name)]))


def _find_row(name: str, rows: Iterable[Provider]) -> Provider | None:
    """The row of that very name, else the one of the name that it is an alias of."""
    by_name = {row.name: row for row in rows}
    return by_name.get(name) or by_name.get(ALIASES.get(name, name))


def _choose_base_url(row: Provider | None, known: KnownProvider | None) -> str:
    base_url = (row.base_url if row else "") or (known.base_url if known else "")
    return base_url.rstrip("/")


def _choose_key(provider_id: str, row: Provider | None, known: KnownProvider | None) -> str:
    if row is not None and row.has_key:
        return decrypt_key(row.api_key_encrypted, provider_id)
    # A key from the environment is meant for the registry's address and for no other that a row may point to.
    if known is None or (row is not None and row.base_url not in ("", known.base_url)):
        return ""
    api_key = _read_env_key(known)
    if known.needs_key and not api_key:
        raise InvalidRequestError(
            _("Provider %(name)s has no key. Set %(variable)s, or run manage.py add_provider %(name)s --api-key KEY")
            % {"name": provider_id, "variable": known.env_name},
            code="provider_not_configured",
            param="model",
        )
    if not is_sendable(api_key):
        raise InvalidRequestError(
            _("%(variable)s holds characters that no key can have") % {"variable": known.env_name},
            code="provider_not_configured",
            param="model",
        )
    return api_key


def _choose_system_role(provider_id: str, model: str, row: Provider | None) -> SystemRole:
    match row.system_role if row else "":
        case "any":
            return "any"
        case "first":
            return "first"
        case "none":
            return "none"
    return read_system_role(provider_id, model)


def _list_keyed() -> list[KnownProvider]:
    """The registry's entries that have a key in the environment, in the registry's order."""
    keys: dict[str, str] = settings.PROVIDER_API_KEYS
    return [known for known in PROVIDERS if keys.get(known.env_name)] if keys else []


def _read_env_key(known: KnownProvider) -> str:
    keys: dict[str, str] = settings.PROVIDER_API_KEYS
    return keys.get(known.env_name, "")
