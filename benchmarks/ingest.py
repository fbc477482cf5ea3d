"""Chat turns a second from the request through extraction to a memory that a search by meaning finds.

    python benchmarks/ingest.py --turns 400
    python benchmarks/ingest.py --turns 400 --redis --workers 2

Starts a stub upstream, a server and, with --redis, a redis-server, Celery workers and a beat, each in a process of
its own, on a data folder that is thrown away. Every turn tells one fact of its own; a turn counts when its memory is
stored and its vector (the bundled model's) is in the index. Two rates are told: how fast chats are answered while
all that goes on, and how fast turns become searchable from the first chat to the last vector.
"""

import argparse
import http.client
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MANAGEMENT_KEY = "benchmark-management-key"
START_SECONDS = 60.0
COUNT = (
    "SELECT (SELECT count(*) FROM memories), (SELECT count(*) FROM memories WHERE needs_reindex), "
    "(SELECT count(*) FROM jobs WHERE state != 'done')"
)


@dataclass(frozen=True)
class Setup:
    """Where the server listens and what a client needs."""

    port: int
    key: str
    data_dir: Path


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def run_process(*words: str, environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as file:
        process = subprocess.Popen(words, cwd=ROOT, env=environment, stdout=file, stderr=file)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def run_upstream() -> Iterator[str]:
    words = [sys.executable, "-m", "tests.upstream_stub", "--words", "12"]
    process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdin is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(10)


def run_manage(environment: dict[str, str], *words: str) -> str:
    command = [sys.executable, "manage.py", *words]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def wait_for(port: int, path: str | None = None) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            if path is None:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise SystemExit(f"nothing answers on port {port}")


@contextmanager
def start_everything(arguments: argparse.Namespace) -> Iterator[Setup]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="omniroute-ingest-")))
        port, upstream = find_free_port(), stack.enter_context(run_upstream())
        environment = {
            "PATH": os.environ["PATH"],
            "DATA_DIR": str(folder),
            "PORT": str(port),
            "OMNIROUTE_API_KEY": MANAGEMENT_KEY,
            "MEMORY_STATIC_MODEL": "bundled",
            "LOG_LEVEL": "warning",
        }
        run_manage(environment, "migrate", "-v0")
        run_manage(environment, "add_provider", "stub", "--base-url", upstream, "--default")
        settings = ("enabled=true", "embeddingSource=static", "staticEnabled=true")
        run_manage(environment, "memory_settings", *settings, f"injectionEnabled={json.dumps(arguments.inject)}")
        key = json.loads(run_manage(environment, "create_api_key", "benchmark", "--json"))["key"]
        if arguments.redis:
            environment["REDIS_URL"] = stack.enter_context(run_redis(folder))
            for number in range(arguments.workers):
                words = (sys.executable, "manage.py", "worker", "--concurrency=1")
                stack.enter_context(run_process(*words, environment=environment, log=folder / f"worker{number}.log"))
            words = (sys.executable, "manage.py", "beat")
            stack.enter_context(run_process(*words, environment=environment, log=folder / "beat.log"))
        words = (sys.executable, "manage.py", "serve")
        stack.enter_context(run_process(*words, environment=environment, log=folder / "server.log"))
        wait_for(port, "/healthz")
        if arguments.redis:
            time.sleep(8)  # workers take longer to start than the server
        yield Setup(port, key, folder)


@contextmanager
def run_redis(folder: Path) -> Iterator[str]:
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        raise SystemExit("--redis needs redis-server on the PATH")
    port = find_free_port()
    words = (program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
    with run_process(*words, environment={"PATH": os.environ["PATH"]}, log=folder / "redis.log"):
        wait_for(port)
        yield f"redis://127.0.0.1:{port}/0"


def talk(setup: Setup, numbers: Iterator[int], turns: int, failures: list[int]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", setup.port, timeout=60)
    headers = {"Authorization": f"Bearer {setup.key}", "Content-Type": "application/json"}
    while (number := next(numbers)) < turns:
        message = {"role": "user", "content": f"I like gadget number {number:06}. What do you think of it?"}
        connection.request(
            "POST", "/v1/chat/completions", json.dumps({"model": "stub/m", "messages": [message]}), headers
        )
        response = connection.getresponse()
        response.read()
        if response.status != 200:
            failures.append(response.status)


def count(setup: Setup) -> tuple[int, int, int]:
    """Memories, those without a vector, and jobs that are not done."""
    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "omniroute.settings")
    os.environ["DATA_DIR"] = str(setup.data_dir)
    from core.db.sqlite.driver import DRIVER

    connection = DRIVER.dbapi.connect(str(setup.data_dir / "storage.sqlite"), timeout=20)
    try:
        memories, pending, jobs = connection.execute(COUNT).fetchone()
        return memories, pending, jobs
    finally:
        connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--redis", action="store_true", help="with a Redis, Celery workers and a beat")
    parser.add_argument("--workers", type=int, default=1, help="Celery workers, one process each")
    parser.add_argument("--inject", action="store_true", help="put memories into the chats as well")
    arguments = parser.parse_args()
    with start_everything(arguments) as setup:
        numbers, failures = itertools.count(), list[int]()
        clients = [
            threading.Thread(target=talk, args=(setup, numbers, arguments.turns, failures))
            for _ in range(arguments.clients)
        ]
        started = time.monotonic()
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        answered = time.monotonic() - started
        while (state := count(setup)) != (arguments.turns, 0, 0):
            if time.monotonic() - started > 600:
                raise SystemExit(f"not done after 10 minutes: {state}")
            time.sleep(0.05)
        searchable = time.monotonic() - started
    kind = f"Redis, {arguments.workers} worker(s)" if arguments.redis else "embedded"
    print(f"{kind}: {arguments.turns} turns, {arguments.clients} clients, {len(failures)} refused")
    print(f"  answered    {arguments.turns / answered:7.1f} turns/s")
    print(f"  searchable  {arguments.turns / searchable:7.1f} turns/s ({searchable - answered:.1f} s after the last)")


if __name__ == "__main__":
    main()
