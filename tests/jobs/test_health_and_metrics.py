"""What a running installation tells about itself: /readyz for balancers, /metrics for Prometheus."""

import re

import pytest
from job_processes import Command, query, wait_until_done

from tests.live_server import LiveServer, wait_until


@pytest.fixture
def server(launch_server):
    return launch_server(METRICS_ENABLED="true")


def read_metrics(server: LiveServer) -> dict[str, float]:
    answer = server.manage("GET", "/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain")
    pairs = re.findall(r"^(\w+(?:\{[^}]*\})?) ([\d.e+-]+)$", answer.text, re.MULTILINE)
    return {name: float(value) for name, value in pairs}


def test_a_ready_server_tells_how_its_background_work_stands(launch_server):
    server = launch_server(EMBEDDED_WORKER="false")
    server.remember(server.take_key(), "tea")
    answer = server.client.get("/readyz")
    told = answer.json()
    assert (answer.status_code, told["status"], told["database"]) == (200, "ok", "ok")
    assert (told["jobs"]["queued"], told["jobs"]["running"], told["jobs"]["dead"]) == (1, 0, 0)
    assert told["jobs"]["oldestWaitingSeconds"] > 0
    assert told["indexes"]["pending"] == 1
    assert server.client.head("/readyz").status_code == 200
    assert server.client.post("/readyz").status_code == 405


def test_a_server_that_lost_its_triggers_or_its_database_is_not_ready(launch_server):
    server = launch_server()
    query(server, "DROP TRIGGER memory_fts_ai")
    answer = server.client.get("/readyz")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "not_ready")
    assert "memory_fts_ai" in answer.json()["reason"]
    assert server.client.get("/healthz").status_code == 200, "it lives, and would only be restarted for nothing"
    for path in server.data_dir.glob("storage.sqlite*"):
        path.unlink()
    answer = server.client.get("/readyz")
    assert answer.status_code == 503
    assert str(server.data_dir) not in answer.text


def test_metrics_are_not_there_unless_enabled(launch_server):
    assert launch_server().manage("GET", "/metrics").status_code == 404


def test_metrics_are_for_managers(server):
    assert server.client.get("/metrics").status_code == 401
    assert server.client.get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert server.client.get("/metrics", headers=server.take_key().headers).status_code == 403
    assert server.manage("GET", "/metrics").status_code == 200


def test_metrics_count_what_happens(server):
    server.change_settings(enabled=True)
    key = server.take_key()
    server.remember(key, "The user drinks green tea")
    assert server.chat(key, "I like coffee. What about green tea?").status_code == 200
    server.chat(key, "What time is it?")
    server.client.get("/api/memory")
    wait_until_done(server)
    told = read_metrics(server)
    assert told['omniroute_requests_total{area="chat",status="200"}'] == 2
    assert told['omniroute_requests_total{area="api",status="401"}'] == 1
    assert told["omniroute_memories_injected_total"] >= 1
    assert told["omniroute_memory_tokens_injected_total"] >= 5
    assert sum(value for name, value in told.items() if name.startswith("omniroute_retrieval_seconds_count")) == 2
    assert told['omniroute_extractions_total{outcome="facts"}'] == 1
    assert told['omniroute_extractions_total{outcome="nothing"}'] == 1
    assert told["omniroute_facts_stored_total"] == 1
    assert told['omniroute_jobs{state="queued"}'] == 0
    assert told["omniroute_index_pending"] >= 0


def test_every_process_of_a_data_folder_tells_the_same_sum(server):
    other = LiveServer(server.data_dir, {"METRICS_ENABLED": "true"}).start()
    try:
        for one in (server, other, other):
            one.client.get("/v1/models")
        name = 'omniroute_requests_total{area="models",status="401"}'
        assert read_metrics(server)[name] == read_metrics(other)[name] == 3
    finally:
        other.close()
    assert read_metrics(server)[name] == 3, "a counter fell when a process ended"


def test_what_celery_workers_do_is_counted_too(launch_server, redis_server, run_beside):
    server = launch_server(METRICS_ENABLED="true", REDIS_URL=redis_server.url)
    worker: Command = run_beside(server, "worker")
    run_beside(server, "beat")
    server.change_settings(enabled=True)
    server.chat(server.take_key(), "I like coffee")
    wait_until_done(server)
    name = 'omniroute_extractions_total{outcome="facts"}'
    wait_until(lambda: read_metrics(server).get(name) == 1, worker.log_text)


def test_counters_begin_anew_when_nobody_ran(server):
    server.client.get("/v1/models")
    server.stop()
    server.start()
    assert 'omniroute_requests_total{area="models",status="401"}' not in read_metrics(server)
