"""Operations on memories."""

from typing import Final

from rest_framework.views import APIView

from memory import summarize_views, views
from memory.serializers import MemoryChangesBody, MemoryDraftBody, MemoryListQuery
from memory.summarize_serializers import SummarizeBody, UndoBody
from omniroute.openapi.components import BACKEND_ERRORS, CACHE_COUNTS, MEMORY_REF, SUCCESS
from omniroute.openapi.description import (
    COUNT,
    FLAG,
    MEMORY_ID,
    MOMENT,
    NUMBER,
    TEXT,
    Description,
    list_of,
    or_null,
    record,
)
from omniroute.openapi.examples import EXAMPLES

TAG: Final = "Memories"
COMPACTION_TAG: Final = "Compaction"

PAGE: Final = record(
    {"data": list_of(MEMORY_REF), "limit": COUNT, "nextCursor": or_null(TEXT)},
    {
        "total": COUNT,
        "page": COUNT,
        "totalPages": COUNT,
        "stats": record(
            {
                "total": COUNT,
                "totalEntries": COUNT,
                "byType": {"type": "object", "additionalProperties": COUNT},
                "tokensUsed": COUNT,
                "hitRate": {**NUMBER, "minimum": 0, "maximum": 1},
                "cacheStats": CACHE_COUNTS,
            }
        ),
        "cacheStats": CACHE_COUNTS,
    },
)
COMPACTION: Final = record(
    {
        "candidates": list_of(MEMORY_REF),
        "totalTokens": COUNT,
        "tokensSaved": COUNT,
        "deletedCount": COUNT,
        "summaryId": or_null(MEMORY_ID),
        "dryRun": FLAG,
        "undoId": or_null(TEXT),
        "summaries": list_of(
            record(
                {
                    "summaryId": or_null(MEMORY_ID),
                    "apiKeyId": TEXT,
                    "sessionId": TEXT,
                    "content": TEXT,
                    "count": COUNT,
                    "tokensSaved": COUNT,
                }
            )
        ),
        "leftAlone": list_of(record({"apiKeyId": TEXT, "sessionId": TEXT, "count": COUNT, "reason": TEXT})),
    }
)
KEPT: Final = record(
    {
        "undoId": TEXT,
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
        "restoredCount": COUNT,
        "removedSummaries": list_of(MEMORY_ID),
        "keptNewer": list_of(TEXT),
        "wasUndoneBefore": FLAG,
    }
)

MEMORIES: Final[dict[tuple[type[APIView], str], Description]] = {
    (views.MemoriesView, "GET"): Description(
        "listMemories",
        TAG,
        "List memories",
        PAGE,
        "An answer to a `cursor` has only `data`, `limit` and `nextCursor`: nothing is counted for it, and it neither "
        "repeats nor passes over a memory when others come or go meanwhile.",
        query=MemoryListQuery,
        errors=BACKEND_ERRORS,
        example=EXAMPLES["listMemories"],
    ),
    (views.MemoriesView, "POST"): Description(
        "storeMemory",
        TAG,
        "Store a memory, or the same key anew",
        record({"success": FLAG, "id": MEMORY_ID, "memory": MEMORY_REF}),
        body=MemoryDraftBody,
        errors=BACKEND_ERRORS,
        example=EXAMPLES["storeMemory"],
    ),
    (views.MemoryView, "GET"): Description(
        "readMemory",
        TAG,
        "One memory",
        record({"memory": MEMORY_REF}),
        errors=(404, *BACKEND_ERRORS),
        example=EXAMPLES["readMemory"],
    ),
    (views.MemoryView, "PUT"): Description(
        "changeMemory",
        TAG,
        "Change a memory",
        SUCCESS,
        "`metadata` replaces the old object. `{}` changes nothing.",
        body=MemoryChangesBody,
        errors=(404, 409, *BACKEND_ERRORS),
        example={"success": True},
    ),
    (views.MemoryView, "DELETE"): Description(
        "deleteMemory", TAG, "Delete a memory", SUCCESS, errors=(404, *BACKEND_ERRORS), example={"success": True}
    ),
    (summarize_views.SummarizeView, "POST"): Description(
        "compactMemories",
        COMPACTION_TAG,
        "Replace old memories by summaries",
        COMPACTION,
        body=SummarizeBody,
        errors=BACKEND_ERRORS,
        example=EXAMPLES["compactMemories"],
    ),
    (summarize_views.SummarizeUndoView, "GET"): Description(
        "listCompactions",
        COMPACTION_TAG,
        "What can be undone",
        record({"compactions": list_of(KEPT)}),
        example={"compactions": []},
    ),
    (summarize_views.SummarizeUndoView, "POST"): Description(
        "undoCompaction",
        COMPACTION_TAG,
        "Undo a compaction",
        UNDONE,
        body=UndoBody,
        errors=(404, 409, *BACKEND_ERRORS),
        is_left_to_jobs=True,
    ),
}
