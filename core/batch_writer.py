"""A thread that writes beside the requests what they have noted, so that none of them waits for the database."""

import threading
from typing import Final

from django.db import connections


class BatchWriter:
    """Subclasses note into memory, call `wake`, and write in `flush`.

    Without the thread (a command, a test) notes stay in memory until somebody calls `flush`.
    """

    def __init__(self, name: str, *, collect_seconds: float, retry_seconds: float) -> None:
        """After a note, `collect_seconds` go by before it is written with what has come since; after a `flush` that
        the database would not have, `retry_seconds`."""
        self._name: Final = name
        self._collect_seconds: Final = collect_seconds
        self._retry_seconds: Final = retry_seconds
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def flush(self) -> bool:
        """Write what was noted; False when the database would not have it now. What was not written is kept."""
        raise NotImplementedError

    def wake(self) -> None:
        """Have the thread write soon."""
        self._wake.set()

    def start(self) -> None:
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def stop(self, timeout_seconds: float) -> None:
        """Write what is left and end the thread."""
        if self._thread is None:
            return
        self._stopping.set()
        self._wake.set()
        self._thread.join(timeout_seconds)
        self._thread = None

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait()
            self._stopping.wait(self._collect_seconds)
            self._wake.clear()
            is_written = self.flush()
            # An idle thread keeps no connection: an open one would hold back the clean-up of the write-ahead log.
            connections.close_all()
            if not is_written:
                self._stopping.wait(self._retry_seconds)
                self._wake.set()
        self.flush()
        connections.close_all()
