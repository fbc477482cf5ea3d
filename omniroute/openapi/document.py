"""The whole document, put together once a process."""

from functools import cache
from typing import Any, Final

from drf_spectacular.generators import SchemaGenerator

from omniroute.openapi.components import COMPONENTS
from omniroute.openapi.plain_views import CHAT_TAG, MCP_TAG, PATHS

TAG_TEXTS: Final = {
    CHAT_TAG: "For chat clients: any key.",
    "Memories": "Read and write memories.",
    "Compaction": "Old memories become summaries, and back.",
    "Moving in and out": "Import, export, erase.",
    "Engine": "How memories are found.",
    "Settings": "What operators change while the server runs.",
    "Qdrant": "A vector store beside the database.",
    MCP_TAG: "For agents that speak the Model Context Protocol.",
    "Schema": "This document.",
}


@cache
def build_document() -> dict[str, Any]:
    """Return the OpenAPI document of every route under /api and /v1, and of /mcp."""
    document: dict[str, Any] = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    document["components"] = COMPONENTS
    document["paths"] = dict(sorted({**document["paths"], **PATHS}.items()))
    used = {tag for path in document["paths"].values() for told in path.values() for tag in told["tags"]}
    document["tags"] = [{"name": name, "description": text} for name, text in TAG_TEXTS.items() if name in used]
    return document
