"""manage.py restore PATH [--check] [--force]"""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from core.db.backup import discard, put_in_place, read_contents, stage_copy
from core.db.presence import SoleUse
from omniroute.management.commands.backup import describe_contents


class Command(BaseCommand):
    help = "Check a backup and put it in the database's place; the database before it is kept aside."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="a file that `manage.py backup` wrote")
        parser.add_argument("--check", action="store_true", help="check it only and change nothing")
        parser.add_argument(
            "--force",
            action="store_true",
            help="even while a server runs on this data folder: what it writes from then on is lost",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["path"].expanduser().absolute()
        if not path.is_file():
            raise CommandError(f"there is no file {path}")
        if settings.DATABASE_PATH.exists() and path.samefile(settings.DATABASE_PATH):
            raise CommandError(f"{path} is the database itself")
        try:
            with nullcontext() if options["force"] or options["check"] else SoleUse():
                self._restore(path, is_check=options["check"])
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from None

    def _restore(self, path: Path, *, is_check: bool) -> None:
        staged = stage_copy(path)
        try:
            self.stdout.write(f"{path} is sound: {describe_contents(read_contents(staged))}")
            if is_check:
                return
            kept = put_in_place(staged, timezone.now())
        finally:
            discard(staged)
        self.stdout.write(f"It is the database now: {settings.DATABASE_PATH}")
        if kept is not None:
            self.stdout.write(f"The one before it: {kept}")
        self.stdout.write("Start the server; it brings an older backup up to date itself.")
