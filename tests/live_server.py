"""A really running server: `manage.py serve` in a process of its own, with its own data folder and a free port.

`live_server_process` is one server and one recording upstream for the whole session; tests stay apart by using a
fresh key each. `launch_server` starts further ones, for tests that need another environment or kill the process.
"""

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.db.sqlite.driver import DRIVER
from tests.upstream_stub import UpstreamStub

ROOT = Path(__file__).resolve().parent.parent
PROVIDER = "stub"
START_SECONDS = 60.0
STOP_SECONDS = 20.0
WAIT_SECONDS = 15.0
KEYS_AT_ONCE = 120
MAKE_KEYS = """
import json
from core.accounts.keys import create_api_key
for number in range({count}):
    row, bare_key = create_api_key(f"test-{{number}}")
    print(json.dumps({{"id": row.id, "key": bare_key}}))
"""


@dataclass(frozen=True)
class Key:
    """A chat key: `id` owns memories, `bare` goes into the Authorization header."""

    id: str
    bare: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.bare}"}


class LiveServer:
    """One data folder and, between `start` and `stop`, the server on it. It can be started again after a kill."""

    def __init__(self, data_dir: Path, environment: Mapping[str, str] | None = None, keys: Sequence[Key] = ()) -> None:
        self.data_dir = data_dir
        self.management_key = f"manage-{secrets.token_hex(16)}"
        self.port = find_free_port()
        self.base_url = f"http://127.0.0.1:{self.port}"
        self.log_path = data_dir / "server.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._keys = list(keys)
        inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
        self.environment = {
            **inherited,
            "DATA_DIR": str(data_dir),
            "PORT": str(self.port),
            "OMNIROUTE_API_KEY": self.management_key,
            "LOG_FORMAT": "json",
            "PYTHONWARNINGS": "default",
            **(environment or {}),
        }
        self.client = httpx.Client(base_url=self.base_url, timeout=30, trust_env=False)

    # --- the process ---
    def start(self) -> "LiveServer":
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve"],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, f"the server did not start:\n{self.log_text}"
            with contextlib.suppress(httpx.TransportError):
                if self.client.get("/healthz").status_code == 200:
                    return self
            time.sleep(0.05)
        raise AssertionError(f"the server is not healthy after {START_SECONDS} s:\n{self.log_text}")

    def stop(self) -> None:
        """End it as Ctrl-C does; it must end cleanly."""
        if self.process is None:
            return
        process, self.process = self.process, None
        process.send_signal(signal.SIGINT)
        try:
            code = process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"the server did not stop:\n{self.log_text}") from None
        assert code == 0, f"the server ended with {code}:\n{self.log_text}"

    def kill(self) -> None:
        """End it as a power cut does."""
        assert self.process is not None
        process, self.process = self.process, None
        process.kill()
        process.wait()

    def close(self) -> None:
        self.client.close()
        self.stop()

    @property
    def log_text(self) -> str:
        return self.log_path.read_text(errors="replace")

    @property
    def thread_count(self) -> int:
        assert self.process is not None
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))

    # --- commands ---
    def run_command(self, *arguments: str) -> str:
        """Run `manage.py` on the same data folder and return what it printed."""
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{arguments} ended with {done.returncode}:\n{done.stderr}"
        return done.stdout

    def create_key(self, name: str = "test", *options: str) -> Key:
        """Make a key the way an operator does."""
        told = json.loads(self.run_command("create_api_key", name, "--json", *options))
        return Key(told["id"], told["key"])

    def take_key(self) -> Key:
        """Return a key that nobody has used yet; made by the hundred, since every command costs a second."""
        self._keys = self._keys or self.make_keys()
        return self._keys.pop()

    def make_keys(self) -> list[Key]:
        printed = self.run_command("shell", "--verbosity", "0", "-c", MAKE_KEYS.format(count=KEYS_AT_ONCE))
        lines = [line for line in printed.splitlines() if line.startswith("{")]
        return [Key(told["id"], told["key"]) for told in map(json.loads, lines)]

    def add_provider(self, name: str, base_url: str, *options: str) -> None:
        self.run_command("add_provider", name, "--base-url", base_url, *options)

    # --- REST, as the operator ---
    def manage(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.management_key}"}
        return self.client.request(method, path, headers=headers, **arguments)

    def change_settings(self, **changes: Any) -> None:
        response = self.manage("PUT", "/api/settings/memory", json=changes)
        assert response.status_code == 200, response.text

    def remember(self, key: Key, content: str, **fields: Any) -> dict[str, Any]:
        body = {"apiKeyId": key.id, "key": secrets.token_hex(4), "content": content, **fields}
        response = self.manage("POST", "/api/memory", json=body)
        assert response.status_code == 200, response.text
        return dict(response.json()["memory"])

    def list_memories(self, key: Key) -> list[dict[str, Any]]:
        response = self.manage("GET", "/api/memory", params={"apiKeyId": key.id, "limit": 200})
        assert response.status_code == 200, response.text
        return list(response.json()["data"])

    def list_contents(self, key: Key) -> list[str]:
        """What is remembered for the key, once all background work is done."""
        self.wait_for_jobs()
        return [memory["content"] for memory in self.list_memories(key)]

    def wait_for_jobs(self) -> None:
        wait_until(lambda: self.count_open_jobs() == 0, "jobs are still open")

    def wait_until_idle(self) -> None:
        """Wait until no job runs or could; one that was put off, for a text that has no vector, may wait on."""
        due = "(state = 'running' OR state = 'queued' AND run_at <= strftime('%Y-%m-%d %H:%M:%f', 'now'))"
        wait_until(lambda: self.count_open_jobs(condition=due) == 0, "jobs still run")

    def count_open_jobs(self, name: str = "%", condition: str = "state IN ('queued', 'running')") -> int:
        connection = DRIVER.dbapi.connect(str(self.data_dir / "storage.sqlite"), timeout=10)
        try:
            query = f"SELECT count(*) FROM jobs WHERE {condition} AND name LIKE ?"
            return int(connection.execute(query, (name,)).fetchone()[0])
        finally:
            connection.close()

    # --- chat ---
    def chat(
        self, key: Key | None, *messages: dict[str, Any] | str, headers: Any = None, **fields: Any
    ) -> httpx.Response:
        """Post a chat; a plain string is a user message. Streams are read to their end."""
        return self.client.post("/v1/chat/completions", **build_chat(key, *messages, headers=headers, **fields))

    def stream(self, key: Key | None, *messages: dict[str, Any] | str, headers: Any = None, **fields: Any) -> Any:
        """The same with stream:true, as a context manager that gives the response before its body is read."""
        chat = build_chat(key, *messages, headers=headers, stream=True, **fields)
        return self.client.stream("POST", "/v1/chat/completions", **chat)


def build_chat(key: Key | None, *messages: dict[str, Any] | str, headers: Any = None, **fields: Any) -> dict[str, Any]:
    """Arguments for an httpx call that posts a chat."""
    spoken = [{"role": "user", "content": item} if isinstance(item, str) else item for item in messages]
    pairs = list((headers or {}).items() if isinstance(headers, dict) else headers or [])
    if key is not None:
        pairs += key.headers.items()
    return {"json": {"model": f"{PROVIDER}/m", "messages": spoken, **fields}, "headers": pairs}


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(is_true: Callable[[], bool], complaint: str, timeout_seconds: float = WAIT_SECONDS) -> None:
    deadline = time.monotonic() + timeout_seconds
    while not is_true():
        assert time.monotonic() < deadline, f"{complaint} after {timeout_seconds} s"
        time.sleep(0.02)


@dataclass(frozen=True)
class Preparation:
    """A data folder ready to be copied: migrated, with the stub as default provider and unused keys."""

    data_dir: Path
    keys: list[Key]

    def start(self, data_dir: Path, **environment: str) -> LiveServer:
        """Start a server on a copy. A copy takes no time, the three commands behind it seconds."""
        shutil.copytree(self.data_dir, data_dir, dirs_exist_ok=True)
        return LiveServer(data_dir, environment, self.keys).start()


@pytest.fixture(scope="session")
def session_upstream() -> Iterator[UpstreamStub]:
    with UpstreamStub() as stub:
        yield stub


@pytest.fixture(scope="session")
def preparation(session_upstream: UpstreamStub, tmp_path_factory: pytest.TempPathFactory) -> Preparation:
    server = LiveServer(tmp_path_factory.mktemp("prepared"))
    server.run_command("migrate", "--verbosity", "0")
    server.add_provider(PROVIDER, session_upstream.base_url, "--default")
    return Preparation(server.data_dir, server.make_keys())


@pytest.fixture(scope="session")
def session_server(preparation: Preparation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    server = preparation.start(tmp_path_factory.mktemp("live"))
    yield server
    server.close()


@pytest.fixture
def upstream(session_upstream: UpstreamStub) -> UpstreamStub:
    """The recording upstream of `live_server_process`, with nothing recorded and its plain answer."""
    session_upstream.reset()
    return session_upstream


@pytest.fixture
def live_server_process(session_server: LiveServer, upstream: UpstreamStub) -> LiveServer:
    """The session's server with memory on and every other memory setting at its default."""
    session_server.change_settings(
        enabled=True, maxTokens=2000, strategy="hybrid", extractionEnabled=True, injectionEnabled=True
    )
    return session_server


@pytest.fixture
def launch_server(
    preparation: Preparation, tmp_path: Path, upstream: UpstreamStub
) -> Iterator[Callable[..., LiveServer]]:
    """Start a server of one's own: `launch_server(REQUIRE_API_KEY="false")`. It is stopped with the test."""
    servers: list[LiveServer] = []

    def launch(**environment: str) -> LiveServer:
        servers.append(preparation.start(tmp_path / f"data-{len(servers)}", **environment))
        return servers[-1]

    yield launch
    for server in servers:
        server.close()
