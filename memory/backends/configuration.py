"""Configurations of backends as rows: secrets apart and encrypted, what everybody may read with a mask in their place.

The row of the setting `backendConfigs` holds masks, so whoever reads the settings can't show a secret by mistake.
"""

from collections.abc import Mapping
from typing import Any, Final

from core.errors import AppError, FieldError, InvalidFieldsError
from core.providers.credentials import decrypt_key, encrypt_key, hint_key
from core.runtime_settings import Section, SettingField
from core.words import gettext as _
from core.words import join_words
from memory.backends.base import BackendError
from memory.backends.config_fields import MASK, ConfigField, find_faults, list_secrets
from memory.backends.presets import read_preset
from memory.config import MEMORY_SECTION

Fields = Mapping[str, tuple[ConfigField, ...]]
Configs = Mapping[str, Mapping[str, Any]]

_SECRETS_SECTION: Final = Section(
    "backend_secrets",
    (SettingField("secrets", "memoryBackendSecrets", "object", {}, _("Encrypted, by backend and path.")),),
)
_CONFIGS_SECTION: Final = Section(
    "backend_configs",
    (*(field for field in MEMORY_SECTION.fields if field.name == "backendConfigs"), *_SECRETS_SECTION.fields),
)


def check_configs(configs: Mapping[str, Any], fields: Fields) -> list[FieldError]:
    """What is wrong with the value of `backendConfigs`; `fields` are those of every backend there is."""
    errors: list[FieldError] = []
    for backend_id, config in configs.items():
        path = f"backendConfigs.{backend_id}"
        if backend_id not in fields:
            errors.append(FieldError(path, _("Is no backend; there are %(names)s") % {"names": ", ".join(fields)}))
        elif not isinstance(config, Mapping):
            errors.append(FieldError(path, _("Must be an object")))
        else:
            faults = find_faults(fields[backend_id], config)
            errors += [FieldError(f"{path}.{name}", told) for name, told in faults.items()]
    return errors


def seal_configs(configs: Configs, fields: Fields) -> dict[str, Any]:
    """Store the secrets of configurations that were checked and return what may be read by everybody.

    A secret that is masked or absent keeps its stored value, an empty one is removed. A backend that is not named any
    more loses its secrets. The caller stores the result in the same transaction.
    """
    stored = _SECRETS_SECTION.read()["secrets"]
    sealed: dict[str, Any] = {}
    tokens: dict[str, dict[str, str]] = {}
    for backend_id, config in configs.items():
        sealed[backend_id], kept = _seal(config, fields[backend_id], stored.get(backend_id, {}))
        if kept:
            tokens[backend_id] = kept
    _SECRETS_SECTION.write({"secrets": tokens})
    return sealed


def read_config(backend_id: str, fields: tuple[ConfigField, ...]) -> dict[str, Any]:
    """What a backend is opened with: preset, stored fields, secrets in the clear.

    `BackendError` when something is missing or a secret can't be read any more.
    """
    rows = _CONFIGS_SECTION.read()
    config = _overlay(read_preset(backend_id), rows["backendConfigs"].get(backend_id) or {})
    for path, token in (rows["secrets"].get(backend_id) or {}).items():
        _set(config, path, _open_token(token, backend_id))
    missing = [field.name for field in fields if field.is_required and not config.get(field.name)]
    faults = find_faults(fields, config)
    if missing or faults:
        told = _("The backend %(backend)s is not configured: %(reason)s")
        reason = _tell_gaps(missing, faults)
        raise BackendError(told % {"backend": backend_id, "reason": reason}, code="backend_not_configured")
    return config


def _tell_gaps(missing: list[str], faults: Mapping[str, str]) -> str:
    if missing:
        return _("%(names)s is missing") % {"names": ", ".join(missing)}
    return join_words("; ", [_("%(field)s: %(fault)s") % {"field": at, "fault": why} for at, why in faults.items()])


def list_configured() -> tuple[str, ...]:
    """Ids of the backends that somebody has configured."""
    return tuple(_CONFIGS_SECTION.read()["backendConfigs"])


def read_stored(backend_id: str) -> dict[str, Any]:
    """The stored fields of a backend, secrets masked."""
    return dict(_CONFIGS_SECTION.read()["backendConfigs"].get(backend_id) or {})


def refuse_configs(errors: list[FieldError]) -> None:
    if errors:
        raise InvalidFieldsError(errors)


def _seal(
    config: Mapping[str, Any], fields: tuple[ConfigField, ...], stored: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    given = list_secrets(fields, config)
    tokens: dict[str, str] = {}
    shown = {name: dict(value) if isinstance(value, Mapping) else value for name, value in config.items()}
    for path in {**stored, **given}:
        value = given.get(path, MASK)
        new_token = encrypt_key(value) if value else None
        token = stored.get(path) if value.startswith(MASK) else new_token
        if token is None:
            _remove(shown, path)
        else:
            tokens[path] = token
            _set(shown, path, _mask(token, value))
    return shown, tokens


def _mask(token: str, value: str) -> str:
    if value.startswith(MASK):
        try:
            value = decrypt_key(token, "")
        except AppError:
            return MASK
    return MASK + hint_key(value)


def _open_token(token: str, backend_id: str) -> str:
    try:
        return decrypt_key(token, backend_id)
    except AppError:
        raise BackendError(
            _(
                "The stored key of the backend %(backend)s can't be read, because SECRET_KEY has changed since: "
                "store it again"
            )
            % {"backend": backend_id},
            code="backend_not_configured",
        ) from None


def _overlay(preset: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Stored fields win; an empty one, and a mask whose secret is gone, leave the preset's."""
    config = {name: value for name, value in preset.items() if value}
    for name, value in stored.items():
        if isinstance(value, Mapping):
            before = config.get(name)
            config[name] = {**(before if isinstance(before, Mapping) else {}), **value}
        elif value != "" and not (isinstance(value, str) and value.startswith(MASK)):
            config[name] = value
    return config


def _set(config: dict[str, Any], path: str, value: str) -> None:
    field, _, name = path.partition(".")
    if name:
        config[field] = {**config.get(field, {}), name: value}
    else:
        config[field] = value


def _remove(config: dict[str, Any], path: str) -> None:
    field, _, name = path.partition(".")
    if name and isinstance(config.get(field), dict):
        config[field].pop(name, None)
    elif not name:
        config.pop(field, None)
