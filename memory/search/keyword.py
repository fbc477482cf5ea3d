"""The keyword tier: FTS5 candidates from SQLite. The only module of `search` that speaks FTS5's SQL."""

from datetime import datetime

from django.db import DatabaseError, connection, transaction
from django.db.models import Q
from django.db.models.expressions import RawSQL

from core.words import gettext as _
from memory.models import MemoryQuerySet
from memory.records import SearchQuery
from memory.rows import write_usable
from memory.search.terms import make_lookup_expression, make_match_expression


def has_fulltext_index() -> bool:
    """True when this database has the full-text index (SQLite built with FTS5, migrations applied)."""
    if connection.vendor != "sqlite":
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM sqlite_master WHERE name = 'memory_fts'")
        return cursor.fetchone() is not None


def find_fulltext_fault() -> str | None:
    """Ask the full-text index something; return why it can't answer and what to do, None when it can."""
    if not has_fulltext_index():
        return _("this database has no full-text index; SQLite needs FTS5, then run manage.py migrate")
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT rowid FROM memory_fts WHERE memory_fts MATCH '\"probe\"' LIMIT 1")
            cursor.fetchall()
    except DatabaseError as error:
        told = _("the full-text index can't be read (%(reason)s); this SQLite may lack FTS5, see SQLITE_DRIVER")
        return told % {"reason": str(error)}
    return None


def list_words(beginning: str, limit: int) -> list[str]:
    """Return words that memories hold and that begin so, the most frequent first; stemmed and without diacritics."""
    if not beginning or not has_fulltext_index():
        return []
    end = beginning[:-1] + chr(ord(beginning[-1]) + 1)
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.memory_words USING fts5vocab('main', 'memory_fts', 'row')"
        )
        cursor.execute(
            "SELECT term FROM temp.memory_words WHERE term >= %s AND term < %s ORDER BY doc DESC LIMIT %s",
            [beginning, end, limit],
        )
        return [term for (term,) in cursor.fetchall()]


def rank_by_fulltext(query: SearchQuery, limit: int, now: datetime | None = None) -> list[tuple[int, float]]:
    """Return (memory_id, bm25) of the best matches for the query's text, best first; bm25 is negative, lower is better.

    Every filter stands in the same statement, so rows that may not be used take up no place. The owner stands inside
    MATCH as well: FTS5 then walks the owner's entries only.
    """
    expression = make_match_expression(query.text, query.owner)
    if expression is None:
        return []
    condition, values = write_usable(query, now, by_id=True)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT memories.memory_id, memory_fts.rank FROM memory_fts JOIN memories ON memories.memory_id = "
            f"memory_fts.rowid WHERE memory_fts MATCH %s AND {condition} ORDER BY memory_fts.rank LIMIT %s",
            [expression, *values, limit],
        )
        return [(memory_id, rank) for memory_id, rank in cursor.fetchall()]


def select_holding(rows: MemoryQuerySet, text: str) -> MemoryQuerySet:
    """Those of the rows that hold every word of the text, whatever their owner; for management calls."""
    if not has_fulltext_index():
        return rows.filter(Q(content__icontains=text) | Q(key__icontains=text))
    expression = make_lookup_expression(text)
    if expression is None:
        return rows.none()
    return rows.filter(memory_id__in=RawSQL("SELECT rowid FROM memory_fts WHERE memory_fts MATCH %s", [expression]))


def count_fulltext_rows() -> int:
    """Rows in the index, read from the index itself and not from the table it mirrors."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM memory_fts_docsize")
        return int(cursor.fetchone()[0])


def merge_fulltext(pages: int) -> bool:
    """Merge some of the index's segments, about `pages` pages, in a short transaction; False when none is left to do.

    FTS5 counts its own writes, and says by them whether it did anything.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT total_changes()")
        before = cursor.fetchone()[0]
        cursor.execute("INSERT INTO memory_fts(memory_fts, rank) VALUES ('merge', %s)", [pages])
        cursor.execute("SELECT total_changes()")
        return bool(cursor.fetchone()[0] - before >= 2)


def is_fulltext_small(pages: int) -> bool:
    """True when the index has no more than so many pages, counted no further than that."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM (SELECT 1 FROM memory_fts_data LIMIT %s)", [pages + 1])
        return bool(cursor.fetchone()[0] <= pages)


def rebuild_fulltext() -> None:
    """Make the index anew from the rows, in one transaction, which is for a small one only."""
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO memory_fts(memory_fts) VALUES ('rebuild')")


def stir_fulltext() -> None:
    """Put a row into the index that is no memory's, and take it out again, which leaves two new segments.

    FTS5 gathers what lies on several levels and no other: of a lone segment it would never drop the deleted words.
    """
    columns, values = "rowid, content, key, terms, owner", "0, 'stirred', '', '', ''"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO memory_fts({columns}) VALUES ({values})")
        cursor.execute(f"INSERT INTO memory_fts(memory_fts, {columns}) VALUES ('delete', {values})")


def gather_fulltext(pages: int) -> None:
    """Begin to merge all of the index's segments into one; `merge_fulltext` goes on with it.

    Only then do the words of deleted memories leave the index: before, a segment only says that they are deleted.
    """
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO memory_fts(memory_fts, rank) VALUES ('merge', %s)", [-pages])
