"""An import in the background. Safe to run twice and safe to kill: started anew, it goes on from what is stored."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from core.errors import AppError, NotFoundError
from memory.background import end_work
from memory.transfer import runs, staging
from memory.transfer.plans import ImportOptions


def do_import(ticket_id: str, options: Mapping[str, Any], *, work_id: str = "") -> None:
    """Import an upload and note how far it is. A file that can't be read is told there and not tried again.

    An upload that is taken away meanwhile, by an erasure, ends the import after the batch in hand.
    """
    try:
        ticket = staging.open_ticket(ticket_id)
    except NotFoundError as error:
        end_work(work_id, error=error.message)
        return  # its hour is over, it is done, or it was erased
    try:
        report = runs.run(
            staging.find_upload(ticket),
            ImportOptions(**options),
            label=ticket.filename,
            tell=partial(staging.note_progress, ticket_id),
            undo_id=staging.read_undo(ticket_id),
            note_undo=partial(staging.note_undo, ticket_id),
        )
    except NotFoundError as error:
        end_work(work_id, error=error.message)
        return
    except AppError as error:
        if error.status >= 500:
            raise
        staging.note_failure(ticket_id, error.message)
        end_work(work_id, error=error.message)
        return
    plan = report.plan
    answer = {"undoId": report.undo_id or "", "imported": plan.new + plan.updates, "leftOut": plan.not_imported}
    end_work(work_id, answer=answer)
    staging.note_end(ticket_id, report)
