"""What Qdrant holds of an owner or a session, counted and erased where `memory.erasing` asks every place."""

from collections.abc import Iterator
from contextlib import contextmanager

from core.errors import UpstreamError
from memory.records import EraseScope
from qdrant_admin.config import load_qdrant_settings
from qdrant_admin.installation import read_installation
from qdrant_admin.models import Collection
from qdrant_admin.points import PointFilter, QdrantError, Server, open_server


class QdrantEraser:
    """All collections on the server of the settings that this installation has written to, also while it is off.

    Points that another installation has marked as its own stay: a key without an id of its own, such as that of the
    environment, may be called the same there.

    Calls raise `UpstreamError` when the server can't be asked: then nobody knows what it holds.
    """

    name = "qdrant"

    def count(self, scope: EraseScope) -> int:
        return self._visit(scope, erases=False)

    def erase(self, scope: EraseScope) -> int:
        return self._visit(scope, erases=True)

    def _visit(self, scope: EraseScope, *, erases: bool) -> int:
        settings, total = load_qdrant_settings(), 0
        if not settings.host:
            return 0
        written = Collection.objects.filter(base_url=settings.base_url, is_created=True)
        names = set(written.values_list("name", flat=True))
        if not names:
            return 0
        condition = PointFilter(scope.owner, scope.session_id, installation=read_installation())
        with _telling_failures():
            server = open_server(settings)
            for name in sorted(names):
                total += _visit_collection(server, name, condition, erases=erases)
        return total


def _visit_collection(server: Server, name: str, condition: PointFilter, *, erases: bool) -> int:
    if server.read_collection(name) is None:
        return 0
    count = server.count(name, condition)
    if count and erases:
        server.delete_matching(name, condition)
    return count


@contextmanager
def _telling_failures() -> Iterator[None]:
    try:
        yield
    except QdrantError as error:
        raise UpstreamError(error.reason, code="qdrant_unavailable") from None
