"""Fixtures of the command line's tests: a data folder that does not exist yet, servers that end with the test."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from processes import Server


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def start_server(data_dir: Path) -> Iterator[Callable[..., Server]]:
    started: list[Server] = []

    def start(**options: object) -> Server:
        server = Server(**{"data_dir": data_dir, **options})  # type: ignore[arg-type]
        started.append(server)
        return server

    yield start
    for server in started:
        if server.process.poll() is None:
            server.process.kill()
        server.end(signal.SIGKILL)
