"""manage.py memory_compact [--owner ID] [--session ID] [--older-than-days N] [--in-place] [--dry-run]"""

import time
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper

from core.db.migrations import ensure_migrated
from memory.summarization import (
    DEFAULT_MAX_TOKENS,
    DEFAULT_OLDER_THAN_DAYS,
    summarize_in_place,
    summarize_older_than,
)

MAX_DAYS = 365
# Whoever waits longer is told how far it is: on a terminal in one line, in a log now and then.
QUIET_SECONDS: Final = 2.0
TERMINAL_SECONDS: Final = 0.5
LOG_SECONDS: Final = 10.0


class Progress:
    """Tells on stderr how far a run is."""

    def __init__(self, stderr: OutputWrapper) -> None:
        self._stderr = stderr
        self._is_terminal = stderr.isatty()
        self._told_at = time.monotonic() + QUIET_SECONDS - self._pause_seconds
        self._has_told = False

    @property
    def _pause_seconds(self) -> float:
        return TERMINAL_SECONDS if self._is_terminal else LOG_SECONDS

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._told_at >= self._pause_seconds:
            self._told_at, self._has_told = now, True
            self._write(f"{done} of {total} memories", ending="\r" if self._is_terminal else "\n")

    def end(self) -> None:
        """What is printed next begins on a line of its own."""
        if self._has_told and self._is_terminal:
            self._write("", ending="\n")

    def _write(self, text: str, ending: str) -> None:
        self._stderr.write(text, style_func=str, ending=ending)
        self._stderr.flush()


class Command(BaseCommand):
    help = (
        "Replace old memories by one summary for each owner and session; with --in-place shorten those beyond a token "
        "budget instead. What they were is kept aside: memory_undo puts it back."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--owner", metavar="ID", help="only this owner's memories (default: every owner's)")
        parser.add_argument("--session", metavar="ID", help="only memories of this session")
        parser.add_argument(
            "--older-than-days",
            type=int,
            default=DEFAULT_OLDER_THAN_DAYS,
            metavar="N",
            help=f"memories created more than N days ago (default: {DEFAULT_OLDER_THAN_DAYS})",
        )
        parser.add_argument(
            "--in-place",
            action="store_true",
            help="cut an owner's memories beyond --max-tokens, newest first, to three sentences; age plays no part",
        )
        parser.add_argument(
            "--max-tokens", type=int, default=DEFAULT_MAX_TOKENS, metavar="N", help="the budget of --in-place"
        )
        parser.add_argument("--dry-run", action="store_true", help="tell what would be done and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["in_place"] and options["owner"] is None:
            raise CommandError("--in-place needs an --owner: the budget is an owner's")
        if not 1 <= options["older_than_days"] <= MAX_DAYS:
            raise CommandError(f"--older-than-days must be between 1 and {MAX_DAYS}")
        if options["max_tokens"] < 0:
            raise CommandError("--max-tokens must not be negative")
        ensure_migrated()
        undo_id = self._shorten(options) if options["in_place"] else self._summarize(options)
        if undo_id is not None:
            self.stdout.write(f"To undo it: manage.py memory_undo {undo_id}")

    def _summarize(self, options: dict[str, Any]) -> str | None:
        is_dry = options["dry_run"]
        progress = Progress(self.stderr)
        report = summarize_older_than(
            options["owner"],
            options["older_than_days"],
            session_id=options["session"],
            is_dry_run=is_dry,
            tell=progress,
        )
        progress.end()
        verb = "would become" if is_dry else "became"
        for summary in report.summaries:
            name = "" if summary.id is None else f" {summary.id}"
            group = _name_group(summary.owner, summary.session_id)
            self.stdout.write(f"{group}: {summary.count} memories {verb} summary{name}")
        for left in report.left_alone:
            self.stdout.write(f"{_name_group(left.owner, left.session_id)}: left alone: {left.count}, {left.reason}")
        verb = "would be replaced" if is_dry else "replaced"
        self.stdout.write(f"Memories {verb}: {len(report.candidates)}; tokens saved: {report.tokens_saved}")
        return report.undo_id

    def _shorten(self, options: dict[str, Any]) -> str | None:
        is_dry = options["dry_run"]
        report = summarize_in_place(options["owner"], options["session"], options["max_tokens"], is_dry_run=is_dry)
        verb = "would be shortened" if is_dry else "shortened"
        self.stdout.write(
            f"Memories: {report.original_count}; beyond the budget: {report.summarized_count}; "
            f"{verb}: {report.shortened_count}; tokens saved: {report.tokens_saved}"
        )
        return report.undo_id


def _name_group(owner: str, session_id: str) -> str:
    name = f"owner {owner}" if owner else "no owner"
    return f"{name}, session {session_id}" if session_id else name
