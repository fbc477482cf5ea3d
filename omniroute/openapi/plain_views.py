"""The doors that are no DRF views: chat, models, and the tools for agents."""

from typing import Any, Final

from omniroute.openapi.components import KEY_SECURITY, SECURITY, STATUS_WORDS
from omniroute.openapi.description import COUNT, TEXT, Schema, list_of, record, refer
from omniroute.openapi.examples import EXAMPLES

CHAT_TAG: Final = "Chat"
MCP_TAG: Final = "Tools for agents"
JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

MODEL: Final = record({"id": TEXT, "object": TEXT, "created": COUNT, "owned_by": TEXT})
MESSAGE: Final = {
    "type": "object",
    "properties": {
        "role": TEXT,
        "content": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}, {"type": "null"}]},
    },
    "required": ["role"],
}
CHAT_BODY: Final = {
    "type": "object",
    "properties": {
        "model": {
            "type": "string",
            "minLength": 1,
            "description": "`provider/model`; without a slash, a model of the default provider.",
        },
        "messages": {"type": "array", "items": MESSAGE, "minItems": 1},
        "stream": {"type": "boolean"},
    },
    "required": ["model", "messages"],
    "description": "OpenAI's; fields that are not named here go to the provider as they are.",
}
MESSAGE_ID: Final = {"oneOf": [{"type": "string"}, {"type": "integer"}]}
RPC_REQUEST: Final = {
    "type": "object",
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": MESSAGE_ID,
        "method": TEXT,
        "params": {"type": "object"},
    },
    "required": ["jsonrpc", "method"],
    "description": "One JSON-RPC message of the Model Context Protocol; without `id` it is a notification.",
}
RPC_ANSWER: Final = {
    "type": "object",
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["string", "integer", "null"]},
        "result": {"type": "object"},
        "error": {
            "type": "object",
            "properties": {"code": {"type": "integer"}, "message": TEXT},
            "required": ["code", "message"],
        },
    },
    "required": ["jsonrpc", "id"],
}
REPORT_HEADERS: Final = {
    "x-omniroute-memories-injected": {"description": "How many memories the request carried.", "schema": COUNT},
    "x-omniroute-memory-tokens": {"description": "What they cost, estimated.", "schema": COUNT},
    "x-omniroute-session-id": {"description": "The session of the request.", "schema": TEXT},
}
CHAT_HEADERS: Final = [
    {
        "name": "x-omniroute-no-memory",
        "in": "header",
        "schema": {"type": "string"},
        "description": "`true`, `1` or `yes`: this request neither carries memories nor teaches any.",
    },
    {
        "name": "x-omniroute-session-id",
        "in": "header",
        "schema": {"type": "string"},
        "description": "Names the session; without it, each request has its own.",
    },
]

# What a provider answers comes back as it is.
OWN_OR_PROVIDERS: Final = {"anyOf": [refer("Error"), {"type": "object"}]}


def _refuse(*statuses: int, schema: Schema | None = None) -> dict[str, Any]:
    content = {JSON: {"schema": schema or refer("Error")}}
    return {str(status): {"description": STATUS_WORDS[status], "content": content} for status in statuses}


CHAT: Final[dict[str, Any]] = {
    "operationId": "chat",
    "tags": [CHAT_TAG],
    "summary": "Chat, with memory",
    "description": "OpenAI's chat completions. Memories of the key are put into the request; facts are taken out "
    "of what is said, afterwards. What a provider itself answers comes back with its own status and body.",
    "security": KEY_SECURITY,
    "parameters": CHAT_HEADERS,
    "requestBody": {"required": True, "content": {JSON: {"schema": CHAT_BODY, "example": EXAMPLES["chatBody"]}}},
    "responses": {
        "200": {
            "description": "The provider's answer; server-sent events with `stream`.",
            "headers": REPORT_HEADERS,
            "content": {
                JSON: {"schema": {"type": "object"}, "example": EXAMPLES["chat"]},
                EVENTS: {"schema": {}},
            },
        },
        **_refuse(400, 401, 403, 404, 405, 413, 429, 500, 502, 503, 504, schema=OWN_OR_PROVIDERS),
        "default": {"description": "Whatever else the provider answers.", "content": {JSON: {"schema": {}}}},
    },
}
MODELS: Final[dict[str, Any]] = {
    "operationId": "listModels",
    "tags": [CHAT_TAG],
    "summary": "Models of all configured providers",
    "security": KEY_SECURITY,
    "responses": {
        "200": {
            "description": "Models, as `provider/model`.",
            "content": {
                JSON: {
                    "schema": record({"object": {"const": "list"}, "data": list_of(MODEL)}),
                    "example": EXAMPLES["listModels"],
                }
            },
        },
        **_refuse(400, 401, 403, 405, 429, 500, 503),
    },
}
MCP: Final[dict[str, Any]] = {
    "operationId": "callTool",
    "tags": [MCP_TAG],
    "summary": "Model Context Protocol, streamable HTTP",
    "description": "For the tools omniroute_memory_search, _add and _clear; no sessions.",
    "security": KEY_SECURITY,
    "requestBody": {"required": True, "content": {JSON: {"schema": RPC_REQUEST, "example": EXAMPLES["mcpBody"]}}},
    "responses": {
        "200": {"description": "The answer.", "content": {JSON: {"schema": RPC_ANSWER, "example": EXAMPLES["mcp"]}}},
        "202": {"description": "A notification was taken."},
        "400": {
            "description": "No JSON-RPC message, or a host that is not ours.",
            "content": {JSON: {"schema": {"anyOf": [RPC_ANSWER, refer("Error")]}}},
        },
        "404": {"description": "The method is not known.", "content": {JSON: {"schema": RPC_ANSWER}}},
        "406": {"description": "JSON must be accepted.", "content": {JSON: {"schema": {}}}},
        **_refuse(401, 403, 405, 413, 429, 500, 503),
    },
}
DOCS: Final[dict[str, Any]] = {
    "operationId": "showDocs",
    "tags": ["Schema"],
    "summary": "This document as a page",
    "security": SECURITY,
    "responses": {
        "200": {"description": "The page.", "content": {"text/html": {"schema": {"type": "string"}}}},
        "302": {"description": "A browser that is not signed in is sent to sign in."},
        **_refuse(400, 401, 403, 405, 429, 500, 503),
    },
}
PATHS: Final[dict[str, Any]] = {
    "/api/docs": {"get": DOCS},
    "/v1/chat/completions": {"post": CHAT},
    "/v1/models": {"get": MODELS},
    "/mcp": {"post": MCP},
}
