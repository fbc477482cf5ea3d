"""Whatever Qdrant does, chats and writes go on, nothing is lost, and all is there afterwards."""

import time
from collections.abc import Callable
from typing import Any

import pytest
import structlog

from core.jobs.models import Job
from memory import qdrant_control, retrieval
from memory.config import load_settings
from memory.models import Memory
from qdrant_admin.breaker import Breaker
from qdrant_admin.models import Collection, Point
from qdrant_admin.points import QdrantError, Server
from tests.embeddings.stub_api import Reply
from tests.engine import do_jobs
from tests.qdrant.api import Api
from tests.qdrant.standin import Fault, QdrantStandIn, answer_html, break_off, hang, refuse, slow

FAULTS = {
    "hangs": hang(),
    "answers after 30 s": slow(30),
    "503": refuse(503),
    "500": refuse(500),
    "401": refuse(401),
    "closes": break_off(),
    "HTML": answer_html(),
    "redirects": Fault(status=302),
}


def assert_qdrant_holds_all(qdrant: QdrantStandIn) -> None:
    """Counts and contents, compared with the rows."""
    active = Collection.objects.get(state="active")
    points = qdrant.read_points(active.name)
    rows = {row.uuid: row for row in Memory.objects.all()}
    assert points.keys() == rows.keys()
    for uuid, payload in points.items():
        assert (payload["content"], payload["apiKeyId"]) == (rows[uuid].content, rows[uuid].api_key_id)


@pytest.mark.parametrize("name", ["refused", *FAULTS])
def test_rw_048_a_qdrant_that_is_not_well_costs_nobody_anything(
    api: Api, switched_on: QdrantStandIn, name: str, try_again: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name_of_limit in ("memory.vector_stores.qdrant.READ_SECONDS", "qdrant_admin.operations.HEALTH_SECONDS"):
        monkeypatch.setattr(name_of_limit, 0.3)
    monkeypatch.setattr("qdrant_admin.points.server.WRITE_SECONDS", 0.3)
    first = api.remember("tea")
    do_jobs()
    qdrant = switched_on
    if name == "refused":
        qdrant.stop()
    else:
        qdrant.fault = FAULTS[name]
    started = time.monotonic()
    second = api.remember("dogs")
    preview = api.preview("tea")
    assert [memory["content"] for memory in preview["memories"]]
    assert preview["resolution"]["vectorStore"] == "sqlite-vec"
    assert preview["resolution"]["fallbackReason"].startswith("Qdrant: ")
    chat = retrieval.retrieve_for_chat("A", "tea", load_settings())
    assert "tea" in [item.line for item in chat.chosen]
    assert api.send("DELETE", f"/api/memory/{first['id']}").status_code == 200
    health = api.get("/api/settings/qdrant/health")
    assert (health["ok"], bool(health["error"])) == (False, True)
    status = api.read_status()
    assert (status["qdrant"]["healthy"], status["vectorStore"]["backend"]) == (False, "sqlite-vec")
    assert "words of the server" not in f"{health} {status} {preview}"
    assert time.monotonic() - started < 15, "somebody waited without end"
    do_jobs()
    assert not Job.objects.filter(state="dead").exists()

    qdrant.fault = None
    if name == "refused":
        qdrant.start()
    third = api.remember("cats purr")
    try_again()
    assert_qdrant_holds_all(qdrant)
    assert {second["id"], third["id"]} == set(Memory.objects.values_list("uuid", flat=True))
    assert api.preview("cats")["resolution"]["vectorStore"] == "qdrant"
    assert api.read_status()["qdrant"]["healthy"]


def test_a_dead_qdrant_is_asked_once_and_not_by_every_search(api: Api, switched_on: QdrantStandIn) -> None:
    api.remember("tea")
    do_jobs()
    switched_on.fault = refuse(500)
    asked = len(switched_on.calls)
    reasons = [api.preview("tea")["resolution"]["fallbackReason"] for _ in range(5)]
    assert len(switched_on.calls) == asked + 1
    assert all("HTTP 500" in reason for reason in reasons)
    assert "again soon" in reasons[-1]
    assert api.read_status()["qdrant"]["paused"]
    switched_on.fault = None
    assert api.get("/api/settings/qdrant/health")["ok"]
    assert api.preview("tea")["resolution"]["vectorStore"] == "qdrant", "a server that is well again is asked at once"


def test_the_breaker_lets_one_caller_try_and_waits_longer_each_time() -> None:
    now = [0.0]
    breaker, server = Breaker(lambda: now[0]), ("http://h", "k")
    assert breaker.admit(server) is None
    breaker.note_failure(server, "down")
    assert breaker.admit(server) == "down"
    assert breaker.admit(("http://h", "other key")) is None
    now[0] = 5.0
    assert breaker.admit(server) is None
    assert breaker.admit(server) == "down", "a second caller doesn't try beside the first"
    breaker.note_failure(server, "still down")
    now[0] = 14.9
    assert breaker.admit(server) == "still down"
    now[0] = 15.1
    assert breaker.admit(server) is None
    breaker.note_success(server)
    assert breaker.admit(server) is None
    assert breaker.find_reason(server) is None


def test_a_server_that_drips_is_left_when_the_time_is_over(qdrant: QdrantStandIn) -> None:
    qdrant.fault = slow(3)
    started = time.monotonic()
    with pytest.raises(QdrantError) as caught:
        Server(f"http://127.0.0.1:{qdrant.port}", "").list_collections(0.2)
    assert caught.value.fault == "timeout"
    assert time.monotonic() - started < 2


def test_qdrant_down_when_switched_on_gets_all_once_it_is_there(
    api: Api, engine: None, qdrant: QdrantStandIn, try_again: Callable[[], int]
) -> None:
    qdrant.stop()
    api.set_qdrant(enabled=True, **qdrant.address)
    for number in range(5):
        api.remember(f"tea {number}")
    do_jobs()
    status = api.read_status()["qdrant"]
    assert (status["healthy"], status["nextTryAt"] is None) == (False, False)
    assert len(api.list_found("tea")) == 5
    qdrant.start()
    try_again()
    assert_qdrant_holds_all(qdrant)


def test_qdrant_that_dies_in_the_middle_of_filling_is_filled_to_the_end(
    api: Api, engine: None, qdrant: QdrantStandIn, try_again: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.vector_stores.qdrant_sync.BATCH_CHANGES", 5)
    for number in range(12):
        api.remember(f"tea {number}")
    do_jobs()
    sent = []
    upsert = Server.upsert

    def die_after_one(self: Server, *arguments: Any) -> None:
        if sent:
            qdrant.fault = refuse(500)
        sent.append(1)
        upsert(self, *arguments)

    monkeypatch.setattr(Server, "upsert", die_after_one)
    api.set_qdrant(enabled=True, **qdrant.address)
    do_jobs()
    assert not Collection.objects.filter(state="active").exists()
    assert api.preview("tea")["resolution"]["vectorStore"] == "sqlite-vec"
    qdrant.fault = None
    monkeypatch.setattr(Server, "upsert", upsert)
    written = qdrant.count_calls("PUT", "/points")
    try_again()
    assert_qdrant_holds_all(qdrant)
    assert qdrant.count_calls("PUT", "/points") - written < 4, "what was there already is not sent again"


def test_a_collection_that_somebody_deletes_is_made_and_filled_again(api: Api, switched_on: QdrantStandIn) -> None:
    for number in range(4):
        api.remember(f"tea {number}")
    do_jobs()
    [name] = switched_on.list_collections()
    switched_on.local.delete_collection(name)
    preview = api.preview("tea")
    assert len(preview["memories"]) == 4
    assert (preview["resolution"]["vectorStore"], preview["resolution"]["fallbackReason"][:7]) == (
        "sqlite-vec",
        "Qdrant:",
    )
    qdrant_control.queue.enqueue_vector_sync()
    do_jobs()
    assert switched_on.list_collections() == [name]
    assert_qdrant_holds_all(switched_on)
    assert api.preview("tea")["resolution"]["vectorStore"] == "qdrant"


def test_an_embedding_source_that_fails_keeps_the_memories_waiting_and_loses_none(
    api: Api, engine: None, qdrant: QdrantStandIn, embedding_api: Any, try_again: Callable[[], int]
) -> None:
    api.ask(
        "PUT",
        "/api/settings/memory",
        {"embeddingSource": "remote", "customBaseUrl": embedding_api.url, "customModelId": "m"},
    )
    api.set_qdrant(enabled=True, embeddingModel="memory", **qdrant.address)
    api.remember("tea")
    do_jobs()
    answer_normally, embedding_api.answer = embedding_api.answer, lambda asked: Reply(b"{}", status=500)
    api.remember("dogs")
    do_jobs()
    assert Point.objects.count() == 1
    embedding_api.answer = answer_normally
    try_again()
    assert_qdrant_holds_all(qdrant)


def test_a_text_without_a_vector_is_passed_over_and_not_tried_for_ever(
    api: Api, switched_on: QdrantStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    from embeddings.base import EmbeddingError
    from memory.vector_stores import qdrant_writer

    embed = qdrant_writer.embed_documents
    error = EmbeddingError("static", "m", "request_failed", "no vector for this text", is_outage=False)

    def pass_over(config: Any, texts: list[str], seconds: float) -> list[Any]:
        return [error if "???" in text else result for text, result in zip(texts, embed(config, texts), strict=True)]

    monkeypatch.setattr(qdrant_writer, "embed_documents", pass_over)
    api.remember("tea")
    silent = api.remember("???")
    do_jobs()
    assert Point.objects.get(point_id=silent["id"]).has_vector is False
    status = api.read_status()["qdrant"]
    assert (status["pending"], status["points"]) == (0, 1)
    api.ask("PUT", f"/api/memory/{silent['id']}", {"content": "cats", "key": "cats"})
    do_jobs()
    assert_qdrant_holds_all(switched_on)


def test_refusals_are_logged_once_for_each_write(api: Api, switched_on: QdrantStandIn, try_again: Any) -> None:
    switched_on.fault = refuse(500)
    with structlog.testing.capture_logs() as logs:
        api.remember("tea")
        for _ in range(4):
            try_again()
    assert [log["event"] for log in logs].count("qdrant.not_written") == 1


def test_an_address_that_the_outbound_policy_refuses_is_not_dialled(api: Api, engine: None, settings: Any) -> None:
    api.set_qdrant(enabled=True, host="127.0.0.1")
    settings.OUTBOUND_ALLOW_PRIVATE_ADDRESSES = False
    health = api.get("/api/settings/qdrant/health")
    assert (health["ok"], "blocked" in health["error"]) == (False, True)


def test_a_point_that_qdrant_refuses_does_not_hold_up_the_others(
    api: Api, switched_on: QdrantStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    upsert = Server.upsert

    def refuse_dogs(self: Server, name: str, vector_name: str, points: Any) -> None:
        if any("dogs" in point.payload["content"] for point in points):
            raise QdrantError("refused", "Qdrant refuses the request (HTTP 400)")
        upsert(self, name, vector_name, points)

    monkeypatch.setattr(Server, "upsert", refuse_dogs)
    for content in ("tea", "dogs", "cats"):
        api.remember(content)
    do_jobs()
    assert api.read_status()["qdrant"]["pending"] == 0
    [name] = switched_on.list_collections()
    assert {payload["content"] for payload in switched_on.read_points(name).values()} == {"tea", "cats"}


def test_what_is_large_goes_in_several_requests(api: Api, switched_on: QdrantStandIn) -> None:
    for number in range(3):
        api.remember(f"tea {number} " + "x" * 90_000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memory.vector_stores.qdrant.MAX_REQUEST_BYTES", 200_000)
        do_jobs()
    assert switched_on.count_calls("PUT", "/points") == 2
    assert_qdrant_holds_all(switched_on)
