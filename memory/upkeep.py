"""What keeps the database in shape, in transactions so short that nobody who wants to write waits for long."""

import time
from typing import Final

import structlog
from django.db import connection

from memory.models import VectorIndex
from memory.search.keyword import (
    gather_fulltext,
    has_fulltext_index,
    is_fulltext_small,
    merge_fulltext,
    rebuild_fulltext,
    stir_fulltext,
)
from memory.vector_stores import lifecycle

logger = structlog.get_logger(__name__)

MERGE_PAGES: Final = 200
# Of 4 KB: the words of some hundred memories, which takes milliseconds to make anew.
SMALL_PAGES: Final = 50
MAX_MERGES: Final = 1000
CHUNKS_A_TRANSACTION: Final = 4
# A breath between two transactions: SQLite's waiters poll, and who comes back at once would starve them.
PAUSE_SECONDS: Final = 0.005
ANALYSIS_ROWS: Final = 1000


def merge_fulltext_index() -> int:
    """Merge the segments of the full-text index bit by bit; return how many bits that took."""
    if not has_fulltext_index():
        return 0
    count = 0
    while count < MAX_MERGES and merge_fulltext(MERGE_PAGES):
        count += 1
        time.sleep(PAUSE_SECONDS)
    logger.info("memory.upkeep.fulltext_merged", steps=count)
    return count


def rewrite_fulltext_index() -> None:
    """Merge all of the full-text index, bit by bit, so that no word of a deleted memory is left in it.

    Twice: the first time may end on a level below empty ones, and deleted words are dropped on the last level only.
    A small index is made anew: FTS5 puts all of its segments onto the first level, and there they would stay.
    """
    if not has_fulltext_index():
        return
    for _ in range(2):
        if is_fulltext_small(SMALL_PAGES):
            rebuild_fulltext()
            return
        stir_fulltext()
        gather_fulltext(MERGE_PAGES)
        merge_fulltext_index()


def close_vector_holes() -> int:
    """Pack vectors closer: vec0 never fills the holes that deletions leave. Return how many chunks were freed."""
    freed = 0
    for index in VectorIndex.objects.all():
        store = lifecycle.open_store(index)
        if store is None:
            continue
        before = store.count_chunks()
        chunks = store.list_sparse_chunks()
        for start in range(0, len(chunks), CHUNKS_A_TRANSACTION):
            store.repack([memory_id for chunk in chunks[start : start + CHUNKS_A_TRANSACTION] for memory_id in chunk])
            time.sleep(PAUSE_SECONDS)
        if chunks:
            freed += before - store.count_chunks()
            logger.info("memory.upkeep.vectors_packed", table=store.table, sparse_chunks=len(chunks), chunks=before)
    return freed


def refresh_statistics() -> None:
    """Let SQLite look again at tables that changed much since it last did, a bounded number of rows each."""
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA analysis_limit = {ANALYSIS_ROWS}")
        cursor.execute("PRAGMA optimize = 0x10012")
