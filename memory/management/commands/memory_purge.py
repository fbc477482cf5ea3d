"""manage.py memory_purge [--expired] [--beyond-retention] [--dry-run]"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.db.migrations import ensure_migrated
from memory import purging
from memory.config import load_settings


class Command(BaseCommand):
    help = "Delete memories that can't be retrieved any more, for good. With --dry-run they are counted only."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--expired", action="store_true", help="memories past their expiry")
        parser.add_argument(
            "--beyond-retention",
            action="store_true",
            help="memories not stored or refreshed for as many days as the setting retentionDays says",
        )
        parser.add_argument("--dry-run", action="store_true", help="count them and delete nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        if not (options["expired"] or options["beyond_retention"]):
            raise CommandError("say what to purge: --expired, --beyond-retention or both")
        ensure_migrated()
        is_dry = options["dry_run"]
        verb = "would be deleted" if is_dry else "deleted"
        if options["expired"]:
            count = purging.count_expired() if is_dry else purging.purge_expired()
            self.stdout.write(f"{count} expired {verb}")
        if options["beyond_retention"]:
            count = purging.count_beyond_retention() if is_dry else purging.purge_beyond_retention()
            days = load_settings().retention_days
            self.stdout.write(f"{count} not refreshed for {days} days {verb}")
