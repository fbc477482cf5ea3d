"""manage.py memory_import PATH --owner KEY [--dry-run] ..."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.db.migrations import ensure_migrated
from core.errors import AppError
from memory.management.owners import find_owner
from memory.management.progress import ProgressLine
from memory.transfer import (
    OUTCOMES,
    ImportOptions,
    ImportPlan,
    ImportReport,
    ImportTicket,
    drop_upload,
    list_formats,
    plan_import,
    run_import,
    stage_upload,
)
from memory.transfer_serializers import render_plan, render_report

TOLD = {
    "new": "new",
    "update": "updated",
    "unchanged": "unchanged",
    "older": "older than what is stored",
    "repeated": "repeated later in the file",
    "invalid": "invalid",
    "left_out": "left out",
}
SHOWN_PROBLEMS = 20


class Command(BaseCommand):
    help = (
        "Import memories from a file, a folder or a zip: our own export, an OmniRoute database, mem0, ChatGPT, Claude, "
        "Open WebUI, LibreChat, JSON, JSON Lines or CSV. Run it with --dry-run first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "path", metavar="PATH", help="the file, the unpacked folder or zip of an export; - reads stdin"
        )
        whose = parser.add_mutually_exclusive_group(required=True)
        whose.add_argument("--owner", metavar="KEY", help='API key (id, prefix or name) that gets them; "" for no key')
        whose.add_argument(
            "--keep-owners", action="store_true", help="give each memory to the owner that the file names, as it was"
        )
        parser.add_argument(
            "--format", choices=[name for name, _ in list_formats()], default="auto", help="instead of finding it out"
        )
        parser.add_argument("--source-owner", metavar="ID", help="only memories of this owner or user of the file")
        parser.add_argument("--conversations", action="store_true", help="take facts out of conversations as well")
        parser.add_argument("--overwrite", action="store_true", help="the file wins over what was changed later here")
        times = parser.add_mutually_exclusive_group()
        times.add_argument(
            "--refresh",
            action="store_true",
            default=None,
            help="let retention count from now, not from the file's times",
        )
        times.add_argument(
            "--keep-times", dest="refresh", action="store_false", help="let retention count from the file's times"
        )
        parser.add_argument("--strict", action="store_true", help="import nothing if any row is broken")
        parser.add_argument("--dry-run", action="store_true", help="tell what would be done and change nothing")
        parser.add_argument("--json", action="store_true", help="print the report as the REST API answers it")

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_migrated()
        wanted = ImportOptions(
            owner="" if options["keep_owners"] else find_owner(options["owner"]),
            format=options["format"],
            keeps_owners=options["keep_owners"],
            source_owner=options["source_owner"],
            overwrites=options["overwrite"],
            refreshes=options["refresh"],
            reads_conversations=options["conversations"],
        )
        source: Path | ImportTicket = self._open(options["path"])
        try:
            self._import(source, wanted, options)
        except AppError as error:
            raise CommandError(error.message) from None
        finally:
            if isinstance(source, ImportTicket):
                drop_upload(source)

    def _open(self, path: str) -> Path | ImportTicket:
        if path == "-":
            return stage_upload(sys.stdin.buffer, "standard input")
        source = Path(path)
        if not source.exists():
            raise CommandError(f"there is no file {path}")
        return source

    def _import(self, source: Path | ImportTicket, wanted: ImportOptions, options: dict[str, Any]) -> None:
        if options["dry_run"]:
            planned = plan_import(source, wanted)
            self._tell(planned, render_plan(planned), options)
            return
        report = self._run(source, wanted, options)
        self._tell(report.plan, render_report(report), options)
        if report.undo_id is not None and not options["json"]:
            self.stdout.write(f"To undo it: manage.py memory_undo {report.undo_id}")

    def _run(self, source: Path | ImportTicket, wanted: ImportOptions, options: dict[str, Any]) -> ImportReport:
        progress: ProgressLine | None = None
        started_at = time.monotonic()

        def tell(done: int, total: int) -> None:
            nonlocal progress
            if options["json"]:
                return
            progress = progress or ProgressLine(
                self.stdout, total, is_terminal=sys.stdout.isatty(), started_at=started_at
            )
            progress.show(total - done)

        report = run_import(source, wanted, is_strict=options["strict"], tell=tell)
        if progress is not None:
            progress.end()
        return report

    def _tell(self, planned: ImportPlan, rendered: dict[str, Any], options: dict[str, Any]) -> None:
        if options["json"]:
            self.stdout.write(json.dumps(rendered, ensure_ascii=False))
            return
        counts = ", ".join(f"{planned.counts[name]} {TOLD[name]}" for name in OUTCOMES if planned.counts[name])
        verb = "would be" if options["dry_run"] else "are"
        self.stdout.write(f"{planned.format_name}: of {planned.total} rows {verb} {counts or '0 new'}")
        for problem in planned.problems[:SHOWN_PROBLEMS]:
            name = f" ({problem.key})" if problem.key else ""
            self.stdout.write(f"  row {problem.row}{name}: {TOLD[problem.outcome]}: {problem.reason}")
        if planned.not_imported > SHOWN_PROBLEMS:
            self.stdout.write(f"  and {planned.not_imported - SHOWN_PROBLEMS} more rows that are not imported")
        for note in planned.notes:
            self.stdout.write(f"Note: {note}.")
