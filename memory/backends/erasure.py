"""What the erasing of an owner or a session does in backends beside this database."""

from collections.abc import Iterator

from memory.backends.base import MemoryBackend
from memory.backends.configuration import list_configured
from memory.backends.manager import MANAGER
from memory.backends.routes import LOCAL, read_routes
from memory.records import EraseScope, MemoryFilter


class BackendsEraser:
    """Erases in every foreign backend that is in use or has been configured.

    `BackendError` when one of them can't be reached: an erasure that may have left something must not look done.
    """

    name = "backends"

    def count(self, scope: EraseScope) -> int:
        """How many memories they hold of the scope."""
        return sum(sum(backend.count(_select(scope)).values()) for backend in _open_foreign())

    def erase(self, scope: EraseScope) -> int:
        """Delete them and return how many there were."""
        return sum(backend.delete_matching(_select(scope)) for backend in _open_foreign())


def _open_foreign() -> Iterator[MemoryBackend]:
    routes = read_routes()
    names = dict.fromkeys([routes.primary, *routes.fallbacks, *list_configured()])
    return (MANAGER.open(name) for name in names if name != LOCAL and name in MANAGER.ids)


def _select(scope: EraseScope) -> MemoryFilter:
    return MemoryFilter(scope.owner, session_id=scope.session_id)
