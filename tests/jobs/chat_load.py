"""Clients that keep talking to a server whatever happens to it, and remember what they were given an answer to."""

import itertools
import threading
import time
from collections.abc import Sequence

import httpx

from tests.live_server import Key, LiveServer, build_chat


class ChatLoad:
    """Each message tells one fact of its own; `answered` are the facts whose chat was answered in full."""

    def __init__(
        self, servers: Sequence[LiveServer], key: Key, client_count: int = 4, pause_seconds: float = 0.0
    ) -> None:
        self.answered: list[str] = []
        self.refusals: list[str] = []
        self._key = key
        self._pause_seconds = pause_seconds
        self._numbers = itertools.count()
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._talk, args=(servers[number % len(servers)],), daemon=True)
            for number in range(client_count)
        ]

    def __enter__(self) -> "ChatLoad":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(30)

    def _talk(self, server: LiveServer) -> None:
        with httpx.Client(base_url=server.base_url, timeout=30, trust_env=False) as client:
            while not self._over.is_set():
                number = next(self._numbers)
                fact = f"gadget number {number:05}"
                chat = build_chat(self._key, f"I like {fact}", stream=number % 2 == 1)
                try:
                    response = client.post("/v1/chat/completions", **chat)
                except httpx.TransportError:
                    time.sleep(0.05)  # the server is down: its clients try again with something else to say
                    continue
                if response.status_code == 200:
                    self.answered.append(fact)
                else:
                    self.refusals.append(response.text)
                time.sleep(self._pause_seconds)
