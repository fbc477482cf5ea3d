"""manage.py list_api_keys [--json]"""

import json
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from core.accounts.models import ApiKey
from core.db.migrations import ensure_migrated

HEADINGS = ("NAME", "PREFIX", "SCOPES", "CREATED", "LAST USED", "STATE", "ID")


class Command(BaseCommand):
    help = "List the API keys, newest first. The keys themselves are not stored and can't be shown."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON array instead")

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_migrated()
        rows = ApiKey.objects.all()
        if options["json"]:
            self.stdout.write(json.dumps([_describe(row) for row in rows]))
            return
        lines = [HEADINGS, *(_list_columns(row) for row in rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
        for line in lines:
            cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
            self.stdout.write("  ".join(cells).rstrip())


def _describe(row: ApiKey) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "prefix": row.prefix,
        "scopes": row.scopes,
        "createdAt": _write_time(row.created_at),
        "lastUsedAt": _write_time(row.last_used_at),
        "revokedAt": _write_time(row.revoked_at),
    }


def _list_columns(row: ApiKey) -> tuple[str, ...]:
    return (
        row.name,
        row.prefix,
        ",".join(row.scopes),
        f"{row.created_at:%Y-%m-%d %H:%M}",
        f"{row.last_used_at:%Y-%m-%d %H:%M}" if row.last_used_at else "never",
        "revoked" if row.is_revoked else "active",
        row.id,
    )


def _write_time(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z") if moment else None
