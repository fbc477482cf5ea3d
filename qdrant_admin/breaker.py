"""A breaker for the reads of this process: a dead Qdrant costs one time-out, not one a request."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

FIRST_WAIT_SECONDS: Final = 5.0
MAX_WAIT_SECONDS: Final = 30.0


@dataclass
class _Circuit:
    reason: str
    wait_seconds: float
    asked_again_at: float


class Breaker:
    """By server and key. After a failure nobody asks for a while; then one caller tries, and the others wait on.

    Safe between threads; each process has its own.
    """

    def __init__(self, read_clock: Callable[[], float] = time.monotonic) -> None:
        self._read_clock = read_clock
        self._lock = threading.Lock()
        self._circuits: dict[tuple[str, str], _Circuit] = {}

    def find_reason(self, server: tuple[str, str]) -> str | None:
        """Why the server isn't asked now; changes nothing."""
        with self._lock:
            circuit = self._circuits.get(server)
            return circuit.reason if circuit is not None else None

    def admit(self, server: tuple[str, str]) -> str | None:
        """Return None to a caller who may ask, else the reason why the server isn't asked now."""
        with self._lock:
            circuit = self._circuits.get(server)
            if circuit is None:
                return None
            now = self._read_clock()
            if now < circuit.asked_again_at:
                return circuit.reason
            # This caller tries; whoever comes meanwhile is turned away.
            circuit.asked_again_at = now + circuit.wait_seconds
            return None

    def note_failure(self, server: tuple[str, str], reason: str) -> None:
        with self._lock:
            known = self._circuits.get(server)
            wait = FIRST_WAIT_SECONDS if known is None else min(known.wait_seconds * 2, MAX_WAIT_SECONDS)
            self._circuits[server] = _Circuit(reason, wait, self._read_clock() + wait)

    def note_success(self, server: tuple[str, str]) -> None:
        with self._lock:
            self._circuits.pop(server, None)

    def clear(self) -> None:
        with self._lock:
            self._circuits.clear()


BREAKER: Final = Breaker()
