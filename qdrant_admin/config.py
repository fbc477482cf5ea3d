"""Qdrant's settings: rows that an operator edits, with the environment behind those that are empty.

Read from the database by every call, so a change holds in every process at once. The API key is stored encrypted and
never handed out. Doors save through `memory.qdrant_control`, which keeps the engine selector in step.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from django.conf import settings

from core.errors import InvalidRequestError
from core.providers.credentials import decrypt_key, encrypt_key, hint_key
from core.runtime_settings import Section, SettingField
from core.words import gettext as _

Quantization = Literal["none", "int8", "binary"]
QUANTIZATIONS: Final[tuple[Quantization, ...]] = ("none", "int8", "binary")
DEFAULT_EMBEDDING_MODEL: Final = "openai/text-embedding-3-small"
UNREADABLE_KEY: Final = _("the stored API key can't be read, because SECRET_KEY has changed since; store it again")

# An empty row is no default but a question to the environment.
QDRANT_SECTION: Final = Section(
    "qdrant",
    (
        SettingField("enabled", "qdrantEnabled", "bool", False, _("Write every memory to Qdrant and search there.")),
        SettingField(
            "host", "qdrantHost", "text", None, _("Host of the server, with or without scheme and port."), nullable=True
        ),
        SettingField("port", "qdrantPort", "int", None, _("Port where the host names none."), minimum=1, maximum=65535),
        SettingField("apiKey", "qdrantApiKey", "text", None, _("The server's API key, encrypted."), nullable=True),
        SettingField(
            "collection",
            "qdrantCollection",
            "text",
            None,
            _("Name under which the collection is found: an alias of the one that is filled."),
            nullable=True,
        ),
        SettingField(
            "embeddingModel",
            "qdrantEmbeddingModel",
            "text",
            None,
            _("What makes the vectors: provider/model, static/model, transformers/model, or memory."),
            nullable=True,
        ),
        SettingField(
            "quantization",
            "qdrantQuantization",
            "choice",
            "none",
            _("How vectors are packed for searching; the best candidates are measured again with the full ones."),
            choices=QUANTIZATIONS,
        ),
    ),
)

_SWITCH: Final = Section("qdrant_switch", QDRANT_SECTION.fields[:1])


@dataclass(frozen=True, slots=True)
class QdrantSettings:
    """`api_key` is "" where none is set; `api_key_fault` says why a stored one can't be used."""

    enabled: bool
    host: str
    port: int
    api_key: str = field(repr=False)
    api_key_fault: str
    collection: str
    embedding_model: str
    quantization: Quantization

    @property
    def is_on(self) -> bool:
        """Switched on, and there is a host to talk to."""
        return self.enabled and bool(self.host)

    @property
    def base_url(self) -> str:
        return build_base_url(self.host, self.port)


@dataclass(frozen=True, slots=True)
class PublicSettings:
    """The settings as an operator may see them (contract 4)."""

    enabled: bool
    host: str
    port: int
    collection: str
    embedding_model: str
    quantization: Quantization
    has_api_key: bool
    api_key_masked: str | None


def load_qdrant_settings() -> QdrantSettings:
    values = QDRANT_SECTION.read()
    api_key, fault = _read_api_key(values["apiKey"])
    return QdrantSettings(
        enabled=values["enabled"],
        host=values["host"] or settings.QDRANT_HOST,
        port=values["port"] or settings.QDRANT_PORT,
        api_key=api_key,
        api_key_fault=fault,
        collection=values["collection"] or settings.QDRANT_COLLECTION,
        embedding_model=values["embeddingModel"] or settings.QDRANT_EMBEDDING_MODEL,
        quantization=values["quantization"],
    )


def is_qdrant_on() -> bool:
    """Quickly, since every write asks."""
    return bool(_SWITCH.read()["enabled"])


def read_public_settings() -> PublicSettings:
    found = load_qdrant_settings()
    has_key = bool(found.api_key or found.api_key_fault)
    return PublicSettings(
        enabled=found.enabled,
        host=found.host,
        port=found.port,
        collection=found.collection,
        embedding_model=found.embedding_model,
        quantization=found.quantization,
        has_api_key=has_key,
        api_key_masked=f"***{hint_key(found.api_key)}" if has_key else None,
    )


def save_qdrant_settings(changes: Mapping[str, Any]) -> None:
    """Store validated changes by wire name. `apiKey` comes in clear; an empty one removes what is stored."""
    stored = dict(changes)
    if "apiKey" in stored:
        stored["apiKey"] = encrypt_key(stored["apiKey"]) if stored["apiKey"] else None
    QDRANT_SECTION.write(stored)


def build_base_url(host: str, port: int) -> str:
    """Return the URL of a host that may bring its own scheme, port and path; http and `port` where it does not."""
    scheme, slashes, rest = host.strip().partition("://")
    if not slashes:
        scheme, rest = "http", host.strip()
    name, slash, path = rest.partition("/")
    if _is_bare_ipv6(name):
        name = f"[{name}]"
    if not re.search(r":[0-9]+$", name.rpartition("]")[2]):
        name = f"{name}:{port}"
    return f"{scheme}://{name}{slash}{path}".rstrip("/")


def _is_bare_ipv6(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).version == 6
    except ValueError:
        return False


def _read_api_key(stored: str | None) -> tuple[str, str]:
    """Return the key and why it can't be used, one of them empty."""
    if not stored:
        return settings.QDRANT_API_KEY, ""
    try:
        return decrypt_key(stored, "qdrant"), ""
    except InvalidRequestError:
        return "", UNREADABLE_KEY
