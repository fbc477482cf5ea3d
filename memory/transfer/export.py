"""Memories to a file, piece by piece: our own lossless format, or one JSON array of Memory objects."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Final

from django.utils import timezone

from memory.backends import restoring
from memory.backends.manager import get_primary
from memory.records import MemoryFilter, MemoryRecord
from memory.rendering import render_memory
from memory.transfer.formats import own

SLICE_ROWS: Final = 500


def export_jsonl(filter: MemoryFilter) -> Iterator[bytes]:
    """Yield our own format: every field of every memory that matches, in the order of storing, and a checksum.

    Read slice by slice, each as of its own moment: what is written meanwhile may or may not be in it.
    """
    yield from write_jsonl(_scan(filter))


def write_jsonl(slices: Iterable[list[MemoryRecord]]) -> Iterator[bytes]:
    """The same for memories that somebody else has chosen."""
    digest, count = hashlib.sha256(), 0
    piece = own.write_header(timezone.now())
    for records in slices:
        digest.update(piece)
        yield piece
        count += len(records)
        piece = b"".join(own.write_row(record) for record in records)
    digest.update(piece)
    yield piece
    yield own.write_end(count, digest.hexdigest())


def export_array(filter: MemoryFilter) -> Iterator[bytes]:
    """Yield one JSON array of Memory objects, in the order of storing."""
    separator = b"[\n"
    for records in _scan(filter):
        told = (json.dumps(render_memory(record), ensure_ascii=False).encode() for record in records)
        yield separator + b",\n".join(told)
        separator = b",\n"
    yield b"[]\n" if separator == b"[\n" else b"\n]\n"


def _scan(filter: MemoryFilter) -> Iterator[list[MemoryRecord]]:
    """Slices of the memories that match; none of them is empty."""
    backend, cursor = get_primary(), None
    if backend.is_local:
        yield from _scan_rows(filter)
        return
    while True:
        found = backend.scan(filter, limit=SLICE_ROWS, after=cursor, order="created")
        if found.records:
            yield found.records
        if found.next_cursor is None:
            return
        cursor = found.next_cursor


def _scan_rows(filter: MemoryFilter) -> Iterator[list[MemoryRecord]]:
    last = 0
    while records := restoring.load_stored(filter, last, SLICE_ROWS):
        yield records
        last = records[-1].memory_id
