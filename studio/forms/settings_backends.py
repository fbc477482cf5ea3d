"""Configurations of backends as fields of a form. Secrets are masked; an empty secret keeps the stored one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.http import QueryDict

from core.words import translate
from memory.backends.config_fields import ConfigField
from memory.backends.manager import MANAGER
from studio.forms.settings_words import BACKEND_LABELS, Words

FIELD_PREFIX: Final = "backend"
REMOVED_SUFFIX: Final = "remove"
OBJECT_KINDS: Final = ("names", "headers")
CONTROLS: Final = {"secret": "secret", "choice": "select", "names": "lines", "headers": "lines"}
Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BackendField:
    """`name` is that of the form's field. Of a secret `was` is the mask, and `value` always empty."""

    name: str
    label: Words
    help: str
    control: str
    value: str
    was: str
    placeholder: str
    errors: list[str]
    choices: tuple[str, ...] = ()

    @property
    def described_by(self) -> str:
        return f"{self.name}-help" + (f" {self.name}-error" if self.errors else "")


@dataclass(frozen=True, slots=True)
class BackendCard:
    """A backend that can be configured. `is_configured` is whether anything is stored for it."""

    id: str
    title: str
    fields: list[BackendField]
    is_configured: bool

    @property
    def has_errors(self) -> bool:
        return any(field.errors for field in self.fields)


def build_backend_cards(values: Config, was: Config, errors: Mapping[str, str]) -> tuple[BackendCard, ...]:
    """Return a card for each backend that takes a configuration. `errors` are by dotted path, as the check tells."""
    return tuple(
        BackendCard(
            backend_id,
            MANAGER.read_display_name(backend_id),
            [_build_field(backend_id, it, values, was, errors) for it in MANAGER.load_fields(backend_id)],
            bool(was.get(backend_id)),
        )
        for backend_id in _list_configurable()
    )


def read_backend_configs(post: QueryDict, was: Any) -> dict[str, Any]:
    """Return the value of `backendConfigs` that the form holds; a backend without a value is left out."""
    stored = was if isinstance(was, Mapping) else {}
    configs: dict[str, Any] = {it: value for it, value in stored.items() if it not in _list_configurable()}
    for backend_id in _list_configurable():
        before = stored.get(backend_id)
        config = _read_config(post, backend_id, before if isinstance(before, Mapping) else {})
        if config:
            configs[backend_id] = config
    return configs


def _list_configurable() -> list[str]:
    return [backend_id for backend_id in MANAGER.ids if MANAGER.load_fields(backend_id)]


def _read_config(post: QueryDict, backend_id: str, before: Config) -> dict[str, Any]:
    config = {}
    for item in MANAGER.load_fields(backend_id):
        value = _read_field(item, post, _name_field(backend_id, item), before.get(item.name))
        if value not in (None, {}):
            config[item.name] = value
    return config


def _read_field(item: ConfigField, post: QueryDict, name: str, before: Any) -> Any:
    text = post.get(name, "").strip()
    if item.kind == "secret":
        if f"{name}.{REMOVED_SUFFIX}" in post:
            return "" if before else None
        return text or before
    if not text:
        return None
    if item.kind in OBJECT_KINDS:
        return _read_lines(text)
    if item.kind == "milliseconds":
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text
    return text


def _read_lines(text: str) -> dict[str, Any]:
    """`name: value`, one a line; a line without a colon has no value, which the check refuses."""
    pairs = (line.partition(":") for line in text.splitlines() if line.strip())
    return {name.strip(): value.strip() if colon else None for name, colon, value in pairs}


def _build_field(
    backend_id: str, item: ConfigField, values: Config, was: Config, errors: Mapping[str, str]
) -> BackendField:
    path = f"backendConfigs.{backend_id}.{item.name}"
    value, before = ((side.get(backend_id) or {}).get(item.name) for side in (values, was))
    is_secret = item.kind == "secret"
    return BackendField(
        name=_name_field(backend_id, item),
        label=BACKEND_LABELS.get(item.name, item.name),
        help=translate(item.help),
        control=CONTROLS.get(item.kind, "text"),
        value="" if is_secret else _write(value),
        was=_write(before),
        placeholder=_write(before) if is_secret else _write(item.default),
        errors=[told for at, told in errors.items() if at == path or at.startswith(f"{path}.")],
        choices=item.names if item.kind == "choice" else (),
    )


def _name_field(backend_id: str, item: ConfigField) -> str:
    return f"{FIELD_PREFIX}.{backend_id}.{item.name}"


def _write(value: Any) -> str:
    if isinstance(value, Mapping):
        return "\n".join(f"{name}: {text}" if text is not None else str(name) for name, text in value.items())
    return "" if value is None else str(value)
