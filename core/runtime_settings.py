"""Operator settings kept as rows: sections of typed fields, each field one row.

Every read asks the database (one short query), so a change holds in every process from the next request on, and two
operators who save different fields at the same time both win, because each field is a row of its own.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from django.db import connection, transaction

from core.models import Setting

Kind = Literal["bool", "int", "choice", "text", "text_list", "object"]


@dataclass(frozen=True)
class SettingField:
    """A setting: `name` on the wire, `key` of its row, `aliases` of rows that older databases wrote.

    `minimum` and `maximum` bound an `int`; `choices` lists what a `choice` may be; `nullable` text reads "" as null.
    `help` is shown to operators and in the docs.
    """

    name: str
    key: str
    kind: Kind
    default: Any
    help: str
    minimum: int = 0
    maximum: int = 0
    choices: tuple[str, ...] = ()
    nullable: bool = False
    aliases: tuple[str, ...] = field(default=())

    def normalise(self, value: Any) -> Any:
        """Return `value` if it fits, clamped or rounded where the contract says so, else the default."""
        if self.kind == "bool":
            return value if isinstance(value, bool) else self.default
        if self.kind == "int":
            if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
                return self.default
            return round(min(max(value, self.minimum), self.maximum))
        if self.kind == "choice":
            return value if value in self.choices else self.default
        if self.kind == "text":
            if not isinstance(value, str):
                return self.default
            return value.strip() or (None if self.nullable else self.default)
        if self.kind == "text_list":
            return [item for item in value if isinstance(item, str)] if isinstance(value, list) else self.default
        return value if isinstance(value, dict) else self.default


@dataclass(frozen=True)
class Section:
    """A named group of fields that is read and written together."""

    name: str
    fields: tuple[SettingField, ...]

    def read(self) -> dict[str, Any]:
        """Return every field by wire name, missing or broken rows as their defaults."""
        rows = self._read_rows()
        values = {}
        for item in self.fields:
            stored = next((rows[key] for key in (item.key, *item.aliases) if key in rows), item.default)
            values[item.name] = item.normalise(stored)
        return values

    def _read_rows(self) -> dict[str, Any]:
        """By hand, and as text without the driver's conversions: every chat reads its settings anew."""
        keys = [key for item in self.fields for key in (item.key, *item.aliases)]
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT key, value FROM settings WHERE key IN ({','.join(['%s'] * len(keys))})", keys)
            rows = cursor.fetchall()
        return {key: json.loads(value) if isinstance(value, str) else value for key, value in rows}

    def write(self, changes: Mapping[str, Any]) -> None:
        """Store the given fields, by wire name; values must be validated already. Other fields keep theirs."""
        by_name = {item.name: item for item in self.fields}
        with transaction.atomic():
            for name, value in changes.items():
                Setting.objects.update_or_create(key=by_name[name].key, defaults={"value": value})

    def describe(self) -> Iterable[SettingField]:
        return self.fields
