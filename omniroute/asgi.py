"""The ASGI application: static files beside Django, a limit on request bodies, the server's start and end."""

import os
from importlib import import_module
from typing import cast

from django.core.asgi import get_asgi_application
from starlette.types import ASGIApp, Receive, Scope, Send

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "omniroute.settings")
# The stubs want plain dicts where the protocol says mappings.
django_application = cast(ASGIApp, get_asgi_application())

# Models can only be imported once Django is set up, which the line above does.
from django.conf import settings  # noqa: E402

from core.middleware import CHAT_PREFIX  # noqa: E402
from gateway.handler import ChatHandler  # noqa: E402
from memory.mcp.http import McpDoor  # noqa: E402
from omniroute.body_limit import BodyLimit  # noqa: E402
from omniroute.lifespan import run_lifespan  # noqa: E402
from omniroute.static_files import build_static_application  # noqa: E402

# Every door is imported now: a broken one stops the start, and the first request need not wait for it.
import_module(settings.ROOT_URLCONF)
static_application: ASGIApp = build_static_application()
chat_application: ASGIApp = ChatHandler()
mcp_door = McpDoor()


async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
    """Hand each connection to the application that serves its path."""
    if scope["type"] == "lifespan":
        await run_lifespan(receive, send, mcp_door.stop)
    elif scope["type"] == "websocket":
        await send({"type": "websocket.close"})
    elif scope["path"].startswith(CHAT_PREFIX):
        await chat_application(scope, receive, send)
    elif mcp_door.serves(scope["path"]):
        await mcp_door(scope, receive, send)
    elif scope["path"].startswith(settings.STATIC_URL):
        await static_application(scope, receive, send)
    else:
        await django_application(scope, receive, send)


application = BodyLimit(dispatch, settings.MAX_REQUEST_BYTES)
