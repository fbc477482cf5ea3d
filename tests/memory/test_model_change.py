"""The embedding model is changed on a running server while it is written to and searched: nothing is lost meanwhile."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.embeddings.stub_api import Asked, Reply, StubApi, answer_normally
from tests.live_server import Key, LiveServer, wait_until

Launch = Callable[..., LiveServer]


def status(server: LiveServer) -> dict[str, Any]:
    return dict(server.manage("GET", "/api/memory/engine-status").json())


def is_whole(server: LiveServer, source: str) -> bool:
    told = status(server)
    active = told["vectorStore"]["active"]
    return bool(active and active["signature"].startswith(source) and told["vectorStore"]["needsReindex"] == 0)


class Load:
    """Writers and searchers that go on until told to stop, and remember everything that was not as it should be."""

    def __init__(self, server: LiveServer, key: Key) -> None:
        self.server, self.key = server, key
        self.written: list[str] = []
        self.faults: list[str] = []
        self.stores: list[str] = []
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=work) for work in (self._write, self._write, self._search)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def _write(self) -> None:
        while not self._ends.wait(0.02):
            self.written.append(self.server.remember(self.key, f"cats number {len(self.written)}")["id"])

    def _search(self) -> None:
        body = {"query": "cats", "strategy": "semantic", "apiKeyId": self.key.id}
        while not self._ends.wait(0.02):
            answer = self.server.manage("POST", "/api/memory/retrieve-preview", json=body)
            if answer.status_code != 200 or not answer.json()["memories"]:
                self.faults.append(answer.text)
            else:
                self.stores.append(answer.json()["resolution"]["vectorStore"])


@pytest.fixture
def slow_api(embedding_api: StubApi) -> StubApi:
    """Slow enough that the change is watched while it goes on."""

    def answer(asked: Asked) -> Reply:
        reply = answer_normally(asked)
        reply.pause_seconds = 0.15
        return reply

    embedding_api.answer = answer
    return embedding_api


def test_a_model_change_under_load_loses_no_request_and_no_row(
    launch_server: Launch, tiny_model_folder: Path, slow_api: StubApi
) -> None:
    server = launch_server(MEMORY_STATIC_MODEL=str(tiny_model_folder), HF_HUB_OFFLINE="true")
    server.change_settings(enabled=True, embeddingSource="static", staticEnabled=True)
    key = server.take_key()
    for number in range(300):
        server.remember(key, f"dogs number {number}")
    wait_until(lambda: is_whole(server, "static:"), "the first index is not whole")
    with Load(server, key) as load:
        wait_until(lambda: len(load.stores) > 3, "nobody searches")
        server.change_settings(embeddingSource="remote", customBaseUrl=slow_api.url, customModelId="m")
        seen = set()
        wait_until(
            lambda: (
                seen.add(status(server)["vectorStore"]["building"] is not None)
                or status(server)["vectorStore"]["active"]["signature"].startswith("remote:")
            ),
            "the new index does not take over",
            timeout_seconds=60,
        )
        watched = len(load.stores)
        wait_until(lambda: len(load.stores) > watched + 3, "nobody searches any more")
    assert load.faults == []
    assert set(load.stores) == {"sqlite-vec"}, "for a while keywords alone had to answer"
    assert True in seen, "the new index was never seen beside the old one"
    wait_until(lambda: is_whole(server, "remote:"), "rows are still without a vector", timeout_seconds=60)
    told = status(server)["vectorStore"]
    assert told["active"]["rows"] == told["active"]["total"] == 300 + len(load.written)
    lost = [id for id in load.written if server.manage("GET", f"/api/memory/{id}").status_code != 200]
    assert lost == []
