"""A Redis, Celery workers and servers as processes of their own, on a data folder that the test can look into."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from job_processes import Command, RedisServer

from tests.live_server import LiveServer, launch_server, preparation, session_upstream, upstream

__all__ = ["launch_server", "preparation", "session_upstream", "upstream"]


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def run_beside() -> Iterator[Callable[..., Command]]:
    """Start `manage.py worker` or `beat` beside a server: `run_beside(server, "worker", "--concurrency=2")`."""
    started: list[Command] = []

    def run(server: LiveServer, *words: str, **environment: Any) -> Command:
        started.append(Command(server, words, environment))
        return started[-1].start()

    yield run
    for command in started:
        command.kill()
