"""Threads that do the database work of asynchronous doors, each with a connection that it keeps.

Django's own way from async code makes a thread and a database connection for every request, which costs more than
all of our work for it.
"""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from django.db import connection

Params = ParamSpec("Params")
Result = TypeVar("Result")


class WorkerThreads:
    """A pool for functions that use the database."""

    def __init__(self, name: str, *, size: int) -> None:
        self._executor = ThreadPoolExecutor(max_workers=size, thread_name_prefix=name)

    async def run(self, function: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs) -> Result:
        """Return what the function returns. It is not begun any more when the caller has left before."""
        return await asyncio.wrap_future(self._submit(function, *args, **kwargs))

    async def run_surely(
        self, function: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
    ) -> Result:
        """The same, but the function runs even if the waiting task is cancelled meanwhile."""
        return await asyncio.shield(asyncio.wrap_future(self._submit(function, *args, **kwargs)))

    def _submit(
        self, function: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
    ) -> Future[Result]:
        context = contextvars.copy_context()  # carries the request's id to the logs
        return self._executor.submit(context.run, _call_with_connection, partial(function, *args, **kwargs))


def _call_with_connection(function: Callable[[], Result]) -> Result:
    # Kept as long as it works; CONN_MAX_AGE would end it after every request.
    connection.close_at = None
    connection.close_if_unusable_or_obsolete()
    return function()
