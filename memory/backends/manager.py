"""Which backend answers: the registry, and the routing between the primary and its fallbacks.

The registry of built-ins is a literal table; a backend's module is imported when it is first used.

| call   | primary                      | fallbacks                                      |
|--------|------------------------------|------------------------------------------------|
| create | yes                          | no                                             |
| get    | first; its error is raised   | in order, when the primary has no such memory  |
| update | yes                          | brought up to date by jobs                     |
| delete | yes                          | the same                                       |
| list   | yes                          | no                                             |
| search | first                        | in order, while there is an error              |
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import structlog
from django.utils.module_loading import import_string

from core.errors import AppError
from core.words import gettext as _
from core.words import join_words
from memory.backends.base import BackendError, BackendHealth, MemoryBackend
from memory.backends.config_fields import ConfigField
from memory.backends.configuration import read_config
from memory.backends.routes import LOCAL, read_routes
from memory.config import MEMORY_SECTION
from memory.records import MemoryRecord, SearchOutcome, SearchQuery

log = structlog.get_logger(__name__)

REGISTRY: Final = {
    "sqlite": "memory.backends.sqlite.SQLiteBackend",
    "obsidian": "memory.backends.obsidian.ObsidianBackend",
    "notion": "memory.backends.notion.NotionBackend",
    "generic": "memory.backends.generic_http.GenericMemoryBackend",
}
# Long enough that a dead backend doesn't cost every chat its time-out, short enough that nobody waits for it.
PAUSE_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class RegisteredBackend:
    id: str
    display_name: str
    is_primary: bool


class MemoryManager:
    """Knows every backend by its id. Backends of `registry` are opened with their stored configuration, and anew when
    it has changed; those that are registered by hand are used as they are."""

    def __init__(self, registry: Mapping[str, str]) -> None:
        self._registry = dict(registry)
        self._own: dict[str, MemoryBackend] = {}
        self._opened: dict[str, tuple[str, MemoryBackend]] = {}
        # Until when searches that can't wait pass over a backend that has just failed one.
        self._paused_until: dict[str, float] = {}

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self._registry, *self._own]))

    def register(self, backend: MemoryBackend) -> None:
        """Make a backend known in this process; one of the same id is replaced, with a warning."""
        if backend.id in self.ids:
            log.warning("memory.backends.replaced", backend=backend.id)
        self._own[backend.id] = backend

    def unregister(self, backend_id: str) -> None:
        """Forget a backend that was registered by hand, or let go of an opened one."""
        self._own.pop(backend_id, None)
        _shut_down(self._opened.pop(backend_id, ("", None))[1])

    def configure(self, primary: str, fallbacks: Sequence[str] = ()) -> None:
        """Save which backends are used, for every process. `KeyError` when no backend is called like the primary;
        unknown fallbacks are left out with a warning."""
        if primary not in self.ids:
            raise KeyError(primary)
        MEMORY_SECTION.write({"primaryBackend": primary, "fallbackBackends": list(self._keep_known(fallbacks))})

    def initialize(self) -> None:
        """Make the backends in use ready; what fails is logged and tried again at its first use."""
        routes = read_routes()
        for backend_id in (routes.primary, *self._keep_known(routes.fallbacks)):
            try:
                initialize = getattr(self.open(backend_id), "initialize", None)
                if initialize is not None:
                    initialize()
            except BackendError as error:
                log.warning("memory.backends.not_ready", backend=backend_id, reason=error.message)

    def shutdown(self) -> None:
        """Let go of all that was opened."""
        for backend_id in list(self._opened):
            _shut_down(self._opened.pop(backend_id)[1])
        for backend in self._own.values():
            _shut_down(backend)

    def list_registered(self) -> list[RegisteredBackend]:
        primary = read_routes().primary
        return [RegisteredBackend(name, self.read_display_name(name), name == primary) for name in self.ids]

    def health_check_all(self) -> dict[str, BackendHealth]:
        """Ask the primary, the fallbacks and every backend that was registered by hand how they are."""
        routes = read_routes()
        names = dict.fromkeys([routes.primary, *self._keep_known(routes.fallbacks), *self._own])
        return {name: self.check(name) for name in names}

    def check(self, backend_id: str) -> BackendHealth:
        try:
            return self.open(backend_id).health()
        except BackendError as error:
            return BackendHealth(False, 0, error.message)

    def open(self, backend_id: str) -> MemoryBackend:
        """Return the backend of that id; `KeyError` when there is none, `BackendError` when it isn't configured."""
        if backend_id in self._own:
            return self._own[backend_id]
        fields = self.load_fields(backend_id)
        config = read_config(backend_id, fields) if fields else {}
        fingerprint = json.dumps(config, sort_keys=True)
        opened = self._opened.get(backend_id)
        if opened is None or opened[0] != fingerprint:
            backend_class = import_string(self._registry[backend_id])
            opened = (fingerprint, backend_class(config) if fields else backend_class())
            self._opened[backend_id] = opened
        return opened[1]

    def load_fields(self, backend_id: str) -> tuple[ConfigField, ...]:
        """What a backend's configuration may hold; nothing for one that needs none or was registered by hand."""
        if backend_id in self._own:
            return ()
        fields: tuple[ConfigField, ...] = getattr(import_string(self._registry[backend_id]), "config_fields", ())
        return fields

    def load_all_fields(self) -> dict[str, tuple[ConfigField, ...]]:
        """The same for every backend there is."""
        return {name: self.load_fields(name) for name in self.ids}

    def read_display_name(self, backend_id: str) -> str:
        source: Any = self._own.get(backend_id) or import_string(self._registry[backend_id])
        display_name: str = source.display_name
        return display_name

    def open_primary(self) -> MemoryBackend:
        """The backend that is written to and read first, by the saved settings."""
        return self._open_named(read_routes().primary)

    def find(self, memory_id: str) -> MemoryRecord | None:
        """A memory by its id: the primary's, else the first fallback's that has it."""
        routes = read_routes()
        record = self._open_named(routes.primary).get(memory_id)
        for backend_id in self._keep_known(routes.fallbacks):
            if record is not None:
                break
            try:
                record = self.open(backend_id).get(memory_id)
            except BackendError as error:
                log.warning("memory.backends.fallback_failed", backend=backend_id, call="get", reason=error.message)
        return record

    def search(self, query: SearchQuery) -> SearchOutcome:
        """The primary's outcome, else that of the first fallback that has one, else no hits; the reason says why.

        With nobody else to ask, an error of our own engine is raised as it is.
        """
        routes = read_routes(query.settings)
        reasons: list[str] = []
        fallbacks = tuple(self._keep_known(routes.fallbacks))
        for backend_id in (routes.primary, *fallbacks):
            if query.timeout_seconds is not None and time.monotonic() < self._paused_until.get(backend_id, 0.0):
                reasons.append(_("The backend %(name)s failed a moment ago and is left alone") % {"name": backend_id})
                continue
            try:
                backend = self._open_named(backend_id)
                outcome = backend.search(query)
            except Exception as error:  # the fallback edge: whatever one can't do, the next is asked
                if backend_id == LOCAL and not fallbacks:
                    raise
                self._paused_until[backend_id] = time.monotonic() + PAUSE_SECONDS
                reasons.append(_describe(backend_id, error))
                log.warning("memory.backends.search_failed", backend=backend_id, exc_info=True)
            else:
                self._paused_until.pop(backend_id, None)
                return _tell_detour(outcome, backend, reasons)
        return SearchOutcome([], query.strategy, fallback_reason=join_words("; ", reasons))

    def _open_named(self, backend_id: str) -> MemoryBackend:
        """A backend that a setting names; a name that nobody knows any more is an error, never another backend."""
        if backend_id not in self.ids:
            raise BackendError(_("No backend is called %(name)s") % {"name": backend_id}, code="backend_unknown")
        return self.open(backend_id)

    def _keep_known(self, backend_ids: Sequence[str]) -> list[str]:
        for unknown in (name for name in backend_ids if name not in self.ids):
            log.warning("memory.backends.unknown_fallback", backend=unknown)
        return [name for name in backend_ids if name in self.ids]


def _tell_detour(outcome: SearchOutcome, backend: MemoryBackend, reasons: list[str]) -> SearchOutcome:
    if not reasons:
        return outcome
    answered = _("%(backend)s answered instead") % {"backend": backend.display_name}
    told = [*reasons, answered, *filter(None, [outcome.fallback_reason])]
    return replace(outcome, fallback_reason=join_words("; ", told))


def _describe(backend_id: str, error: Exception) -> str:
    if isinstance(error, AppError):
        return error.message
    return _("The backend %(name)s failed (%(kind)s)") % {"name": backend_id, "kind": type(error).__name__}


def _shut_down(backend: MemoryBackend | None) -> None:
    shutdown = getattr(backend, "shutdown", None)
    if shutdown is not None:
        shutdown()


MANAGER: Final = MemoryManager(REGISTRY)


def get_backend(backend_id: str) -> MemoryBackend:
    """Return the backend of that id; `KeyError` when none is registered."""
    return MANAGER.open(backend_id)


def get_primary() -> MemoryBackend:
    """The backend that is written to and read first."""
    return MANAGER.open_primary()


def find(memory_id: str) -> MemoryRecord | None:
    """A memory by its id, of the primary or of a fallback."""
    return MANAGER.find(memory_id)


def search(query: SearchQuery) -> SearchOutcome:
    """Search the primary, and the fallbacks where it fails."""
    return MANAGER.search(query)
