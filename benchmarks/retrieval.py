"""How much of the labelled evidence each strategy finds, and how fast; in process, or over HTTP on a running server.

    python benchmarks/retrieval.py --data PATH --set locomo --set zh
    python benchmarks/retrieval.py --data PATH --source none --strategies adaptive
    BENCH_TOKEN=<management key> python benchmarks/retrieval.py --data PATH --http http://127.0.0.1:20128

In process a data folder is made and thrown away. Over HTTP the server's own settings hold, and the memories stay; its
vectors must have been written before the questions are asked, so it is asked for its backlog until that is empty.

PATH holds `memories/SET.jsonl` and `questions/SET.jsonl`, one object a line:

    {"corpus_id": "c1", "memory_id": "D1:3", "session_id": "s1", "timestamp": "2023-01-20T16:04:00+00:00",
     "speaker": "Gina", "text": "..."}
    {"corpus_id": "c1", "question": "...", "evidence_groups": [["D1:3"], ["D2:1", "D2:5"]]}

A corpus becomes an owner, a memory its content "speaker: text". One found memory of a group is enough for the group.
None of the sets is part of this project: LoCoMo (https://github.com/snap-research/locomo, CC BY-NC) gives turns
(`locomo`, from its `conversation`, evidence from `qa`) and facts (`locomo_facts`, from its `observation`); `zh` is
qmemory-bench's (Apache-2.0).

  R@k      share of a question's evidence groups among the first k
  MRR      1 / place of the first evidence; nDCG@10 counts a group at its first memory
  B2000    share of the groups inside what fits 2,000 tokens
"""

import argparse
import http.client
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = ("R@5", "R@10", "R@20", "MRR", "nDCG@10", "B2000")
STRATEGIES = "exact,semantic,hybrid,adaptive"
MAX_LIMIT, MAX_TOKENS, BUDGET_TOKENS = 100, 16000, 2000
INDEX_WAIT_SECONDS = 600


@dataclass(frozen=True)
class Dataset:
    name: str
    memories: list[dict[str, Any]]
    questions: list[dict[str, Any]]


class Server(Protocol):
    """Stores memories, then answers with their names in rank order."""

    def store(self, memory: dict[str, Any]) -> None: ...

    def finish_storing(self) -> str:
        """Wait for the vectors; return how the answers will be made."""

    def search(self, owner: str, question: str, strategy: str, tokens: int, limit: int) -> list[str]: ...


class InProcess:
    """The product's own retrieval call on a fresh database. Django must be set up."""

    def __init__(self) -> None:
        from memory import indexing, retrieval, services
        from memory.records import MemoryDraft, SearchQuery

        self._retrieve, self._create, self._indexing = retrieval.retrieve, services.create, indexing
        self._draft, self._query = MemoryDraft, SearchQuery

    def store(self, memory: dict[str, Any]) -> None:
        draft = to_draft(memory)
        self._create(
            self._draft(
                draft["apiKeyId"],
                draft["key"],
                draft["content"],
                draft["type"],
                draft["sessionId"],
                draft["metadata"],
            )
        )

    def finish_storing(self) -> str:
        while True:
            report = self._indexing.index_batch(1000)
            if not report.processed:
                return report.reason or "vectors are whole"

    def search(self, owner: str, question: str, strategy: str, tokens: int, limit: int) -> list[str]:
        query = self._query(owner, question, strategy, 365, limit=limit)
        return [name_of(item.hit.record.key) for item in self._retrieve(query, max_tokens=tokens).chosen]


class OverHTTP:
    """A running server's REST API, one client with keep-alive."""

    def __init__(self, url: str, token: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=300)
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        self._names: dict[str, str] = {}

    def store(self, memory: dict[str, Any]) -> None:
        stored = self._ask("POST", "/api/memory", to_draft(memory))
        self._names[stored["id"]] = memory["memory_id"]

    def finish_storing(self) -> str:
        started = time.monotonic()
        while time.monotonic() - started < INDEX_WAIT_SECONDS:
            pending = self._ask("GET", "/api/memory/engine-status").get("vectorStore", {}).get("needsReindex", 0)
            if not pending:
                return "vectors are whole"
            time.sleep(0.5)
        return "vectors are still being written"

    def search(self, owner: str, question: str, strategy: str, tokens: int, limit: int) -> list[str]:
        body = {"query": question, "apiKeyId": owner, "strategy": strategy, "maxTokens": tokens, "limit": limit}
        answer = self._ask("POST", "/api/memory/retrieve-preview", body)
        return [self._names.get(row["id"], "") for row in answer["memories"]]

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        self._connection.request(method, path, None if body is None else json.dumps(body), self._headers)
        answer = self._connection.getresponse()
        raw = answer.read()
        if answer.status >= 400:
            raise SystemExit(f"{method} {path} answered {answer.status}: {raw[:300]!r}")
        return json.loads(raw)


def to_draft(memory: dict[str, Any]) -> dict[str, Any]:
    speaker = memory.get("speaker") or ""
    return {
        "apiKeyId": memory["corpus_id"],
        "sessionId": memory["session_id"],
        "type": "episodic",
        "key": f"benchmark:{memory['memory_id']}",
        "content": f"{speaker}: {memory['text']}" if speaker else memory["text"],
        "metadata": {"timestamp": memory.get("timestamp"), "speaker": memory.get("speaker")},
    }


def name_of(key: str) -> str:
    return key.partition(":")[2]


def measure(groups: Sequence[Sequence[str]], ranking: Sequence[str], packed: Sequence[str]) -> dict[str, float]:
    """Judge one question: `ranking` by rank, `packed` what fitted the budget."""
    relevant = {name for group in groups for name in group}
    left, gain = [set(group) for group in groups], 0.0
    for place, name in enumerate(ranking[:10], 1):
        if any(name in group for group in left):
            gain += 1 / math.log2(place + 1)
            left = [group for group in left if name not in group]
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(10, len(groups)) + 1))
    return {
        "R@5": found_share(groups, ranking[:5]),
        "R@10": found_share(groups, ranking[:10]),
        "R@20": found_share(groups, ranking[:20]),
        "MRR": next((1 / place for place, name in enumerate(ranking, 1) if name in relevant), 0.0),
        "nDCG@10": gain / ideal,
        "B2000": found_share(groups, packed),
    }


def found_share(groups: Sequence[Sequence[str]], names: Sequence[str]) -> float:
    found = set(names)
    return sum(1 for group in groups if found & set(group)) / len(groups)


def run(server: Server, dataset: Dataset, strategy: str) -> dict[str, float]:
    """Ask every question three times: for the latency, for the ranking, and for what fits the budget."""
    rows, times = [], []
    for question in dataset.questions:
        owner, text = question["corpus_id"], question["question"]
        started = time.perf_counter()
        server.search(owner, text, strategy, BUDGET_TOKENS, 10)
        times.append((time.perf_counter() - started) * 1000)
        ranking = server.search(owner, text, strategy, MAX_TOKENS, 20)
        packed = server.search(owner, text, strategy, BUDGET_TOKENS, MAX_LIMIT)
        rows.append(measure(question["evidence_groups"], ranking, packed))
    times.sort()
    figures = {column: 100 * statistics.mean(row[column] for row in rows) for column in COLUMNS}
    return figures | {"p50 ms": statistics.median(times), "p95 ms": times[int(0.95 * len(times))]}


def load(folder: Path, name: str, questions: int) -> Dataset:
    memories, asked = (
        [json.loads(line) for line in (folder / kind / f"{name}.jsonl").read_text("utf-8").splitlines()]
        for kind in ("memories", "questions")
    )
    step = max(1.0, len(asked) / questions) if questions else 1.0
    # Sets may name the same corpora; each gets owners of its own.
    for row in (*memories, *asked):
        row["corpus_id"] = f"{name}/{row['corpus_id']}"
    return Dataset(name, memories, [asked[int(place * step)] for place in range(int(len(asked) / step))])


def report(server: Server, dataset: Dataset, strategies: Sequence[str], json_path: Path | None) -> None:
    started = time.perf_counter()
    for memory in dataset.memories:
        server.store(memory)
    rate = len(dataset.memories) / (time.perf_counter() - started)
    print(f"\n{dataset.name}: {len(dataset.memories)} memories stored at {rate:.0f}/s; {server.finish_storing()}")
    columns = (*COLUMNS, "p50 ms", "p95 ms")
    print(f"| {len(dataset.questions)} questions | " + " | ".join(columns) + " |\n" + "|---" * (len(columns) + 1) + "|")
    for strategy in strategies:
        figures = run(server, dataset, strategy)
        print(f"| {strategy} | " + " | ".join(f"{figures[column]:.1f}" for column in columns) + " |", flush=True)
        if json_path is not None:
            with json_path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"set": dataset.name, "strategy": strategy, **figures}) + "\n")


@contextmanager
def open_in_process(source: str) -> Iterator[InProcess]:
    """A fresh database in a folder that is thrown away, with one embedding source or none."""
    with tempfile.TemporaryDirectory(prefix="omniroute-benchmark-") as folder:
        kind, _, model = source.partition(":")
        os.environ.update({"DATA_DIR": folder, "LOG_LEVEL": "error", "EMBEDDED_WORKER": "false"})
        os.environ["MEMORY_STATIC_MODEL"] = (model if kind == "static" else "") or "bundled"
        os.environ["VECTOR_STORE_DISABLE_VEC"] = "true" if kind == "none" else "false"
        if kind == "transformers" and model:
            os.environ["MEMORY_TRANSFORMERS_MODEL"] = model
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "omniroute.settings")
        sys.path.insert(0, str(ROOT))
        import django

        django.setup()
        from django.core.management import call_command
        from django.db import connections

        from memory.config import MEMORY_SECTION

        call_command("migrate", verbosity=0)
        uses_transformers = kind == "transformers"
        MEMORY_SECTION.write(
            {
                "staticEnabled": not uses_transformers,
                "transformersEnabled": uses_transformers,
                "embeddingSource": "transformers" if uses_transformers else "static",
            }
        )
        yield InProcess()
        connections.close_all()


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--data", type=Path, required=True, help="folder with memories/ and questions/")
    args.add_argument("--set", action="append", dest="sets", help="may be given again; default: all of the folder")
    args.add_argument("--strategies", default=STRATEGIES)
    args.add_argument(
        "--source", default="bundled", help="bundled, none, static:FOLDER or transformers:FOLDER; in process only"
    )
    args.add_argument("--http", metavar="URL", help="a running server; BENCH_TOKEN is a management key of it")
    args.add_argument("--questions", type=int, default=0, help="ask only so many, evenly drawn; default: all")
    args.add_argument("--json", type=Path, help="append the figures to this file")
    options = args.parse_args()

    sets = options.sets or sorted(path.stem for path in (options.data / "memories").glob("*.jsonl"))
    datasets = [load(options.data, name, options.questions) for name in sets]
    if options.http:
        server: AbstractContextManager[Server] = nullcontext(OverHTTP(options.http, os.environ["BENCH_TOKEN"]))
    else:
        server = open_in_process(options.source)
    with server as opened:
        for dataset in datasets:
            report(opened, dataset, options.strategies.split(","), options.json)


if __name__ == "__main__":
    main()
