"""The threads that do the gateway's database work."""

from typing import Final

from core.worker_threads import WorkerThreads

# Apart, because SQLite has one writer: a write that waits its turn must not hold up requests that only read.
READING: Final = WorkerThreads("gateway-read", size=4)
WRITING: Final = WorkerThreads("gateway-write", size=1)
