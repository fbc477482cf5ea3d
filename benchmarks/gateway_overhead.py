"""What the gateway adds to a chat: time to first byte and total, through the server against the upstream directly.

    python benchmarks/gateway_overhead.py --requests 200

Starts a stub upstream and the server, each in a process of its own, on a data folder that is thrown away. One key
for each number of memories; memory is on, injection and extraction too. Direct and proxied requests take turns in
one run, so that whatever else the machine does hits both alike. Between two requests there is a pause, in which the
background worker takes the facts out of the last chat; with `--pause-ms 0` that work competes with the next request,
as it does on a server that is never idle. Needs nothing but the project's own environment.
"""

import argparse
import http.client
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
MANAGEMENT_KEY = "benchmark-management-key"
WARM_UP_ROUNDS = 20
START_SECONDS = 60.0
# Runs inside `manage.py shell`: the product's own writer, many memories a transaction.
FILL = """
import json, random, sys
from django.db import transaction
from core.accounts.keys import create_api_key
from memory import services
from memory.records import MemoryDraft
random.seed(7)
verbs = "prefers uses likes avoids recommends deploys tests reviews".split()
things = "Postgres TypeScript Redis Python tabs coffee Vim Docker Kafka trains jazz cycling soup Rust".split()
places = "at work|at home|in the backend|for small projects|on Mondays|in the morning|for clients".split("|")
people = "Ana Ben Chidi Dara Eli Fatima Goran Hanna".split()
for count in {counts}:
    row, bare_key = create_api_key(f"benchmark-{{count}}")
    for start in range(0, count, 500):
        with transaction.atomic():
            for number in range(start, min(start + 500, count)):
                text = (f"{{random.choice(people)}} {{random.choice(verbs)}} {{random.choice(things)}} "
                        f"{{random.choice(places)}}, noted as item {{number}}")
                services.create(MemoryDraft(row.id, f"fact:{{number}}", text))
    print(json.dumps({{"count": count, "key": bare_key}}), flush=True)
"""
QUESTIONS = (
    "What does Ana prefer in the backend?",
    "Which database do we use for small projects?",
    "Is it coffee or soup on Mondays?",
    "Does Hanna deploy Kafka for clients?",
    "Summarise what the team likes at home.",
)


@dataclass
class Target:
    """One place to send chats to, on a connection that stays open."""

    label: str
    base_url: str
    key: str
    first_byte_ms: dict[bool, list[float]] = field(default_factory=lambda: defaultdict(list))
    total_ms: dict[bool, list[float]] = field(default_factory=lambda: defaultdict(list))
    injected: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        self.connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def chat(self, question: str, *, is_stream: bool) -> None:
        message = {"role": "user", "content": question}
        body = json.dumps({"model": "m", "stream": is_stream, "messages": [message]})
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        started = time.perf_counter()
        self.connection.request("POST", "/v1/chat/completions", body, headers)
        response = self.connection.getresponse()
        response.read(1)
        first_byte = time.perf_counter()
        response.read()
        ended = time.perf_counter()
        if response.status != 200:
            sys.exit(f"{self.label} answered {response.status}")
        self.first_byte_ms[is_stream].append((first_byte - started) * 1000)
        self.total_ms[is_stream].append((ended - started) * 1000)
        self.injected.append(int(response.headers.get("x-omniroute-memories-injected", 0)))

    def forget(self) -> None:
        self.first_byte_ms.clear()
        self.total_ms.clear()
        self.injected.clear()


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def run_stub() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.upstream_stub"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stub:
        assert stub.stdout is not None and stub.stdin is not None
        yield stub.stdout.readline().strip()
        stub.stdin.close()


def run_command(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"manage.py {arguments[0]} failed:\n{done.stderr}")
    return done.stdout


@contextmanager
def run_server(environment: dict[str, str]) -> Iterator[str]:
    port = int(environment["PORT"])
    log_path = Path(environment["DATA_DIR"]) / "server.log"
    with log_path.open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "manage.py", "serve"], cwd=ROOT, env=environment, stdout=log, stderr=log
        )
    try:
        wait_for_health(port, server, log_path)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)


def wait_for_health(port: int, server: "subprocess.Popen[bytes]", log_path: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            if call(port, "GET", "/healthz") == 200:
                return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"the server did not start:\n{log_path.read_text()}")


def call(port: int, method: str, path: str, body: str | None = None) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {MANAGEMENT_KEY}", "Content-Type": "application/json"}
    connection.request(method, path, body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


def fill(environment: dict[str, str], counts: list[int]) -> dict[int, str]:
    """Make one key for each count, with that many memories; return the bare keys."""
    printed = run_command(environment, "shell", "-v0", "-c", FILL.format(counts=counts))
    told = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    return {item["count"]: item["key"] for item in told}


def measure(targets: list[Target], rounds: int, pause_seconds: float) -> None:
    """Send to every target in turn, in another order each round, streamed and not."""
    order = random.Random(11)
    for number in range(WARM_UP_ROUNDS + rounds):
        if number == WARM_UP_ROUNDS:
            for target in targets:
                target.forget()
        for is_stream in (False, True):
            for target in order.sample(targets, len(targets)):
                time.sleep(pause_seconds)
                target.chat(QUESTIONS[number % len(QUESTIONS)], is_stream=is_stream)


def percentile_95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def summarise(direct: Target, target: Target, is_stream: bool) -> dict[str, object]:
    """Milliseconds; `added` is the difference of the medians (or 95th percentiles), `ratio` their quotient."""
    row: dict[str, object] = {
        "target": target.label,
        "stream": is_stream,
        "injected": statistics.mean(target.injected),
    }
    for name in ("first_byte_ms", "total_ms"):
        ours, theirs = getattr(target, name)[is_stream], getattr(direct, name)[is_stream]
        for word, pick in (("median", statistics.median), ("p95", percentile_95)):
            row[f"{name}_{word}"] = round(pick(ours), 2)
            row[f"{name}_{word}_added"] = round(pick(ours) - pick(theirs), 2)
            row[f"{name}_{word}_ratio"] = round(pick(ours) / pick(theirs), 1)
    return row


def print_table(direct: Target, rows: list[dict[str, object]]) -> None:
    print(f"{'':22}{'':8}{'first byte, ms':^38}{'total, ms':^38}")
    head = f"{'median':>9}{'added':>9}{'ratio':>7}{'p95 added':>12} "
    print(f"{'':22}{'':8}{head}{head}{'memories in prompt':>20}")
    for is_stream in (False, True):
        kind = "stream" if is_stream else "whole"
        medians = [statistics.median(values[is_stream]) for values in (direct.first_byte_ms, direct.total_ms)]
        print(f"{'direct':22}{kind:8}{medians[0]:9.2f}{'':28} {medians[1]:9.2f}")
        for row in (row for row in rows if row["stream"] is is_stream):
            cells = "".join(
                f"{row[name + '_median']:9.2f}{row[name + '_median_added']:9.2f}"
                f"{row[name + '_median_ratio']:7.1f}{row[name + '_p95_added']:12.2f} "
                for name in ("first_byte_ms", "total_ms")
            )
            print(f"{row['target']:22}{kind:8}{cells}{row['injected']:20.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=200, help="of each kind to each target (default 200)")
    parser.add_argument("--memories", default="0,1000,10000", help="memories in the keys (default 0,1000,10000)")
    parser.add_argument("--pause-ms", type=float, default=30.0, help="before every request (default 30)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    arguments = parser.parse_args()
    counts = [int(word) for word in arguments.memories.split(",")]
    with tempfile.TemporaryDirectory(prefix="omniroute-benchmark-") as data_dir, run_stub() as stub_url:
        environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
            "DATA_DIR": data_dir,
            "PORT": str(find_free_port()),
            "OMNIROUTE_API_KEY": MANAGEMENT_KEY,
            "LOG_LEVEL": "warning",
        }
        run_command(environment, "migrate", "-v0")
        run_command(environment, "add_provider", "stub", "--base-url", stub_url, "--default")
        keys = fill(environment, counts)
        with run_server(environment) as base_url:
            if call(int(environment["PORT"]), "PUT", "/api/settings/memory", '{"enabled": true}') != 200:
                sys.exit("memory could not be switched on")
            direct = Target("direct", stub_url, "none")
            proxied = [Target(f"{count} memories", base_url, keys[count]) for count in counts]
            measure([direct, *proxied], arguments.requests, arguments.pause_ms / 1000)
    rows = [summarise(direct, target, is_stream) for is_stream in (False, True) for target in proxied]
    if arguments.json:
        print(json.dumps({"requests": arguments.requests, "pause_ms": arguments.pause_ms, "rows": rows}, indent=1))
    else:
        print_table(direct, rows)


if __name__ == "__main__":
    main()
