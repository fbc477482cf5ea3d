"""Files to take away, sent piece by piece as they are made."""

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse


def stream_download(
    request: HttpRequest, pieces: Iterator[bytes], filename: str, content_type: str
) -> StreamingHttpResponse:
    """Return the pieces as a file. Under ASGI a plain iterator would be read to its end before a byte leaves."""
    body = _iterate_async(pieces) if isinstance(request, ASGIRequest) else pieces
    response = StreamingHttpResponse(body, content_type=content_type)
    response.headers["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response


async def _iterate_async(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await sync_to_async(_take, thread_sensitive=True)(pieces)) is not None:
        yield piece


def _take(pieces: Iterator[bytes]) -> bytes | None:
    return next(pieces, None)
