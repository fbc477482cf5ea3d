"""Where memory itself keeps something of an owner's. Each place counts it and erases it; both are safe to repeat."""

from collections.abc import Callable
from typing import Any, Final, Protocol

from django.db.models import QuerySet

from core.jobs.queue import count_payloads, rewrite_payloads
from memory import queue, transfer, upkeep
from memory.backends.stale_rows import delete_some
from memory.models import Compaction, Memory, MemoryArchive, MemoryQuerySet, VectorIndex
from memory.records import EraseScope
from memory.search.index_cache import INDEXES
from memory.vector_stores import lifecycle
from memory.vector_stores.matrix import MATRICES
from memory.vector_stores.sqlite_vec import SqliteVecStore

# Few enough that nobody who wants to write waits long for one batch.
BATCH_ROWS: Final = 200
MEMORIES: Final = "memories"


def ignore(count: int) -> None:
    """Nobody waits for it."""


class Eraser(Protocol):
    """A place that keeps something of an owner's. Failures are raised as AppError, or what their room raises."""

    name: str

    def count(self, scope: EraseScope) -> int:
        """How many things it holds of the scope."""

    def erase(self, scope: EraseScope) -> int:
        """Delete them and return how many there were."""


class Memories:
    """The rows, and with them their words in the full-text index and their vectors.

    `tell` is told of every batch how many they were.
    """

    name = MEMORIES

    def __init__(self, tell: Callable[[int], None] = ignore) -> None:
        self._tell = tell

    def count(self, scope: EraseScope) -> int:
        return _select(scope).count()

    def erase(self, scope: EraseScope) -> int:
        count = 0
        while deleted := delete_some(_select(scope), BATCH_ROWS):
            count += deleted
            self._tell(deleted)
        # Without a row, too: of what was deleted long before, words may still be in there.
        upkeep.rewrite_fulltext_index()
        # What this process holds of them to search them quickly; other processes follow the table of changes.
        INDEXES.clear()
        MATRICES.clear()
        return count


class StrayVectors:
    """Vectors of the owner's whose memories are gone: a process without sqlite-vec could not delete them."""

    name = "vectors"

    def count(self, scope: EraseScope) -> int:
        return sum(len(store.list_strays(scope.owner)) for store in self._open_stores())

    def erase(self, scope: EraseScope) -> int:
        count = 0
        for store in self._open_stores():
            strays = store.list_strays(scope.owner)
            store.delete(strays)
            count += len(strays)
        return count

    def _open_stores(self) -> list[SqliteVecStore]:
        stores = (lifecycle.open_store(index) for index in VectorIndex.objects.all())
        return [store for store in stores if store is not None]


class Archive:
    """What compaction and corrections keep aside for an undo; `tell` as for the memories."""

    name = "undo archive"

    def __init__(self, tell: Callable[[int], None] = ignore) -> None:
        self._tell = tell

    def count(self, scope: EraseScope) -> int:
        return self._select(scope).count()

    def erase(self, scope: EraseScope) -> int:
        count = 0
        while ids := list(self._select(scope).values_list("archive_id", flat=True)[:BATCH_ROWS]):
            MemoryArchive.objects.filter(archive_id__in=ids).delete()
            count += len(ids)
            self._tell(len(ids))
        Compaction.objects.filter(originals__isnull=True, undone_at__isnull=True).delete()
        return count

    def _select(self, scope: EraseScope) -> QuerySet[MemoryArchive]:
        rows = MemoryArchive.objects.filter(api_key_id=scope.owner)
        return rows if scope.session_id is None else rows.filter(session_id=scope.session_id)


class Jobs:
    """Background work that waits or has failed: what people said and facts are still to be taken out of, imports, and
    what fallbacks are still to be told. Of a session the latter stay: they name ids and keys, and end with the job."""

    name = "jobs"

    def count(self, scope: EraseScope) -> int:
        return count_payloads(lambda name, payload: _strip(scope)(name, payload) != payload)

    def erase(self, scope: EraseScope) -> int:
        return rewrite_payloads(_strip(scope))


class Uploads:
    """Files that wait to be imported. Whose memories are in them nobody can tell, so all of them go."""

    name = "uploads"

    def count(self, scope: EraseScope) -> int:
        return len(transfer.list_uploads())

    def erase(self, scope: EraseScope) -> int:
        return transfer.forget_all_uploads()


def _select(scope: EraseScope) -> MemoryQuerySet:
    rows = Memory.objects.owned_by(scope.owner)
    return rows if scope.session_id is None else rows.filter(session_id=scope.session_id)


def _strip(scope: EraseScope) -> Callable[[str, dict[str, Any]], dict[str, Any] | None]:
    """What is left of a job's payload without the scope; None when nothing is."""

    def strip(name: str, payload: dict[str, Any]) -> dict[str, Any] | None:
        if name == queue.EXTRACT_FACTS:
            is_meant = payload["owner"] == scope.owner and scope.session_id in (None, payload["sessionId"])
            return None if is_meant else payload
        if name == queue.IMPORT:
            return None
        if name in (queue.COMPACT, queue.COUNT_OLD) and scope.session_id is None:
            return None if payload["owner"] == scope.owner else payload
        if name == queue.MIRROR_BACKEND and scope.session_id is None:
            # [id, owner, key]
            left = [memory for memory in payload["memories"] if memory[1] != scope.owner]
            return {**payload, "memories": left} if left else None
        return payload

    return strip
