"""A backend in the process that does as told, for the tests of routing; and how to put backends to use."""

from collections.abc import Callable
from typing import Any

from memory import services
from memory.backends.base import BackendError, BackendHealth
from memory.backends.manager import MANAGER
from memory.backends.remote import RemoteBackend
from memory.records import MemoryFilter, MemoryRecord

OUTAGE = BackendError("it is down", code="backend_failed")
REFUSAL = BackendError("it refuses that", code="backend_bad_status", is_lasting=True)


class FakeBackend(RemoteBackend):
    """`fault` is raised by every call; `calls` are the names of the calls."""

    def __init__(self, id: str) -> None:
        self.id, self.display_name = id, id.title()
        self.held: dict[str, MemoryRecord] = {}
        self.fault: Exception | None = None
        self.calls: list[str] = []
        self.before_write: Callable[[], None] = lambda: None

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if self.fault is not None:
            raise self.fault

    def check(self, deadline: Any) -> None:
        self._call("check")

    def load(self, filter: MemoryFilter, deadline: Any) -> Any:
        self._call("load")
        return list(self.held.values())

    def find(self, id: str, deadline: Any) -> MemoryRecord | None:
        self._call("find")
        return self.held.get(id)

    def find_key(self, owner: str, key: str, deadline: Any) -> MemoryRecord | None:
        self._call("find_key")
        return next((it for it in self.held.values() if (it.owner, it.key) == (owner, key)), None)

    def write(self, record: MemoryRecord, stored: MemoryRecord | None, deadline: Any) -> MemoryRecord | None:
        self._call("write")
        self.before_write()
        if stored is not None:
            self.held.pop(stored.id, None)
        self.held[record.id] = record
        return record

    def remove(self, id: str, deadline: Any) -> bool:
        self._call("remove")
        return self.held.pop(id, None) is not None

    def health(self) -> BackendHealth:
        return BackendHealth(self.fault is None, 3, None if self.fault is None else str(self.fault))


def use(primary: str, *fallbacks: str) -> None:
    services.change_settings({"primaryBackend": primary, "fallbackBackends": list(fallbacks)})


def register(*names: str) -> list[FakeBackend]:
    backends = [FakeBackend(name) for name in names]
    for backend in backends:
        MANAGER.register(backend)
    return backends
