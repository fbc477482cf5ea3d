"""GET /healthz: can this process serve? GET /readyz: the same, its indexes, and how its background work stands."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from django.db import DatabaseError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from core.db.migrations import has_pending_migrations
from core.db.sqlite.vec0 import STATUS
from core.error_handler import build_error_body, refuse_method
from core.errors import AppError
from core.jobs import queue
from core.words import gettext as _
from memory.indexing import count_pending
from memory.search.keyword import find_fulltext_fault
from memory.triggers import find_missing_triggers

# Once applied, migrations stay applied as long as this process runs: looked up once, then remembered.
SEEN_MIGRATED: Final = threading.Event()
READING: Final = ("GET", "HEAD")


class NotReadyError(AppError):
    status = 503
    code = "not_ready"


@csrf_exempt
@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers and its migrations are applied, else 503 with the reason. Public and cheap."""
    if request.method not in READING:
        return refuse_method(*READING)
    fault = find_fault()
    return _refuse(fault) if fault else JsonResponse({"status": "ok", "database": "ok", "migrations": "applied"})


@csrf_exempt
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when requests can be served in full, else 503 with the reason. Public: numbers, no content.

    A queue that is long is told and not judged: answers do not wait for it, and fewer servers would not shorten it.
    """
    if request.method not in READING:
        return refuse_method(*READING)
    fault = find_fault()
    if fault:
        return _refuse(fault)
    try:
        missing = find_missing_triggers(connection)
        fulltext_fault = f"triggers are missing ({', '.join(missing)})" if missing else find_fulltext_fault()
        report = {"database": "ok", "migrations": "applied", "jobs": _report_jobs(), "indexes": _report_indexes()}
    except DatabaseError:
        return _refuse(_("the database does not answer"))
    if fulltext_fault:
        return _refuse(_("the full-text index is broken: %(fault)s") % {"fault": fulltext_fault}, report)
    return JsonResponse({"status": "ok", **report})


def _refuse(fault: str, report: Mapping[str, Any] | None = None) -> JsonResponse:
    told = {"status": "unavailable", "reason": fault, **(report or {}), **build_error_body(NotReadyError(fault))}
    return JsonResponse(told, status=NotReadyError.status)


def _report_jobs() -> dict[str, Any]:
    jobs = queue.measure()
    return {
        "queued": jobs.queued,
        "running": jobs.running,
        "dead": jobs.dead,
        "oldestWaitingSeconds": round(jobs.oldest_waiting_seconds, 3),
    }


def _report_indexes() -> dict[str, Any]:
    return {"vectorsAvailable": STATUS.available, "pending": count_pending()}


def find_fault() -> str:
    """Return why the server can't serve, "" when it can."""
    # Asked before the query, because connecting to a file that has gone would make a new, empty one.
    if not Path(connection.settings_dict["NAME"]).is_file():
        return "the database file is gone"
    try:
        if not SEEN_MIGRATED.is_set():
            if has_pending_migrations():
                return "migrations are not applied"
            SEEN_MIGRATED.set()
        if not MigrationRecorder(connection).migration_qs.exists():
            return "the database is empty"
    except DatabaseError:
        return "the database does not answer"
    return ""
