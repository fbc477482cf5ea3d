"""A whole server beside a Qdrant: chats during faults, and a kill in the middle of filling."""

import time
from collections.abc import Callable, Iterator

import pytest

from tests.live_server import Key, LiveServer, wait_until
from tests.qdrant.standin import QdrantStandIn, hang, slow
from tests.upstream_stub import UpstreamStub

RECOVERY_SECONDS = 60.0


@pytest.fixture
def server(launch_server: Callable[..., LiveServer], qdrant: QdrantStandIn) -> Iterator[LiveServer]:
    started = launch_server(MEMORY_STATIC_MODEL="bundled")
    started.change_settings(enabled=True, staticEnabled=True, embeddingSource="static", extractionEnabled=False)
    yield started


def switch_on(server: LiveServer, qdrant: QdrantStandIn) -> None:
    answer = server.manage("PUT", "/api/settings/qdrant", json={"enabled": True, **qdrant.address})
    assert answer.status_code == 200, answer.text


def count_points(qdrant: QdrantStandIn) -> int:
    collections = qdrant.list_collections()
    return len(qdrant.read_points(collections[0])) if collections else 0


def read_context(upstream: UpstreamStub) -> str:
    return " ".join(str(message["content"]) for message in upstream.last.messages if message["role"] == "system")


def test_chats_go_on_and_stay_apart_whatever_qdrant_does(
    server: LiveServer, qdrant: QdrantStandIn, upstream: UpstreamStub
) -> None:
    ours, theirs = server.take_key(), server.take_key()
    switch_on(server, qdrant)
    server.remember(ours, "The locker code is 1111.")
    foreign = server.remember(theirs, "The locker code is 2222.")
    server.wait_for_jobs()
    assert count_points(qdrant) == 2

    def ask(key: Key) -> tuple[str, float]:
        started = time.monotonic()
        headers = {"X-Api-Key-Id": theirs.id}
        answer = server.chat(
            key, "What is my locker code?", headers=headers, user=theirs.id, metadata={"apiKeyId": theirs.id}
        )
        assert answer.status_code == 200, answer.text
        return read_context(upstream), time.monotonic() - started

    qdrant.strays = [
        {"id": foreign["id"], "version": 1, "score": 1.0, "payload": {"apiKeyId": ours.id}, "vector": None}
    ]
    context, _ = ask(ours)
    assert ("1111" in context, "2222" in context) == (True, False)
    assert "2222" in ask(theirs)[0]
    assert qdrant.count_calls("POST", "/points/query") >= 2

    qdrant.fault = hang()
    context, first_seconds = ask(ours)
    assert ("1111" in context, "2222" in context) == (True, False)
    context, later_seconds = ask(ours)
    assert "1111" in context
    # Bounds, not figures: one search may wait its two seconds, and no other one after it.
    assert (first_seconds < 10, later_seconds < first_seconds) == (True, True)
    server.remember(ours, "The bicycle is green.")
    qdrant.fault = None
    server.remember(ours, "The bicycle was bought in Riga.")
    wait_until(lambda: count_points(qdrant) == 4, "the points are not there", RECOVERY_SECONDS)


@pytest.mark.slow
def test_a_kill_in_the_middle_of_filling_loses_and_doubles_nothing(server: LiveServer, qdrant: QdrantStandIn) -> None:
    key = server.take_key()
    for number in range(110):
        server.remember(key, f"Parcel {number} is for house {number * 7}.")
    server.wait_for_jobs()
    qdrant.faults_by_path["/points"] = slow(0.5)
    switch_on(server, qdrant)
    wait_until(lambda: qdrant.count_calls("PUT", "/points") > 0, "nothing is written")
    server.kill()
    assert count_points(qdrant) < 110
    qdrant.faults_by_path.clear()
    # Meanwhile some memories go, and their points, if they are there already, must follow.
    server.start()
    gone = server.list_memories(key)[:5]
    for memory in gone:
        assert server.manage("DELETE", f"/api/memory/{memory['id']}").status_code == 200
    wait_until(lambda: count_points(qdrant) == 105, "not all is there", RECOVERY_SECONDS)
    server.wait_for_jobs()
    points = qdrant.read_points(qdrant.list_collections()[0])
    memories = server.list_memories(key)
    assert not points.keys() & {memory["id"] for memory in gone}
    assert all(points[memory["id"]]["content"] == memory["content"] for memory in memories)
    status = server.manage("GET", "/api/memory/engine-status").json()["qdrant"]
    assert (status["total"], status["pending"], status["answering"]) == (105, 0, True)
