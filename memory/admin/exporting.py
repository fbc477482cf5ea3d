"""Memories that were ticked as a file, sent while it is read: a hundred thousand never stand in memory at once."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

from django.http import StreamingHttpResponse

from core.worker_threads import WorkerThreads
from memory.backends.bulk_rows import load_by_id
from memory.records import MemoryRecord
from memory.transfer.export import write_jsonl

SLICE_ROWS: Final = 500
# Reading is slow work beside the server's own; one at a time is enough.
READING: Final = WorkerThreads("admin-export", size=1)


def build_download(memory_ids: Sequence[int], filename: str) -> StreamingHttpResponse:
    """A download of these memories in our own lossless format."""
    response = StreamingHttpResponse(_stream(write_jsonl(_slice(memory_ids))), content_type="application/x-ndjson")
    response.headers["Content-Disposition"] = f'attachment; filename="{filename}"'
    response.headers["Cache-Control"] = "no-store"
    return response


async def _stream(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Under ASGI a plain generator would be read to its end before the first byte leaves."""
    while piece := await READING.run(next, pieces, b""):
        yield piece


def _slice(memory_ids: Sequence[int]) -> Iterator[list[MemoryRecord]]:
    for start in range(0, len(memory_ids), SLICE_ROWS):
        if records := load_by_id(memory_ids[start : start + SLICE_ROWS]):
            yield records
