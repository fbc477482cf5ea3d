"""manage.py memory_reindex [--force] [--no-wait]"""

import sys
import time
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.db.migrations import ensure_migrated
from core.jobs.queue import JobState, read_state
from core.jobs.runner import Runner
from memory import queue, services
from memory.engine_status import read_engine_status
from memory.indexing import Backlog, read_backlog
from memory.management.progress import ProgressLine

POLL_SECONDS: Final = 0.2
# The job in hand may end its batch; what is left is still flagged and done later, by whoever runs next.
STOP_SECONDS: Final = 10.0
JOBS: Final = (queue.FETCH_MODELS, queue.INDEX_PENDING)


class Command(BaseCommand):
    help = (
        "Make the missing vectors of memories, with --force all of them anew. Works with or without a running server: "
        "whoever takes the job does it, and this command shows how far it is."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--force", action="store_true", help="make every vector anew, also those that are current")
        waiting = parser.add_mutually_exclusive_group()
        waiting.add_argument(
            "--wait", dest="waits", action="store_true", default=True, help="stay until it is done (the default)"
        )
        waiting.add_argument(
            "--no-wait", dest="waits", action="store_false", help="leave the work to a running server and return"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_migrated()
        start = services.start_reindex(is_forced=options["force"])
        if start.reason is not None:
            raise CommandError(f"Nothing can be indexed: {start.reason}")
        if not options["waits"]:
            self.stdout.write(f"{start.pending} memories wait for their vectors; a running server makes them")
            return
        runners = [Runner(only=name) for name in JOBS]
        for runner in runners:
            runner.start()
        try:
            self._watch(start.pending)
        except KeyboardInterrupt:
            raise CommandError("Stopped; what is left is done by the server or the next memory_reindex") from None
        finally:
            for runner in runners:
                runner.stop(STOP_SECONDS)
        self._conclude(read_backlog(), read_state(*JOBS))

    def _watch(self, pending: int) -> None:
        """Show the progress until no indexing job is running or due, here or in another process."""
        progress = ProgressLine(self.stdout, pending, is_terminal=sys.stdout.isatty())
        while True:
            # In this order: a job that ends in between has set its rows before.
            state = read_state(*JOBS)
            backlog = read_backlog()
            progress.show(backlog.pending)
            if not state.is_running and not state.is_due:
                progress.end()
                return
            time.sleep(POLL_SECONDS)

    def _conclude(self, backlog: Backlog, state: JobState) -> None:
        status = read_engine_status()
        if not backlog.pending and status.embedding.is_available:
            active = status.vector_store.active
            model = "" if active is None else f" with {active.signature}"
            self.stdout.write(f"Done: {backlog.total} memories are indexed{model}")
            return
        reason = state.reason or status.embedding.reason
        if backlog.due:
            raise CommandError(f"{backlog.pending} memories are not indexed: {reason}")
        if backlog.pending:
            raise CommandError(
                f"{backlog.pending} memories could not be embedded: {reason}. The server tries them again, "
                f"but for {backlog.given_up} that are given up until the next memory_reindex"
            )
        raise CommandError(f"The embedding source is not available: {reason}")
