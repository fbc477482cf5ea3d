"""The command line as a user meets it: real processes, a clean environment, a data folder of their own."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60
KEY = re.compile(r"omr_[\w-]{43}")


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run_manage(data_dir: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with nothing in its environment but what is given."""
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(data_dir), **environment},
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
    )


@dataclass
class Server:
    """`manage.py serve` in a process of its own."""

    data_dir: Path
    port: int = field(default_factory=find_free_port)
    environment: dict[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = (sys.executable, "manage.py", "serve")
    host_in_url: str = "127.0.0.1"

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(
            self.command,
            cwd=ROOT,
            env={
                "PATH": os.environ["PATH"],
                "DATA_DIR": str(self.data_dir),
                "PORT": str(self.port),
                **self.environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._parts: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._readers = [threading.Thread(target=self._read, args=(name,), daemon=True) for name in self._parts]
        for reader in self._readers:
            reader.start()

    def _read(self, name: str) -> None:
        for line in getattr(self.process, name):
            self._parts[name].append(line)

    @property
    def url(self) -> str:
        return f"http://{self.host_in_url}:{self.port}"

    @property
    def stdout(self) -> str:
        return "".join(self._parts["stdout"])

    @property
    def stderr(self) -> str:
        return "".join(self._parts["stderr"])

    def wait_until_ready(self) -> "Server":
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/healthz", timeout=5):
                    return self
            except urllib.error.HTTPError as error:
                pytest.fail(f"not ready: {error.code} {error.read()!r} {self.stderr}")
            except OSError:
                time.sleep(0.05)
        pytest.fail(f"the server did not start: {self.stderr}")

    def end(self, number: int = signal.SIGINT) -> int:
        """Send the signal, wait for the end and return the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self.process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            pytest.fail("the server did not end")
        for reader in self._readers:
            reader.join(5)
        return self.process.returncode
