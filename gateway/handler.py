"""Django's request handler without the threads that chat has no use for.

Django starts a thread for each request, for code that must see one thread throughout, and hops into it around the
view to close database connections. Chat's database work has threads of its own (`gateway.threads`), so both are left
out here; middleware, URLs and views are Django's as everywhere.
"""

import asyncio
from typing import Any, cast

from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest, HttpResponseBase


class ChatHandler(ASGIHandler):
    """An ASGI application for `/v1/`."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        with body:
            request, refusal = self.create_request(scope, body)
            if request is None:
                await self.send_response(cast(HttpResponseBase, refusal), send)
                return
            await self._answer_unless_left(request, receive, send)

    async def _answer_unless_left(self, request: HttpRequest, receive: Any, send: Any) -> None:
        """Whichever comes first, the end of the answer or the client's leaving, ends the other."""
        answering = asyncio.create_task(self._answer(request, send))
        leaving = asyncio.create_task(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            answering.cancel()
            results = await asyncio.gather(leaving, answering, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception) and not isinstance(result, RequestAborted):
                raise result

    async def _answer(self, request: HttpRequest, send: Any) -> None:
        response = await self.run_get_response(request)
        try:
            await self.send_response(response, send)
        finally:
            response.close()
