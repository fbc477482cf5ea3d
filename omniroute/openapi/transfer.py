"""Operations that move memories in and out, and erase them."""

from typing import Final

from rest_framework.views import APIView

from memory import transfer_views, undo_views
from memory.backends.archive import Kind
from memory.summarize_serializers import UndoBody
from memory.transfer_serializers import EraseBody, ExportQuery, ImportQuery
from omniroute.openapi.components import BACKEND_ERRORS, JOB, MEMORY_REF
from omniroute.openapi.description import (
    COUNT,
    FLAG,
    MOMENT,
    OBJECT,
    TEXT,
    Description,
    choice_of,
    list_of,
    or_null,
    record,
)

TAG: Final = "Moving in and out"

OUTCOME: Final = choice_of("new", "update", "unchanged", "older", "repeated", "invalid", "left_out")
COUNTS: Final = record(dict.fromkeys(("new", "update", "unchanged", "older", "repeated", "invalid", "leftOut"), COUNT))
PLAN: Final = record(
    {
        "dryRun": FLAG,
        "format": TEXT,
        "formatName": TEXT,
        "total": COUNT,
        "counts": COUNTS,
        "problems": list_of(
            record({"row": {"type": ["integer", "string"]}, "key": TEXT, "outcome": OUTCOME, "reason": TEXT})
        ),
        "samples": list_of(
            record(
                {
                    "row": {"type": ["integer", "string"]},
                    "outcome": OUTCOME,
                    "apiKeyId": TEXT,
                    "type": TEXT,
                    "key": TEXT,
                    "content": TEXT,
                }
            )
        ),
        "notes": list_of(TEXT),
        "owners": {"type": "object", "additionalProperties": COUNT},
        "isIntact": or_null(FLAG),
        "undoId": or_null(TEXT),
    }
)
ERASURE: Final = record(
    {"dryRun": FLAG},
    {
        "memories": COUNT,
        "places": list_of(record({"name": TEXT, "count": or_null(COUNT), "error": or_null(TEXT)})),
        "receipt": OBJECT,
    },
)
CHANGE: Final = record(
    {
        "undoId": TEXT,
        "kind": choice_of(*Kind.values),
        "label": TEXT,
        "createdAt": MOMENT,
        "undoableUntil": MOMENT,
        "undoneAt": or_null(MOMENT),
        "memories": COUNT,
        "owners": COUNT,
    }
)
UNDONE: Final = record(
    {
        "success": FLAG,
        "undoId": TEXT,
        "kind": choice_of(*Kind.values),
        "restoredCount": COUNT,
        "removedCount": COUNT,
        "keptNewer": list_of(TEXT),
        "wasUndoneBefore": FLAG,
    }
)
FILE: Final = {"type": "string", "format": "binary"}

TRANSFER: Final[dict[tuple[type[APIView], str], Description]] = {
    (transfer_views.ExportView, "GET"): Description(
        "exportMemories",
        TAG,
        "All memories that match, as a file",
        TEXT,
        "Lossless. The filters are those of the list; its paging and order are not used.",
        query=ExportQuery,
        errors=BACKEND_ERRORS,
        answers={"application/x-ndjson": TEXT, "application/json": list_of(MEMORY_REF)},
    ),
    (transfer_views.ImportView, "POST"): Description(
        "importMemories",
        TAG,
        "Take memories in from a file",
        PLAN,
        "The file is the body, or the field `file` of a form. Name the key that gets the memories as `apiKeyId` (empty "
        "is no key), or set `keepOwners`.",
        query=ImportQuery,
        errors=BACKEND_ERRORS,
        raw_body={
            "application/octet-stream": FILE,
            "multipart/form-data": {"type": "object", "properties": {"file": FILE}, "required": ["file"]},
        },
    ),
    (undo_views.UndoView, "GET"): Description(
        "listChanges",
        TAG,
        "What can be undone",
        record({"changes": list_of(CHANGE)}),
        "The newest hundred imports, compactions and changes made in the studio, those that were undone with them.",
    ),
    (undo_views.UndoView, "POST"): Description(
        "undoChange",
        TAG,
        "Undo an import, a compaction or a change made in the studio",
        UNDONE,
        "Memories are as they were, and what the change made is gone. Where something newer is in the way nothing is "
        "changed; `force` keeps what is newer and undoes the rest. More than 2,000 memories are put back by a job.",
        body=UndoBody,
        errors=(404, 409, *BACKEND_ERRORS),
        is_left_to_jobs=True,
    ),
    (undo_views.JobView, "GET"): Description(
        "readJob",
        TAG,
        "How far a job is that a 202 has told",
        JOB,
        "`result` is what the door answers at once when there is little to do, null until `state` is `done`. A job is "
        "told of for seven days.",
        errors=(404,),
    ),
    (transfer_views.EraseView, "POST"): Description(
        "erase",
        TAG,
        "Erase a key or a session everywhere",
        ERASURE,
        "`confirm` is the number of memories that a dry run tells. The receipt says what a second look has found. More "
        "than 2,000 things are erased by a job.",
        body=EraseBody,
        errors=(409, *BACKEND_ERRORS),
        is_left_to_jobs=True,
    ),
}
