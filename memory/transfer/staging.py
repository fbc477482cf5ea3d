"""Uploads that wait for their confirmation: kept under a random name for an hour, with what is known of them."""

import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any, Final

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from core.errors import NotFoundError, TooLargeError
from core.words import gettext as _
from memory import queue
from memory.background import IMPORT, open_work
from memory.transfer.plans import (
    ImportOptions,
    ImportPlan,
    ImportProgress,
    ImportReport,
    ImportSample,
    ImportTicket,
    RowProblem,
)
from memory.transfer.rows import shorten

KEEP_SECONDS: Final = 3600
COPY_BYTES: Final = 1024 * 1024
_TICKET: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)
_UPLOAD, _STATE = ".upload", ".json"


def stage_upload(file: IO[bytes], filename: str) -> ImportTicket:
    """Keep what `file` gives; TooLargeError beyond MAX_IMPORT_BYTES. `filename` is shown to people and nothing else.

    Uploads whose hour is over are deleted by the next one, or by the daily upkeep.
    """
    forget_stale_uploads()
    ticket = ImportTicket(secrets.token_hex(16), shorten(filename) or "upload", 0, timezone.now())
    path = find_upload(ticket)
    size = 0
    with _write_private(path) as target:
        while chunk := file.read(COPY_BYTES):
            size += len(chunk)
            if size > settings.MAX_IMPORT_BYTES:
                path.unlink()
                told = _("The file is larger than %(bytes)d bytes; see MAX_IMPORT_BYTES")
                raise TooLargeError(told % {"bytes": settings.MAX_IMPORT_BYTES})
            target.write(chunk)
    ticket = ImportTicket(ticket.id, ticket.filename, size, ticket.staged_at)
    _write_state(ticket.id, {"filename": ticket.filename, "size": size, "stagedAt": ticket.staged_at.isoformat()})
    return ticket


def open_ticket(ticket_id: str) -> ImportTicket:
    """Return the upload of that id; NotFoundError when there is none, or its hour is over."""
    state = _read_state(ticket_id)
    staged_at = datetime.fromisoformat(state["stagedAt"])
    ticket = ImportTicket(ticket_id, state["filename"], state["size"], staged_at)
    if timezone.now() - staged_at > timedelta(seconds=KEEP_SECONDS) or not find_upload(ticket).is_file():
        raise NotFoundError(_("There is no such upload, or its time is over; upload the file again"))
    return ticket


def find_upload(ticket: ImportTicket) -> Path:
    """Where the upload lies."""
    return _open_folder() / f"{ticket.id}{_UPLOAD}"


def drop_upload(ticket: ImportTicket) -> None:
    """Let go of an upload and all that is known of it."""
    for suffix in (_UPLOAD, _STATE):
        (_open_folder() / f"{ticket.id}{suffix}").unlink(missing_ok=True)


def start_import(ticket_id: str, options: ImportOptions, *, rows: int = 0, asked_by: str = "") -> None:
    """Have the upload of so many rows imported in the background. A second start while the first runs changes nothing.

    `asked_by` is the operator of the studio who is told of its end.
    """
    ticket = open_ticket(ticket_id)
    if read_import_progress(ticket_id).state in ("running", "done") or "job" in _read_state(ticket_id):
        return
    _change_state(ticket.id, job=True)
    with transaction.atomic():
        work_id = open_work(IMPORT, rows, asked_by=asked_by, notes={"ticketId": ticket.id})
        queue.enqueue_import(ticket.id, asdict(options), work_id=work_id)


def read_import_progress(ticket_id: str) -> ImportProgress:
    """Return how far the import of that upload is; NotFoundError when there is no such upload."""
    state = _read_state(ticket_id)
    report = state.get("report")
    return ImportProgress(
        state=state.get("state", "waiting"),
        rows_done=state.get("rowsDone", 0),
        rows_total=state.get("rowsTotal"),
        report=None if report is None else _load_report(report),
        error=state.get("error", ""),
    )


def note_progress(ticket_id: str, rows_done: int, rows_total: int) -> None:
    """Tell how far it is; who asks in another process reads it."""
    _change_state(ticket_id, state="running", rowsDone=rows_done, rowsTotal=rows_total)


def note_undo(ticket_id: str, undo_id: str) -> None:
    """Keep the id by which the import can be undone, for the case that it has to be started anew."""
    _change_state(ticket_id, undoId=undo_id)


def read_undo(ticket_id: str) -> str | None:
    """The id that an earlier try has noted."""
    undo_id: str | None = _read_state(ticket_id).get("undoId")
    return undo_id


def note_end(ticket_id: str, report: ImportReport) -> None:
    """Tell what came of it, and let go of the file."""
    total = report.plan.total
    _change_state(ticket_id, state="done", rowsDone=total, rowsTotal=total, report=asdict(report))
    (_open_folder() / f"{ticket_id}{_UPLOAD}").unlink(missing_ok=True)


def note_failure(ticket_id: str, error: str) -> None:
    """Tell why it did not work."""
    _change_state(ticket_id, state="failed", error=error)


def list_uploads() -> list[Path]:
    """The files of all uploads there are."""
    return sorted(_open_folder().iterdir())


def forget_stale_uploads() -> int:
    """Delete uploads whose hour is over; return how many files that were."""
    oldest = (timezone.now() - timedelta(seconds=KEEP_SECONDS)).timestamp()
    return _delete(lambda path: path.stat().st_mtime < oldest)


def forget_all_uploads() -> int:
    """Delete every upload, whatever its age; return how many files that were."""
    return _delete(lambda path: True)


def _delete(is_wanted: Callable[[Path], bool]) -> int:
    count = 0
    for path in list_uploads():
        try:
            if is_wanted(path):
                path.unlink()
                count += 1
        except FileNotFoundError:
            continue  # somebody else cleans up as well
    return count


def _open_folder() -> Path:
    folder = Path(settings.DATA_DIR) / "imports"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _read_state(ticket_id: str) -> dict[str, Any]:
    try:
        if _TICKET.fullmatch(ticket_id):
            state: dict[str, Any] = json.loads((_open_folder() / f"{ticket_id}{_STATE}").read_text())
            return state
    except FileNotFoundError:
        pass
    raise NotFoundError(_("There is no such upload, or its time is over; upload the file again"))


def _change_state(ticket_id: str, **changes: Any) -> None:
    _write_state(ticket_id, {**_read_state(ticket_id), **changes})


def _write_state(ticket_id: str, state: Mapping[str, Any]) -> None:
    """In one step: who reads it meanwhile sees the one before or this one."""
    path = _open_folder() / f"{ticket_id}{_STATE}"
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with _write_private(draft) as file:
        file.write(json.dumps(state, default=str).encode())
    draft.replace(path)


@contextmanager
def _write_private(path: Path) -> Iterator[IO[bytes]]:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        yield file


def _load_report(state: Mapping[str, Any]) -> ImportReport:
    told = dict(state["plan"])
    told["problems"] = tuple(RowProblem(**problem) for problem in told["problems"])
    told["samples"] = tuple(ImportSample(**sample) for sample in told["samples"])
    told["notes"] = tuple(told["notes"])
    return ImportReport(ImportPlan(**told), state["undo_id"])
