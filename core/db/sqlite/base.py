"""Django's SQLite backend on a driver of our choice, with vec0 loaded and Unicode-aware `icontains`.

Set `ENGINE = "core.db.sqlite"`. `vendor` stays "sqlite", so Django and libraries treat it as what it is.
"""

from collections.abc import Iterable, Mapping
from itertools import tee
from typing import Any

from django.db.backends.sqlite3 import base as django_base
from django.db.backends.sqlite3._functions import register as register_django_functions
from django.db.backends.sqlite3.operations import DatabaseOperations as DjangoOperations

from core.db.sqlite.driver import DRIVER
from core.db.sqlite.vec0 import load_vec0

Database = DRIVER.dbapi


def _adopt_converters() -> None:
    """Give the chosen driver the converters and adapters that Django registers on the standard library's only."""
    import datetime
    import decimal

    from django.utils.dateparse import parse_date, parse_datetime, parse_time

    Database.register_converter("bool", b"1".__eq__)
    Database.register_converter("date", django_base.decoder(parse_date))
    Database.register_converter("time", django_base.decoder(parse_time))
    Database.register_converter("datetime", django_base.decoder(parse_datetime))
    Database.register_converter("timestamp", django_base.decoder(parse_datetime))
    Database.register_adapter(decimal.Decimal, str)
    Database.register_adapter(datetime.date, django_base.adapt_date)
    Database.register_adapter(datetime.datetime, django_base.adapt_datetime)


_adopt_converters()


def fold_case(text: str | None) -> str | None:
    """SQL function CASEFOLD: SQLite's own LOWER and LIKE know ASCII letters only."""
    return text.casefold() if isinstance(text, str) else text


class CursorWrapper(Database.Cursor):  # type: ignore[name-defined, misc]  # the base is chosen at run time
    """Translate Django's %s and %(name)s parameters into SQLite's ? and :name."""

    def execute(self, query: str, params: Any = None) -> Any:
        if params is None:
            return super().execute(query)
        names = list(params) if isinstance(params, Mapping) else None
        return super().execute(_convert_query(query, names), params)

    def executemany(self, query: str, param_list: Iterable[Any]) -> Any:
        peekable, params = tee(iter(param_list))
        first = next(peekable, None)
        names = list(first) if isinstance(first, Mapping) else None
        return super().executemany(_convert_query(query, names), params)


def _convert_query(query: str, names: list[str] | None) -> str:
    if names is None:
        return str(django_base.FORMAT_QMARK_REGEX.sub("?", query)).replace("%%", "%")
    return query % {name: f":{name}" for name in names}


class DatabaseOperations(DjangoOperations):
    def lookup_cast(self, lookup_type: str, internal_type: str | None = None) -> str:
        if lookup_type == "icontains":
            return "CASEFOLD(%s)"
        return super().lookup_cast(lookup_type, internal_type)


class DatabaseWrapper(django_base.DatabaseWrapper):
    Database = Database
    init_commands: list[str]
    ops_class = DatabaseOperations
    operators = {**django_base.DatabaseWrapper.operators, "icontains": r"LIKE CASEFOLD(%s) ESCAPE '\'"}

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = Database.connect(**conn_params)
        register_django_functions(connection)
        connection.create_function("CASEFOLD", 1, fold_case, deterministic=True)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA legacy_alter_table = OFF")
        load_vec0(connection)
        for command in self.init_commands:
            if command.strip():
                connection.execute(command.strip())
        return connection

    def create_cursor(self, name: str | None = None) -> Any:
        return self.connection.cursor(factory=CursorWrapper)
