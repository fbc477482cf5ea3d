"""Which backend is the primary and which are the fallbacks: settings rows, read anew each time.

That way a change holds in every process from the next call on.
"""

from dataclasses import dataclass
from typing import Final

from core.runtime_settings import Section
from memory.config import MEMORY_SECTION, MemorySettings

LOCAL: Final = "sqlite"
_FIELDS: Final = tuple(field for field in MEMORY_SECTION.fields if field.name in ("primaryBackend", "fallbackBackends"))
_SECTION: Final = Section("backend_routes", _FIELDS)


@dataclass(frozen=True, slots=True)
class Routes:
    """Ids of backends; the primary is no fallback of itself, and none is named twice."""

    primary: str
    fallbacks: tuple[str, ...]


def read_routes(settings: MemorySettings | None = None) -> Routes:
    """The saved routes, out of `settings` where the caller has read them already."""
    if settings is not None:
        return make_routes(settings.primary_backend, settings.fallback_backends)
    values = _SECTION.read()
    return make_routes(values["primaryBackend"], values["fallbackBackends"])


def make_routes(primary: str, fallbacks: list[str] | tuple[str, ...]) -> Routes:
    return Routes(primary, tuple(name for name in dict.fromkeys(fallbacks) if name != primary))
