"""manage.py memory_erase --owner KEY [--session ID] [--confirm N] ..."""

import json
import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.db.migrations import ensure_migrated
from core.db.sqlite.wiping import rewrite_file
from core.errors import AppError
from memory.erasing import ErasePlan, EraseReceipt, confirm_and_erase, plan_erase
from memory.management.owners import find_owner
from memory.management.progress import LateProgress
from memory.records import EraseScope


class Command(BaseCommand):
    help = (
        "Erase all memories of an API key, or of one of its sessions, and all that was kept of them elsewhere, for "
        "good. Without --confirm it only counts."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--owner", metavar="KEY", required=True, help='API key (id, prefix or name); "" for no key')
        parser.add_argument("--session", metavar="ID", help="only this session")
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--confirm", type=int, metavar="N", help="erase; N is the number of memories, as it was counted"
        )
        what.add_argument("--verify", action="store_true", help="fail if anything is left, and erase nothing")
        parser.add_argument("--receipt", metavar="PATH", help="write the receipt to this file")
        parser.add_argument(
            "--vacuum", action="store_true", help="write the database anew afterwards, for what older versions deleted"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_migrated()
        scope = EraseScope(self._find_owner(options), options["session"])
        try:
            if options["confirm"] is None:
                self._count(plan_erase(scope), is_check=options["verify"])
                return
            receipt = self._erase(scope, options["confirm"])
        except AppError as error:
            raise CommandError(error.message) from None
        if options["vacuum"]:
            rewrite_file()
        self._tell(receipt, options["receipt"])

    def _erase(self, scope: EraseScope, confirmed: int) -> EraseReceipt:
        """Do it here, however much it is, and tell on stderr how far it is."""
        progress = LateProgress(self.stderr)
        try:
            return confirm_and_erase(scope, confirmed=confirmed, erased_by="the command line", tell=progress)
        finally:
            progress.end()

    def _find_owner(self, options: dict[str, Any]) -> str:
        """Once all is erased, an id that no key has is known to nobody; to look again it is taken as it is."""
        reference: str = options["owner"]
        try:
            return find_owner(reference)
        except CommandError:
            if options["verify"] or options["confirm"] == 0:
                return reference
            raise

    def _count(self, planned: ErasePlan, *, is_check: bool) -> None:
        for place in planned.places:
            self.stdout.write(f"{place.name}: {place.error or place.count}")
        if not is_check:
            self.stdout.write(
                f"Nothing was erased. To erase it for good, run this again with --confirm {planned.memories}"
            )
        elif any(place.count for place in planned.places):
            raise CommandError("something is left")
        elif any(place.error for place in planned.places):
            raise CommandError("nothing is left where it could be counted, but not every place could be")
        else:
            self.stdout.write("Nothing is left")

    def _tell(self, receipt: EraseReceipt, path: str | None) -> None:
        told = json.dumps(receipt.tell(), ensure_ascii=False, indent=2)
        if path is None:
            self.stdout.write(told)
        else:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write(f"{told}\n")
            self.stdout.write(f"The receipt is in {Path(path)}")
        if not receipt.is_proven:
            left = "; ".join(f"{it.name}: {it.error or it.after}" for it in receipt.places if it.after or it.error)
            raise CommandError(
                f"not everything is erased ({left or 'the log of the database is in use'}); it is tried again in the "
                "background, and --verify tells how it stands"
            )
        self.stdout.write("Erased, and counted again: nothing is left")
