"""JSON Schemas of the tools, as clients are told them. What they say is what `memory.mcp.arguments` accepts."""

from typing import Any, Final

from memory.mcp.arguments import MAX_LIMIT
from memory.records import MEMORY_TYPES
from memory.retrieval import MAX_BUDGET_TOKENS
from memory.serializers import MAX_CONTENT_LENGTH, MAX_ID_LENGTH, MAX_KEY_LENGTH

Schema = dict[str, Any]

_OWNER: Final[Schema] = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_ID_LENGTH,
    "description": "Whose memories, by API key id. Leave it out: it is your own key then. Only a management key may "
    "name another one.",
}
_TYPE: Final[Schema] = {
    "type": "string",
    "enum": list(MEMORY_TYPES),
    "description": "factual: facts and preferences; episodic: what happened or was decided; procedural: how something "
    "is done; semantic: general knowledge and summaries.",
}

SEARCH_INPUT: Final[Schema] = {
    "type": "object",
    "properties": {
        "apiKeyId": _OWNER,
        "query": {
            "type": "string",
            "maxLength": MAX_CONTENT_LENGTH,
            "description": "What to look for, in plain words. Without it, the newest memories.",
        },
        "type": {**_TYPE, "description": f"Only memories of this type. {_TYPE['description']}"},
        "maxTokens": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_BUDGET_TOKENS,
            "description": "Token budget of the answer; the server's setting without it. Numbers are not read from "
            "strings.",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_LIMIT,
            "description": "At most this many memories. Numbers are not read from strings.",
        },
    },
    "additionalProperties": False,
}

ADD_INPUT: Final[Schema] = {
    "type": "object",
    "properties": {
        "apiKeyId": _OWNER,
        "type": _TYPE,
        "key": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_KEY_LENGTH,
            "description": "A short stable name, such as preference:editor. Adding the same key again replaces what "
            "was stored under it.",
        },
        "content": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_CONTENT_LENGTH,
            "description": "The memory itself, in one or a few sentences that can be understood alone.",
        },
        "sessionId": {
            "type": "string",
            "maxLength": MAX_ID_LENGTH,
            "description": "The conversation it comes from, if it belongs to one.",
        },
        "metadata": {"type": "object", "description": "Further fields of your own, kept beside the content."},
    },
    "required": ["type", "key", "content"],
    "additionalProperties": False,
}

CLEAR_INPUT: Final[Schema] = {
    "type": "object",
    "properties": {
        "apiKeyId": _OWNER,
        "type": {**_TYPE, "description": "Only memories of this type."},
        "olderThan": {
            "type": "string",
            "minLength": 1,
            "description": "Only memories created before this moment: an ISO 8601 date (midnight UTC) or time, such "
            "as 2026-01-31 or 2026-01-31T12:00:00+01:00.",
        },
        "confirm": {
            "type": "boolean",
            "description": "Must be true to clear everything: without type, and without an olderThan that lies in the "
            "past. Ask the user first.",
        },
    },
    "additionalProperties": False,
}

MEMORY: Final[Schema] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "apiKeyId": {"type": "string"},
        "sessionId": {"type": "string"},
        "type": {"type": "string", "enum": list(MEMORY_TYPES)},
        "key": {"type": "string"},
        "content": {"type": "string"},
        "metadata": {"type": "object"},
        "createdAt": {"type": "string"},
        "updatedAt": {"type": "string"},
        "expiresAt": {"type": ["string", "null"]},
    },
    "required": ["id", "apiKeyId", "sessionId", "type", "key", "content", "metadata", "createdAt", "updatedAt"],
}


def wrap_data(properties: Schema) -> Schema:
    """Return the schema of `{"success": true, "data": {...}}` where data has exactly these properties."""
    data = {"type": "object", "properties": properties, "required": list(properties)}
    return {
        "type": "object",
        "properties": {"success": {"type": "boolean"}, "data": data},
        "required": ["success", "data"],
    }


SEARCH_OUTPUT: Final = wrap_data(
    {
        "memories": {"type": "array", "items": MEMORY},
        "count": {"type": "integer", "minimum": 0},
        "totalTokens": {"type": "integer", "minimum": 0},
    }
)
ADD_OUTPUT: Final = wrap_data({"memory": MEMORY, "message": {"type": "string"}})
CLEAR_OUTPUT: Final = wrap_data(
    {"deletedCount": {"type": "integer", "minimum": 0}, "message": {"type": "string"}},
)
