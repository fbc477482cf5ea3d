"""The tools in the words of the official SDK. To import it takes half a second, so that is done when it is needed."""

import json
from collections.abc import Callable
from typing import Any, Final

import structlog
from django.conf import settings
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as WireTool

from core.accounts.keys import Caller
from core.error_handler import ServerFailureError, build_error_body, translate_error
from core.errors import AppError, InvalidFieldsError, NotFoundError
from core.words import gettext as _
from core.worker_threads import WorkerThreads
from memory.mcp import tools

NAME: Final = "omniroute-memory"
INSTRUCTIONS: Final = (
    "Long-term memory of the user across conversations and tools. Search it when earlier facts, preferences or "
    "decisions may matter; add what the user would expect you to know next time; clear only on request."
)
# Searching and storing use the database, which the event loop must not wait for.
THREADS: Final = WorkerThreads("mcp", size=4)

Context = ServerRequestContext[Any, Any]
Identify = Callable[[Context], Caller]

log = structlog.get_logger(__name__)


def build_server(identify: Identify) -> Server[Any]:
    """Return a server of the tools. `identify` tells who calls; it is asked at every request, in a thread.

    It raises UnauthenticatedError when the key is not valid any more.
    """

    async def list_tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        caller = await THREADS.run(_identify, identify, context)
        return ListToolsResult(tools=[_describe(tool) for tool in tools.list_tools(caller)])

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult:
        # A client that hangs up must not leave it open whether something was stored.
        return await THREADS.run_surely(_call, identify, context, params.name, params.arguments or {})

    return Server(
        NAME,
        version=settings.VERSION,
        title="OmniRoute Memory",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema={tool.name: tool.input_schema for tool in tools.TOOLS}.get,
    )


def build_session_manager(identify: Identify) -> StreamableHTTPSessionManager:
    """Return what speaks streamable HTTP: no sessions, so that any process may answer any request."""
    return StreamableHTTPSessionManager(
        build_server(identify), stateless=True, json_response=True, max_request_body_size=settings.MAX_REQUEST_BYTES
    )


def _identify(identify: Identify, context: Context) -> Caller:
    try:
        return identify(context)
    except AppError as error:
        raise MCPError(INVALID_PARAMS, error.message) from None


def _call(identify: Identify, context: Context, name: str, arguments: dict[str, Any]) -> CallToolResult:
    try:
        answer = tools.call_tool(identify(context), name, arguments)
    except NotFoundError as error:
        raise MCPError(INVALID_PARAMS, error.message) from None
    except Exception as error:  # noqa: BLE001  # the door: whatever it is, the client is told in our words
        return _tell_error(name, error)
    return CallToolResult(content=[_write(answer)], structured_content=answer)


def _tell_error(name: str, error: Exception) -> CallToolResult:
    told = translate_error(error)
    if isinstance(told, ServerFailureError):
        log.error("mcp.tool.failed", tool=name, error=type(error).__name__, exc_info=error)
    elif isinstance(told, InvalidFieldsError):
        named = "; ".join(
            f"{detail.field}: {detail.message}" if detail.field else detail.message for detail in told.details
        )
        refusal = _("Invalid arguments for tool %(name)s: %(reasons)s") % {"name": name, "reasons": named}
        told = InvalidFieldsError(told.details, refusal)
    body = {"success": False, "error": build_error_body(told)["error"]}
    return CallToolResult(content=[_write(body)], is_error=True)


def _write(answer: dict[str, Any]) -> TextContent:
    return TextContent(text=json.dumps(answer, indent=2, ensure_ascii=False))


def _describe(tool: tools.Tool) -> WireTool:
    return WireTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.only_reads,
            destructive_hint=tool.destroys,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )
