"""manage.py memory_export PATH (--owner KEY | --all) [filters]"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.db.migrations import ensure_migrated
from core.errors import AppError
from memory.management.owners import find_owner
from memory.records import MEMORY_TYPES, MemoryFilter
from memory.transfer import export_array, export_jsonl


class Command(BaseCommand):
    help = "Write memories to a file, every field of them and a checksum; memory_import reads it back."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", metavar="PATH", help="the file to write, which must not exist; - for stdout")
        whose = parser.add_mutually_exclusive_group(required=True)
        whose.add_argument(
            "--owner", metavar="KEY", help='memories of this API key (id, prefix or name); "" for no key'
        )
        whose.add_argument("--all", action="store_true", help="memories of every owner")
        parser.add_argument("--session", metavar="ID", help="only memories of this session")
        parser.add_argument("--type", choices=MEMORY_TYPES, help="only memories of this type")
        parser.add_argument(
            "--format", choices=("jsonl", "json"), default="jsonl", help="json is an array of Memory objects"
        )
        parser.add_argument("--force", action="store_true", help="write over a file that exists")

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_migrated()
        owner = None if options["all"] else find_owner(options["owner"])
        wanted = MemoryFilter(owner, type=options["type"], session_id=options["session"])
        pieces = (export_jsonl if options["format"] == "jsonl" else export_array)(wanted)
        try:
            if options["path"] == "-":
                _write(sys.stdout.buffer, pieces)
                return
            path = Path(options["path"])
            if path.exists() and not options["force"]:
                raise CommandError(f"{path} exists; --force writes over it")
            _write_file(path, pieces)
        except AppError as error:
            raise CommandError(error.message) from None
        except OSError as error:
            raise CommandError(f"{options['path']} can't be written: {error.strerror}") from None
        self.stdout.write(f"{path}: {path.stat().st_size} bytes")


def _write_file(path: Path, pieces: Iterator[bytes]) -> None:
    """For its owner's eyes; what stood at `path` is replaced in the end, never half."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            _write(file, pieces)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _write(file: IO[bytes], pieces: Iterator[bytes]) -> None:
    for piece in pieces:
        file.write(piece)
