"""The keyword tier: FTS5 candidates from SQLite. The only module of `search` that speaks FTS5's SQL."""

from django.db import connection

from memory.models import MemoryQuerySet
from memory.search.terms import make_match_expression


def has_fulltext_index() -> bool:
    """True when this database has the full-text index (SQLite built with FTS5, migrations applied)."""
    return connection.vendor == "sqlite" and "memory_fts" in connection.introspection.table_names()


def rank_by_fulltext(rows: MemoryQuerySet, text: str, owner: str | None, limit: int) -> list[tuple[int, float]]:
    """Return (memory_id, bm25) of the best matches among `rows`, best first; bm25 is negative, lower is better.

    `rows` carries every filter (owner, expiry, retention, session) into the same statement, so rows that may not be
    used take up no place. The owner stands inside MATCH as well: FTS5 then walks the owner's entries only.
    """
    expression = make_match_expression(text, owner)
    if expression is None:
        return []
    matches = rows.extra(  # no user text in the SQL: the expression is a bound parameter
        tables=["memory_fts"],
        where=["memory_fts.rowid = memories.memory_id", "memory_fts MATCH %s"],
        params=[expression],
        select={"fts_rank": "memory_fts.rank"},
        order_by=["fts_rank"],
    )
    return list(matches.values_list("memory_id", "fts_rank")[:limit])


def count_fulltext_rows() -> int:
    """Rows in the index, read from the index itself and not from the table it mirrors."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM memory_fts_docsize")
        return int(cursor.fetchone()[0])
