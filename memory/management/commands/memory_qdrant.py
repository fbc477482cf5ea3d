"""manage.py memory_qdrant [status | sync | reconcile | refill | cleanup] [--json]"""

import json
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from core.db.migrations import ensure_migrated
from memory import qdrant_control
from memory.qdrant_control import QdrantStatus
from memory.rendering import render_moment, render_qdrant
from memory.vector_stores.qdrant_reconciliation import reconcile
from memory.vector_stores.qdrant_sync import sync

ACTIONS: Final = ("status", "sync", "reconcile", "refill", "cleanup")


class Command(BaseCommand):
    help = (
        "Show how it stands with Qdrant, or do now what the background does: write what has changed (sync), compare "
        "and mend both ways (reconcile), make every vector anew (refill), delete expired points (cleanup)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "action", nargs="?", choices=ACTIONS, default="status", help="what to do, status if nothing"
        )
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        ensure_migrated()
        action, as_json = options["action"], options["json"]
        if action == "status":
            self._tell_status(qdrant_control.read_status(), as_json=as_json)
        elif action == "sync":
            synced = sync()
            self._tell(asdict(synced), f"{synced.written} points were written", synced.reason, as_json=as_json)
        elif action == "cleanup":
            cleaned = qdrant_control.clean_up()
            self._tell(asdict(cleaned), f"{cleaned.deleted_count} points were deleted", cleaned.error, as_json=as_json)
        else:
            report = reconcile(is_forced=action == "refill")
            told = (
                f"{report.checked} memories were compared: {report.missing} points were missing, "
                f"{report.unknown} were of no memory, {report.written} were written"
            )
            self._tell(asdict(report), told, report.reason, as_json=as_json)

    def _tell_status(self, status: QdrantStatus, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(render_qdrant(status), ensure_ascii=False, indent=2))
            return
        for label, text in _describe(status):
            self.stdout.write(f"{label.ljust(12)}{text}")

    def _tell(self, figures: dict[str, Any], told: str, fault: str | None, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(figures, ensure_ascii=False, indent=2, default=str))
        elif fault is None:
            self.stdout.write(told)
        if fault is not None:
            raise CommandError(fault)


def _describe(status: QdrantStatus) -> list[tuple[str, str]]:
    lines = [("Qdrant", f"{'on' if status.is_enabled else 'off'}: {status.reason}")]
    if not status.is_enabled:
        return lines
    if status.remedy is not None:
        lines.append(("To do", status.remedy))
    health = f"answers in {status.latency_ms} ms" if status.is_healthy else f"FAIL {status.error}"
    lines.append(("Server", health))
    lines.append(("Searches", "go to Qdrant" if status.is_answering else "go to SQLite"))
    lines.append(("Collection", f"{status.collection or 'none yet'}, known as {status.alias}"))
    width = "width not known yet" if status.dimensions is None else f"{status.dimensions} dimensions"
    lines.append(("Embedding", f"{status.embedding or 'none yet'}, {width}"))
    lines.append(("Points", f"{status.points} of {status.total} memories, {status.pending} changes wait"))
    if status.next_try_at is not None:
        lines.append(("Next try", render_moment(status.next_try_at)))
    return lines
