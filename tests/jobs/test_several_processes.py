"""Four servers, Celery workers and a Redis on one SQLite file: nothing is lost, nothing is locked, settings hold."""

import itertools
import json
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from chat_load import ChatLoad
from foreign_writers import FILL, WRITE, hold_write_lock, start_command
from job_processes import LOAD_SECONDS, RedisServer, count_jobs, list_all_memories, query, wait_until_done
from rest_load import RestLoad
from server_cluster import SERVERS, Cluster, count_vectors

from tests.live_server import Key, wait_until
from tests.upstream_replies import chat_answer, json_reply

pytestmark = pytest.mark.slow

# What a person waits for before they think that a page hangs.
SLOW_SECONDS = 2.0


@pytest.fixture(scope="module")
def cluster(preparation, session_upstream, tmp_path_factory):
    redis = RedisServer(tmp_path_factory.mktemp("redis"))
    redis.start()
    folder = tmp_path_factory.mktemp("several") / "data"
    first = preparation.start(folder, REDIS_URL=redis.url, MEMORY_STATIC_MODEL="bundled")
    running = Cluster(first, redis, session_upstream)
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def settled(cluster):
    """Each test begins with memory on, vectors from the bundled model and no work left over."""
    cluster.upstream.reset()
    cluster.first.change_settings(
        enabled=True, injectionEnabled=True, retentionDays=30, embeddingSource="static", staticEnabled=True
    )
    wait_until_done(cluster.first)
    cluster.read_logs()


def test_rw_086_a_job_never_outruns_or_outlives_its_row(cluster):
    server, key = cluster.first, cluster.first.take_key()
    with ThreadPoolExecutor(8) as pool:
        bodies = [{"apiKeyId": key.id, "key": f"k{number}", "content": f"fact {number}"} for number in range(200)]
        posts = [
            pool.submit(one.manage, "POST", "/api/memory", json=body)
            for one, body in zip(itertools.cycle(cluster.servers), bodies, strict=False)
        ]
        assert {post.result().status_code for post in posts} == {200}
    wait_until_done(server)
    assert query(server, "SELECT count(*) FROM memories WHERE api_key_id = ? AND needs_reindex", key.id) == [(0,)]
    before = count_vectors(server)

    # The job can't be written, so the memory before it must not be either.
    jobs = count_jobs(server, "queued", "running", "done", "dead")
    query(server, "CREATE TRIGGER refuse BEFORE INSERT ON jobs BEGIN SELECT RAISE(ABORT, 'forced'); END")
    refused = server.manage("POST", "/api/memory", json={"apiKeyId": key.id, "key": "lost", "content": "never"})
    query(server, "DROP TRIGGER refuse")
    assert refused.status_code == 500
    assert query(server, "SELECT count(*) FROM memories WHERE key = 'lost'") == [(0,)]
    assert count_jobs(server, "queued", "running", "done", "dead") == jobs

    # Written twice and deleted before a worker comes to it; another written twice and kept.
    cluster.worker.kill()
    for content in ("first words", "last words"):
        for name in ("kept", "gone"):
            body = {"apiKeyId": key.id, "key": name, "content": content}
            stored = server.manage("POST", "/api/memory", json=body).json()["memory"]
    assert server.manage("DELETE", f"/api/memory/{stored['id']}").status_code == 200
    cluster.send_again()
    cluster.worker.start()
    wait_until_done(server)
    cluster.send_again()
    wait_until(lambda: count_vectors(server) == before + 1, "not exactly one vector more")
    preview = server.manage(
        "POST",
        "/api/memory/retrieve-preview",
        json={"query": "last words", "strategy": "semantic", "apiKeyId": key.id, "limit": 1},
    )
    [best] = preview.json()["memories"]
    assert (best["content"], round(best["vecScore"], 3)) == ("last words", 1.0)
    logs = cluster.read_logs()
    for word in ("DoesNotExist", "database is locked", "jobs.failed"):
        assert word not in logs


def test_rw_088_many_processes_write_at_once_and_nothing_is_locked_or_lost(cluster):
    server = cluster.first
    rest, chat_key = RestLoad(cluster, server.take_key(), max(LOAD_SECONDS, 14)), server.take_key()
    fill = start_command(server, FILL.format(count=400, owner="old-timer", days=100))
    assert fill.wait(60) == 0
    holders = [threading.Timer(start, hold_write_lock, (server, 3.0)) for start in (1.0, 5.0)]
    for holder in holders:
        holder.start()
    importer = start_command(server, FILL.format(count=2000, owner="importer", days=0))
    with ChatLoad(cluster.servers, chat_key, client_count=10) as chats:
        rest.run()
    assert importer.wait(120) == 0
    for holder in holders:
        holder.join()
    wait_until_done(server, 240)
    print(f"{len(rest.ids)} memories, {len(chats.answered)} chats, {len(rest.read_seconds)} reads")

    assert (rest.faults, chats.refusals) == ([], [])
    stored = {row[0] for row in query(server, "SELECT id FROM memories")}
    assert rest.ids and not rest.ids - stored, "a write that was acknowledged is gone"
    assert query(server, "SELECT count(*) FROM memories WHERE api_key_id = 'importer'") == [(2000,)]
    contents = Counter(
        row[0] for row in query(server, "SELECT content FROM memories WHERE api_key_id = ?", chat_key.id)
    )
    assert set(contents) >= set(chats.answered)
    assert set(contents.values()) == {1}
    assert query(server, "SELECT count(*) FROM memories WHERE needs_reindex") == [(0,)]
    assert count_vectors(server) == len(stored)
    assert query(server, "PRAGMA journal_mode") == [("wal",)]
    assert query(server, "PRAGMA integrity_check") == [("ok",)]
    query(server, "INSERT INTO memory_fts(memory_fts, rank) VALUES ('integrity-check', 1)")
    logs = cluster.read_logs()
    for word in ("locked", "Traceback", "jobs.failed"):
        assert word not in logs
    slowest = sorted(rest.read_seconds)[int(len(rest.read_seconds) * 0.95)]
    assert slowest < SLOW_SECONDS, "reads waited for writers"


def test_four_writing_processes_lose_nothing_and_are_never_locked_out(cluster):
    server = cluster.first
    writers = [start_command(server, WRITE.format(seconds=LOAD_SECONDS, name=f"w{number}")) for number in range(4)]
    reports = [json.loads(writer.communicate(timeout=LOAD_SECONDS + 90)[0].splitlines()[-1]) for writer in writers]
    print("writes a process:", [report["count"] * 2 for report in reports])
    assert [report["errors"] for report in reports] == [[]] * 4
    assert min(report["count"] for report in reports) > 0, "a writer was starved"
    assert min(report["busy_ms"] for report in reports) > 3000
    stored = dict(query(server, "SELECT key, id FROM memories WHERE api_key_id = 'writers'"))
    assert len(stored) == 5 + sum(report["count"] for report in reports)
    assert {memory_id for report in reports for memory_id in report["ids"]} == set(stored.values())
    wait_until_done(server)
    assert query(server, "SELECT count(*) FROM memories WHERE needs_reindex") == [(0,)]


def test_rw_085_a_setting_holds_in_every_process_within_two_seconds(cluster):
    server, key = cluster.first, cluster.first.take_key()
    cluster.upstream.reply_with(json_reply(chat_answer("Noted.")))
    server.remember(key, "The user's dog is called Rex")
    question = "What is my dog called?"
    injected = [one.chat(key, question).headers["x-omniroute-memories-injected"] for one in cluster.servers]
    assert injected == ["1"] * SERVERS, "there was nothing to switch off"

    cluster.servers[1].change_settings(enabled=False)
    time.sleep(2)
    known = {memory["key"] for memory in list_all_memories(server)}
    with ThreadPoolExecutor(8) as pool:
        chats = [
            pool.submit(one.chat, key, f"{question} I like novelty {number}")
            for number, one in zip(range(40), itertools.cycle(cluster.servers), strict=False)
        ]
        answers = [chat.result() for chat in chats]
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.headers["x-omniroute-memories-injected"] for answer in answers} == {"0"}
    wait_until_done(server)
    assert {memory["key"] for memory in list_all_memories(server)} == known, "a process went on learning"

    old = "2020-01-01 00:00:00"
    query(server, "UPDATE memories SET updated_at = ? WHERE api_key_id = ?", old, key.id)
    for days, expected in ((1, 0), (30, 0)):
        cluster.servers[2].change_settings(retentionDays=days)
        assert preview_everywhere(cluster, key) == {expected}
    query(server, "UPDATE memories SET updated_at = datetime('now', '-2 days') WHERE api_key_id = ?", key.id)
    for days, expected in ((1, 0), (3, 1)):
        cluster.servers[3].change_settings(retentionDays=days)
        assert preview_everywhere(cluster, key) == {expected}


def preview_everywhere(cluster: Cluster, key: Key) -> set[int]:
    """How many memories each of 40 previews over all servers finds."""
    body = {"query": "dog called", "apiKeyId": key.id, "strategy": "hybrid"}
    with ThreadPoolExecutor(8) as pool:
        previews = [
            pool.submit(one.manage, "POST", "/api/memory/retrieve-preview", json=body)
            for _, one in zip(range(40), itertools.cycle(cluster.servers), strict=False)
        ]
        return {len(preview.result().json()["memories"]) for preview in previews}
