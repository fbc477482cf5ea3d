"""Streams of a running server, read as a client reads them."""

import json
from typing import Any

import httpx

from tests.live_server import Key, LiveServer


def read_stream(server: LiveServer, key: Key, *messages: Any, **fields: Any) -> tuple[httpx.Response, bytes]:
    with server.stream(key, *messages, **fields) as response:
        return response, b"".join(response.iter_raw())


def read_events(data: bytes) -> list[Any]:
    """The JSON of every event but `[DONE]`; an event that a break has cut is left out."""
    events = []
    for line in data.split(b"\n"):
        if line.startswith(b"data: {"):
            try:
                events.append(json.loads(line[6:]))
            except ValueError:
                continue
    return events


def ends_as_broken(data: bytes) -> bool:
    """An error event at the end, and nothing that a client takes for a finished answer."""
    return "error" in read_events(data)[-1] and b"[DONE]" not in data and b'"finish_reason":"stop"' not in data
