"""What may stand in the configuration of a backend: kinds of fields, their checks, which values are secrets. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from core.errors import OutboundRefusedError
from core.outbound import check_url
from core.words import gettext as _

Kind = Literal["url", "secret", "text", "milliseconds", "choice", "folder", "names", "headers"]
MAX_TEXT_LENGTH: Final = 2000
MAX_TIMEOUT_MS: Final = 120_000
MAX_HEADERS: Final = 30
MASK: Final = "***"
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
# Windows and Obsidian's links leave these out of names; the plugin reads the three words as addresses inside a note.
_FOLDER: Final = re.compile(r"[^\\:*?\"<>|#^\[\]\x00-\x1f]{1,200}")
_RESERVED_SEGMENTS: Final = frozenset({"", ".", "..", "heading", "block", "frontmatter"})
# Headers whose values are credentials, whatever the service calls them.
_SECRET_HEADER: Final = re.compile(r"auth|key|token|secret|cookie|password|credential", re.IGNORECASE)


@dataclass(frozen=True)
class ConfigField:
    """`names` are the choices of a `choice`, or the entries that an object of `names` may have."""

    name: str
    kind: Kind
    help: str
    default: Any = None
    names: tuple[str, ...] = ()
    is_required: bool = False


BASE_URL: Final = ConfigField("baseUrl", "url", _("Where the service is."), is_required=True)
API_KEY: Final = ConfigField("apiKey", "secret", _("Sent as a bearer token."))
HEADERS: Final = ConfigField("headers", "headers", _("Further headers of every request."))
TIMEOUT: Final = ConfigField("timeout", "milliseconds", _("All the time one operation may take."), default=30_000)


def find_faults(fields: tuple[ConfigField, ...], config: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with a configuration, by dotted path; nothing when it may be stored."""
    known = {field.name: field for field in fields}
    faults: dict[str, str] = {}
    for name, value in config.items():
        if name not in known:
            faults[name] = _("Unknown field")
        else:
            faults.update({f"{name}{path}": told for path, told in _find_value_faults(known[name], value).items()})
    return faults


def list_secrets(fields: tuple[ConfigField, ...], config: Mapping[str, Any]) -> dict[str, str]:
    """The values that must not be shown, by path: `apiKey`, `headers.X-Token`."""
    secrets: dict[str, str] = {}
    for field in fields:
        value = config.get(field.name)
        if field.kind == "secret" and isinstance(value, str):
            secrets[field.name] = value
        if field.kind == "headers" and isinstance(value, Mapping):
            secrets.update({f"{field.name}.{name}": text for name, text in value.items() if is_secret_header(name)})
    return secrets


def is_secret_header(name: str) -> bool:
    return _SECRET_HEADER.search(name) is not None


def read_names(config: Mapping[str, Any], field: str) -> dict[str, str]:
    """An object of texts out of a configuration that was validated; empty when it isn't there."""
    return dict(config.get(field) or {})


def _find_value_faults(field: ConfigField, value: Any) -> dict[str, str]:
    if field.kind in ("names", "headers"):
        return _find_object_faults(field, value)
    told = _find_fault(field, value)
    return {} if told is None else {"": told}


def _find_object_faults(field: ConfigField, value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {"": _("Must be an object")}
    if len(value) > MAX_HEADERS:
        return {"": _("Must have at most %(count)d entries") % {"count": MAX_HEADERS}}
    faults: dict[str, str] = {}
    for name, text in value.items():
        if field.kind == "names" and name not in field.names:
            faults[f".{name}"] = _("Unknown field")
        elif field.kind == "headers" and not _HEADER_NAME.fullmatch(name):
            faults[f".{name}"] = _("Is no name of a header")
        elif not isinstance(text, str) or len(text) > MAX_TEXT_LENGTH:
            faults[f".{name}"] = _tell_length()
        elif field.kind == "headers" and not is_sendable_value(text):
            faults[f".{name}"] = _("Must hold visible ASCII characters and blanks only")
    return faults


def is_sendable_value(text: str) -> bool:
    return all(" " <= character <= "~" for character in text)


def _find_fault(field: ConfigField, value: Any) -> str | None:
    if field.kind == "milliseconds":
        is_number = isinstance(value, int) and not isinstance(value, bool)
        is_within = is_number and 1 <= value <= MAX_TIMEOUT_MS
        return None if is_within else _("Must be between 1 and %(maximum)d") % {"maximum": MAX_TIMEOUT_MS}
    if not isinstance(value, str) or len(value) > MAX_TEXT_LENGTH:
        return _tell_length()
    if field.kind == "choice":
        return None if value in field.names else _("Must be one of: %(names)s") % {"names": ", ".join(field.names)}
    if field.kind == "folder" and value and not is_folder(value):
        return _("Must be a folder of the vault, without characters that file names can't have")
    if field.kind == "secret" and not is_sendable_value(value):
        return _("Must hold visible ASCII characters only")
    if field.kind == "url" and value:
        try:
            check_url(value)
        except OutboundRefusedError as error:
            return error.message
    return None


def _tell_length() -> str:
    return _("Must be a string of at most %(count)d characters") % {"count": MAX_TEXT_LENGTH}


def is_folder(path: str) -> bool:
    """True for a path of folders inside a vault."""
    segments = path.strip("/").split("/")
    return _FOLDER.fullmatch(path) is not None and not any(
        segment in _RESERVED_SEGMENTS or segment != segment.strip() or segment.startswith(".") for segment in segments
    )
