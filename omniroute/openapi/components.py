"""What several operations share: the memory, the error, the ways to be let in."""

from typing import Any, Final, get_args

from memory.background import WORK_STATES
from memory.records import MEMORY_TYPES, Tier
from omniroute.openapi.description import (
    COUNT,
    MEMORY_ID,
    MOMENT,
    NUMBER,
    OBJECT,
    TEXT,
    Schema,
    choice_of,
    list_of,
    or_null,
    record,
    refer,
)

SECURITY: Final[list[dict[str, list[str]]]] = [{"bearer": []}, {"session": []}]
KEY_SECURITY: Final[list[dict[str, list[str]]]] = [{"bearer": []}]
SECURITY_SCHEMES: Final = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key: any for /v1 and /mcp; for /api one of scope `manage` or `admin`, or the key in "
        "OMNIROUTE_API_KEY.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "sessionid",
        "description": "A logged-in member of staff; what changes something needs the header `X-CSRFToken` too.",
    },
}
# Every operation may give these, whatever it does.
COMMON_ERRORS: Final = (400, 401, 403, 413, 429, 500, 503)
# Those too, that go to where memories are stored: that may be a service elsewhere.
BACKEND_ERRORS: Final = (502, 504)
STATUS_WORDS: Final = {
    400: "Something about the request is wrong; `details` names the fields.",
    401: "No key, or a wrong or revoked one.",
    403: "The key lacks the scope, or the form token is missing.",
    404: "There is no such thing.",
    405: "Another method is answered here.",
    409: "Something newer is in the way.",
    413: "The body is too large.",
    415: "Another media type is read here.",
    429: "Too many requests with this key; `Retry-After` says when to come back.",
    500: "Something unexpected; the log has the cause under `requestId`.",
    502: "A provider or a backend could not be used.",
    503: "The database is busy, or the server can't serve yet.",
    504: "A provider did not answer in time.",
}

JOB: Final[Schema] = record(
    {
        "job": record(
            {
                "id": TEXT,
                "kind": TEXT,
                "state": choice_of(*WORK_STATES),
                "done": COUNT,
                "total": COUNT,
                "error": or_null(TEXT),
                "createdAt": MOMENT,
                "result": or_null(OBJECT),
            }
        )
    }
)
DETAILS: Final = list_of(record({"field": TEXT, "message": TEXT}))
ERROR: Final[Schema] = record(
    {
        "error": record(
            {"message": TEXT, "type": TEXT, "code": TEXT},
            {"param": TEXT, "details": DETAILS, "requestId": TEXT},
        )
    },
    {"message": TEXT, "details": DETAILS},
)
MEMORY: Final[Schema] = record(
    {
        "id": MEMORY_ID,
        "apiKeyId": TEXT,
        "sessionId": TEXT,
        "type": choice_of(*MEMORY_TYPES),
        "key": TEXT,
        "content": TEXT,
        "metadata": OBJECT,
        "createdAt": MOMENT,
        "updatedAt": MOMENT,
        "expiresAt": or_null(MOMENT),
    }
)
RANKED_MEMORY: Final[Schema] = record(
    {
        "id": MEMORY_ID,
        "type": choice_of(*MEMORY_TYPES),
        "key": TEXT,
        "content": TEXT,
        "score": or_null(NUMBER),
        "tokens": COUNT,
        "tier": choice_of(*get_args(Tier)),
        "vecScore": or_null(NUMBER),
        "ftsScore": or_null(NUMBER),
        "rank": or_null(COUNT),
        "vectorRank": or_null(COUNT),
        "keywordRank": or_null(COUNT),
        "keptByBudget": {"type": "boolean"},
    }
)
CACHE_COUNTS: Final = record({"hits": COUNT, "misses": COUNT})

COMPONENTS: Final[dict[str, Any]] = {
    "schemas": {"Error": ERROR, "Memory": MEMORY, "RankedMemory": RANKED_MEMORY},
    "securitySchemes": SECURITY_SCHEMES,
}

MEMORY_REF: Final = refer("Memory")
SUCCESS: Final = record({"success": {"type": "boolean", "const": True}})
