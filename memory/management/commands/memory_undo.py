"""manage.py memory_undo [UNDO_ID] [--force]"""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.db.migrations import ensure_migrated
from core.errors import ConflictError, NotFoundError
from memory import corrections
from memory.backends.archive import KeptCompaction, Kind
from memory.management.progress import LateProgress
from memory.rendering import render_moment
from memory.undo import UndoBatch

LISTED = 100


class Command(BaseCommand):
    help = "Undo a compaction, an import or a change made in the studio; without an id, list those that there were."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "undo_id", nargs="?", metavar="UNDO_ID", help="as memory_compact, memory_import and the API told it"
        )
        parser.add_argument(
            "--force", action="store_true", help="where something newer is in the way, keep that and undo the rest"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_migrated()
        if options["undo_id"] is None:
            self._list(corrections.list_corrections(LISTED))
            return
        try:
            report = self._undo(options["undo_id"].lower(), is_forced=options["force"])
        except (NotFoundError, ConflictError) as error:
            raise CommandError(error.message) from None
        if report.was_undone_before:
            self.stdout.write("It was undone before; nothing was changed")
            return
        for told in report.kept_newer:
            self.stdout.write(f"Kept what is newer: {told}")
        what = "summaries" if report.kind == Kind.COMPACTION else "new ones"
        self.stdout.write(f"Memories put back: {report.restored_count}; {what} removed: {len(report.removed)}")

    def _undo(self, undo_id: str, *, is_forced: bool) -> corrections.UndoReport:
        """Do it here, however much it is, and tell on stderr how far it is."""
        kept = corrections.find_correction(undo_id)
        total, done = (0 if kept is None else kept.memories), 0
        progress = LateProgress(self.stderr)

        def tell(batch: UndoBatch) -> None:
            nonlocal done
            done += batch.entries
            progress(min(done, total), total)

        try:
            return corrections.undo(undo_id, is_forced=is_forced, tell=tell)
        finally:
            progress.end()

    def _list(self, compactions: list[KeptCompaction]) -> None:
        if not compactions:
            self.stdout.write("There is nothing to undo")
        for kept in compactions:
            if kept.undone_at is not None:
                state = f"undone {render_moment(kept.undone_at)}"
            else:
                state = f"memories: {kept.memories}, owners: {kept.owners}, until {render_moment(kept.expires_at)}"
            name = f"{kept.kind} {kept.label}".strip()
            self.stdout.write(f"{kept.undo_id}  {render_moment(kept.created_at)}  {name}, {state}")
