"""An upstream's answer while it is still coming in."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class UpstreamReply:
    """The head of an answer, and the way to its body.

    `headers` are those that may be relayed, names in lower case. `chunks` yields the raw bytes as they were sent,
    still compressed if `content_encoding` is not "", and raises `UpstreamError` when the answer breaks off.
    Whoever takes the reply closes it, read to the end or not: closing an unfinished one ends the connection.
    """

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]
    content_encoding: str
    close: Callable[[], Awaitable[None]]

    async def aclose(self) -> None:
        await self.close()
