"""Which backend answers. The registry is a literal table; a backend's module is imported when it is first used."""

from functools import cache
from typing import Final

from django.utils.module_loading import import_string

from memory.backends.base import MemoryBackend

REGISTRY: Final = {
    "sqlite": "memory.backends.sqlite.SQLiteBackend",
}


@cache
def get_backend(backend_id: str) -> MemoryBackend:
    """Return the backend of that id; `KeyError` when none is registered."""
    backend: MemoryBackend = import_string(REGISTRY[backend_id])()
    return backend


def get_primary() -> MemoryBackend:
    """The backend that is written to and read first."""
    return get_backend("sqlite")
