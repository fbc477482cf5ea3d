"""manage.py backup PATH [--force] [--with-secret-key]"""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.db.backup import Contents, copy_database, copy_secret_key
from core.db.sqlite.driver import DRIVER
from core.secret_key import FILE_NAME


class Command(BaseCommand):
    help = "Write a consistent copy of the database to a file, while the server runs."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="the file to write")
        parser.add_argument("--force", action="store_true", help="replace the file if there is one")
        parser.add_argument(
            "--with-secret-key",
            action="store_true",
            help="copy secret.key beside it as PATH.secret.key; stored provider keys can't be read without it",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["path"].expanduser().absolute()
        if not settings.DATABASE_PATH.is_file():
            raise CommandError(f"there is no database at {settings.DATABASE_PATH} to back up")
        _check_target(path, is_forced=options["force"])
        key_path = path.with_name(f"{path.name}.secret.key")
        if options["with_secret_key"]:
            _check_target(key_path, is_forced=options["force"])
        try:
            contents = copy_database(path)
        except (OSError, DRIVER.dbapi.Error) as error:
            raise CommandError(f"{path} can't be written: {getattr(error, 'strerror', None) or error}") from None
        self.stdout.write(f"{path}: {describe_contents(contents)}")
        self._keep_secret_key(key_path if options["with_secret_key"] else None)

    def _keep_secret_key(self, target: Path | None) -> None:
        source = settings.DATA_DIR / FILE_NAME
        if not source.is_file():
            self.stdout.write("The secret key is set in the environment (SECRET_KEY); keep it with the backup.")
        elif target is None:
            told = "stored provider keys can't be read without it; keep a copy, or use --with-secret-key"
            self.stdout.write(f"{source} is not in it: {told}")
        else:
            copy_secret_key(source, target)
            self.stdout.write(f"{target}: the key that reads stored provider keys; keep it as safe as a password")


def describe_contents(contents: Contents) -> str:
    """Return size and row counts for the operator."""
    counts = ", ".join(f"{count} {name}" for name, count in contents.row_counts.items())
    return f"{contents.size_bytes / 1024 / 1024:.1f} MB, {counts}"


def _check_target(path: Path, *, is_forced: bool) -> None:
    live = [settings.DATABASE_PATH, settings.DATA_DIR / FILE_NAME]
    if any(path == one or (path.exists() and one.exists() and path.samefile(one)) for one in live):
        raise CommandError(f"{path} is in use; choose another file")
    if path.is_dir():
        raise CommandError(f"{path} is a folder; name a file")
    if path.exists() and not is_forced:
        raise CommandError(f"{path} exists already; --force replaces it")
    if not path.parent.is_dir():
        raise CommandError(f"the folder {path.parent} does not exist")
