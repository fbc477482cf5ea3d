"""manage.py create_api_key NAME [--scope SCOPE] [--json]"""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.accounts.keys import SCOPES, create_api_key
from core.db.migrations import ensure_migrated
from core.errors import InvalidFieldsError


class Command(BaseCommand):
    help = "Make an API key. It is printed once, as the last line, and can't be had again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="what the key is for")
        parser.add_argument(
            "--scope",
            action="append",
            choices=SCOPES,
            help="what the key may do; give it more than once for more than one (default: chat)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object instead")

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_migrated()
        try:
            row, bare_key = create_api_key(options["name"], options["scope"] or ("chat",))
        except InvalidFieldsError as error:
            raise CommandError("; ".join(f"{item.field} {item.message}" for item in error.details)) from None
        if options["json"]:
            told = {"id": row.id, "name": row.name, "key": bare_key, "prefix": row.prefix, "scopes": row.scopes}
            self.stdout.write(json.dumps(told))
            return
        self.stdout.write(f"{row.name} ({', '.join(row.scopes)}), id {row.id}")
        self.stdout.write("Keep the key, it is not shown again:")
        self.stdout.write(bare_key)
