"""The SQL objects beside the table of memories: made by migrations, checked at every start, mended after migrating."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.apps import AppConfig, apps
from django.core.checks import CheckMessage, Warning
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

SQL_FOLDER = Path(__file__).parent / "migrations" / "sql"
TRIGGERS = frozenset(
    {"memory_fts_ai", "memory_fts_ad", "memory_fts_au"}
    | {"memory_changes_ai", "memory_changes_ad", "memory_changes_au"}
)


def run_sql_file(connection: BaseDatabaseWrapper, name: str) -> None:
    """Run `migrations/sql/<name>.sql`, statement by statement, so that it stays inside the caller's transaction."""
    with connection.cursor() as cursor:
        for statement in split_statements((SQL_FOLDER / f"{name}.sql").read_text()):
            cursor.execute(statement)


def split_statements(script: str) -> list[str]:
    """Split at line-ending semicolons, but not inside a trigger's BEGIN ... END."""
    statements, lines, in_trigger = [], [], False
    for line in script.splitlines():
        if line.lstrip().startswith("--"):
            continue
        lines.append(line)
        word = line.strip().upper()
        in_trigger = (in_trigger or word.endswith("BEGIN")) and word != "END;"
        if word.endswith(";") and not in_trigger:
            statements.append("\n".join(lines).strip())
            lines = []
    return statements


def find_missing_triggers(connection: BaseDatabaseWrapper) -> list[str]:
    """Names of triggers that should exist, because the table they write to does, and don't."""
    tables = connection.introspection.table_names()
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'memories'")
        missing = TRIGGERS - {row[0] for row in cursor.fetchall()}
    return sorted(name for name in missing if name.rpartition("_")[0] in tables)


def restore_triggers(using: str = "default", **_signal: Any) -> None:
    """Receiver of `post_migrate`: any table rebuild by a migration drops a table's triggers without a word."""
    connection = connections[using]
    if connection.vendor != "sqlite":
        return
    tables = connection.introspection.table_names()
    if "memory_fts" in tables:
        run_sql_file(connection, "fulltext_triggers")
    if "memory_changes" in tables:
        run_sql_file(connection, "change_triggers")


def check_triggers(
    *, app_configs: Sequence[AppConfig] | None = None, databases: Sequence[str] | None = None, **options: Any
) -> Sequence[CheckMessage]:
    """Django system check (tag: database). A warning, since an error would stop the very `migrate` that mends it."""
    problems: list[CheckMessage] = []
    for alias in databases or []:
        connection = connections[alias]
        if connection.vendor != "sqlite" or "memories" not in connection.introspection.table_names():
            continue
        if missing := find_missing_triggers(connection):
            problems.append(
                Warning(
                    f"triggers are missing on the table memories: {', '.join(missing)}",
                    hint="Run `manage.py migrate`; it makes them anew.",
                    obj=apps.get_model("memory", "Memory"),
                    id="memory.W001",
                )
            )
    return problems
