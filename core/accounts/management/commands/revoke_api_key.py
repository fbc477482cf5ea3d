"""manage.py revoke_api_key PREFIX_OR_ID_OR_NAME"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.accounts.keys import find_keys, revoke_keys
from core.db.migrations import ensure_migrated


class Command(BaseCommand):
    help = "Revoke an API key: whoever uses it is refused from now on. Its memories stay."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("key", help="its id, prefix or name, as list_api_keys shows them, or the key itself")

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_migrated()
        matches = find_keys(options["key"])
        if not matches:
            raise CommandError("no such key; list_api_keys shows them")
        active = [row for row in matches if not row.is_revoked]
        if len(active) > 1:
            ids = ", ".join(row.id for row in active)
            raise CommandError(f"{len(active)} keys are called so; name one by its id: {ids}")
        if not active:
            self.stdout.write(f"{matches[0].name} ({matches[0].prefix}) was revoked already.")
            return
        revoke_keys([active[0].id])
        self.stdout.write(f"{active[0].name} ({active[0].prefix}) is revoked.")
