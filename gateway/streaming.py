"""Hand an upstream's stream to the client as it comes, and let go of the upstream the moment the client leaves."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Final

import structlog
from django.http import StreamingHttpResponse

from core.errors import UpstreamError
from core.outbound import read_limited
from core.providers.client import UpstreamReply
from gateway.calls import OpenCall
from gateway.threads import WRITING
from gateway.transcript import DONE, StreamReader

log = structlog.get_logger(__name__)

MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024

# Takes the assistant's text; "" stands for an answer that did not come to its end.
Learn = Callable[[str], None]


class RelayedStream(AsyncIterator[bytes]):
    """The upstream's chunks, byte for byte. A class and not a generator: it can be closed before it was started.

    `learn` is called once, in a thread, before the client can know that the answer is complete. An answer that
    broke off, or that the client did not wait for, teaches nothing itself (half a sentence may say the opposite of
    the whole); what the user had said still does. `call` is ended with the stream.
    """

    def __init__(self, reply: UpstreamReply, learn: Learn | None, call: OpenCall | None = None) -> None:
        self._reply = reply
        self._learn = learn
        self._call = call
        self._reads_text = learn is not None or (call is not None and call.keeps_text)
        self._reader = StreamReader(reply.content_encoding)
        self._is_encoded = reply.content_encoding not in ("", "identity")
        self._is_over = False
        self._loop = asyncio.get_running_loop()

    def __aiter__(self) -> "RelayedStream":
        return self

    async def __anext__(self) -> bytes:
        if self._is_over:
            raise StopAsyncIteration
        try:
            chunk = await anext(self._reply.chunks)
        except StopAsyncIteration:
            self._reader.close()
            await self._finish(is_whole=True)
            await self.aclose()
            raise
        except UpstreamError as error:
            self._end_call(is_whole=False, error=error)
            await self.aclose()
            log.warning("gateway.stream.broken", code=error.code)
            if self._is_encoded:  # nobody could read plain text behind compressed; it ends abnormally as it is
                raise StopAsyncIteration from None
            return write_error_event(error)
        if self._call is not None:
            self._call.mark_first_byte()
        if self._reads_text:
            self._reader.feed(chunk)
        if self._reader.has_ended or DONE in chunk:
            await self._finish(is_whole=True)
        return chunk

    async def aclose(self) -> None:
        """Let go of the upstream, wherever the stream stands."""
        self._is_over = True
        try:
            await self._reply.aclose()
        finally:
            await self._finish(is_whole=False)

    def close(self) -> None:
        """Called by Django from a thread when the response is through; only of use if it was never begun."""
        if not self._is_over:
            asyncio.run_coroutine_threadsafe(self.aclose(), self._loop)

    def _end_call(self, *, is_whole: bool, error: UpstreamError | None = None) -> None:
        call, self._call = self._call, None
        if call is None:
            return
        status = self._reply.status
        call.keep_answer_text(self._reader.text)
        if error is not None or (is_whole and self._reader.has_failed):
            call.break_off(status, error)
        elif is_whole:
            call.answer(status, self._reply.headers.get("retry-after", ""))
        else:
            call.leave(status)

    async def _finish(self, *, is_whole: bool) -> None:
        self._end_call(is_whole=is_whole)
        self._reads_text = False
        learn, self._learn = self._learn, None
        if learn is not None:
            text = self._reader.text if is_whole and not self._reader.has_failed else ""
            await WRITING.run_surely(learn, text)


class StreamedAnswer(StreamingHttpResponse):
    """Iterated directly: Django's wrappers would leave closing the source to the garbage collector."""

    def __init__(self, stream: RelayedStream, status: int) -> None:
        super().__init__(stream, status=status)
        self._stream = stream

    def __aiter__(self) -> RelayedStream:
        return self._stream


async def read_answer(reply: UpstreamReply) -> bytes:
    """Return a whole answer as it came over the wire. Raises UpstreamError when it breaks off or is too large."""
    try:
        return await read_limited(reply.chunks, MAX_ANSWER_BYTES)
    finally:
        await reply.aclose()


def write_error_event(error: UpstreamError) -> bytes:
    """Return the event that ends a broken stream. The blank line closes what the break may have left open."""
    told = {"error": {"message": error.message, "type": error.type, "code": error.code}}
    return b"\n\ndata: " + json.dumps(told).encode("ascii") + b"\n\n"
