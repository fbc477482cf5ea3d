"""Moving in and out: files of memories, ours and other programs', to rows and back. Other rooms import from here.

ticket = stage_upload(file, filename)          # the upload is kept for an hour under a random name
plan = plan_import(ticket, options)            # reads it, writes nothing
report = run_import(ticket, options)           # reads it anew and writes; safe to run again
start_import(ticket.id, options)               # the same as a job; read_import_progress(ticket.id) tells how far
export_jsonl(filter), export_array(filter)     # bytes, piece by piece
"""

from memory.transfer.export import export_array, export_jsonl
from memory.transfer.jobs import do_import
from memory.transfer.plans import (
    MAX_PROBLEMS,
    MAX_SAMPLES,
    OUTCOMES,
    ImportOptions,
    ImportPlan,
    ImportProgress,
    ImportReport,
    ImportSample,
    ImportTicket,
    Outcome,
    RowProblem,
)
from memory.transfer.runs import RefusedImportError
from memory.transfer.staging import (
    drop_upload,
    forget_all_uploads,
    forget_stale_uploads,
    list_uploads,
    open_ticket,
    read_import_progress,
    stage_upload,
    start_import,
)
from memory.transfer.tickets import list_formats, plan_import, run_import

__all__ = [
    "MAX_PROBLEMS",
    "MAX_SAMPLES",
    "OUTCOMES",
    "ImportOptions",
    "ImportPlan",
    "ImportProgress",
    "ImportReport",
    "ImportSample",
    "ImportTicket",
    "Outcome",
    "RefusedImportError",
    "RowProblem",
    "do_import",
    "drop_upload",
    "export_array",
    "export_jsonl",
    "forget_all_uploads",
    "forget_stale_uploads",
    "list_formats",
    "list_uploads",
    "open_ticket",
    "plan_import",
    "read_import_progress",
    "run_import",
    "stage_upload",
    "start_import",
]
