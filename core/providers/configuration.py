"""Adding and changing providers: the one writer of `Provider` rows, for the command line and the admin alike."""

from dataclasses import dataclass
from typing import Final

from django.db import transaction

from core.errors import AppError, FieldError, InvalidFieldsError, NotFoundError, OutboundRefusedError
from core.outbound import check_url
from core.providers.credentials import encrypt_key, hint_key, is_sendable
from core.providers.models import Provider
from core.providers.registry import ECHO, PROVIDER_NAME, find_provider
from core.words import gettext as _

MAX_KEY_LENGTH: Final = 4000
SYSTEM_ROLE_WORDS: Final = ("", "any", "first", "none")


@dataclass(frozen=True)
class ProviderChanges:
    """What to set; None leaves a field as it is. An empty `api_key` removes the key, an empty `base_url` or
    `system_role` goes back to the registry's."""

    base_url: str | None = None
    api_key: str | None = None
    is_default: bool | None = None
    system_role: str | None = None


def save_provider(name: str, changes: ProviderChanges) -> tuple[Provider, bool]:
    """Create or update the provider called `name`; return its row and whether it is new.

    Making it the default takes that from the one that had it. Raises `InvalidFieldsError` naming the field.
    """
    name = normalise_name(name)
    with transaction.atomic():
        provider = Provider.objects.select_for_update().filter(name=name).first()
        created = provider is None
        provider = provider or Provider(name=name)
        if changes.base_url is not None or created:
            provider.base_url = normalise_base_url(name, changes.base_url or "")
        if changes.api_key is not None:
            _set_key(provider, changes.api_key)
        if changes.system_role is not None:
            provider.system_role = _check_system_role(changes.system_role)
        if changes.is_default is not None:
            provider.is_default = changes.is_default
        if provider.is_default:
            Provider.objects.filter(is_default=True).exclude(name=name).update(is_default=False)
        provider.save()
    return provider, created


def remove_provider(name: str) -> None:
    """Delete what is stored of a provider, its key too; one that is known by name works on with the environment's key.

    Raises `NotFoundError` when nothing is stored of it.
    """
    if not Provider.objects.filter(name=name).delete()[0]:
        raise NotFoundError(_("Nothing is stored of a provider called %(name)s") % {"name": name})


def normalise_name(name: str) -> str:
    """Return the name in its one spelling; raises `InvalidFieldsError` when it can't be one."""
    name = name.strip().lower()
    if not PROVIDER_NAME.fullmatch(name):
        raise _refuse("name", _("A provider's name is 1 to 64 of the characters a-z, 0-9, dot, dash and underscore"))
    if name == ECHO:
        raise _refuse("name", _("echo is built in and can't be changed"))
    return name


def normalise_base_url(name: str, base_url: str) -> str:
    """Return the URL without a final slash, "" for the registry's own; raises `InvalidFieldsError`."""
    base_url = base_url.strip().rstrip("/")
    if not base_url:
        if find_provider(name) is None:
            raise _refuse(
                "base_url", _("%(name)s is no provider that is known by name: give its base URL") % {"name": name}
            )
        return ""
    try:
        check_url(base_url)
    except OutboundRefusedError as error:
        raise _refuse("base_url", error.message) from None
    return base_url


def normalise_key(api_key: str) -> str:
    """Return the key without outer blanks; raises `InvalidFieldsError` when no header could carry it."""
    api_key = api_key.strip()
    if len(api_key) > MAX_KEY_LENGTH or not is_sendable(api_key):
        raise _refuse("api_key", _("A key holds visible ASCII characters only, without blanks, at most 4000 of them"))
    return api_key


def _set_key(provider: Provider, api_key: str) -> None:
    api_key = normalise_key(api_key)
    provider.api_key_encrypted = encrypt_key(api_key) if api_key else ""
    provider.api_key_hint = hint_key(api_key)


def _check_system_role(system_role: str) -> str:
    if system_role not in SYSTEM_ROLE_WORDS:
        raise _refuse("system_role", _("Must be any, first, none or empty"))
    return system_role


def _refuse(field: str, message: str) -> AppError:
    return InvalidFieldsError([FieldError(field, message)], message)
