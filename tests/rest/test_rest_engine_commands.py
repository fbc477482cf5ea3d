"""manage.py memory_reindex and memory_engine: what an operator sees, and the exit code of what went wrong."""

import io
import json
import threading

import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from rest_api import Api

from core.jobs import queue as jobs
from core.jobs.models import Job
from memory import queue, services
from memory.management.progress import ProgressLine, write_duration
from memory.models import Memory
from memory.records import MemoryDraft
from tests.embeddings.stub_api import Asked, Reply, StubApi, answer_normally
from tests.engine import do_jobs, use_embedding_server, use_static_model

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("fresh_engine")]


def run(*words: str) -> str:
    output = io.StringIO()
    call_command(*words, stdout=output)
    return output.getvalue()


def remember(*texts: str) -> None:
    for text in texts:
        services.create(MemoryDraft("A", text, text))


# --- memory_reindex ---
def test_what_is_missing_is_indexed_without_any_server() -> None:
    use_static_model()
    remember("cats", "dogs", "tea")
    told = run("memory_reindex")
    assert "3 of 3, 100%" in told
    assert "Done: 3 memories are indexed with static:" in told
    assert not Memory.objects.filter(needs_reindex=True).exists()
    assert not Job.objects.exclude(state=Job.State.DONE).exists()


def test_force_makes_all_of_them_anew(embedding_api: StubApi) -> None:
    use_embedding_server(embedding_api)
    remember("cats", "dogs")
    run("memory_reindex")
    asked = len(embedding_api.asked)
    assert "0 of 0" in run("memory_reindex")
    assert len(embedding_api.asked) == asked
    assert "2 of 2" in run("memory_reindex", "--force")


def test_without_waiting_the_work_is_left_to_a_server() -> None:
    use_static_model()
    remember("cats")
    assert "1 memories wait" in run("memory_reindex", "--no-wait")
    assert Memory.objects.filter(needs_reindex=True).count() == 1
    assert Job.objects.filter(name=queue.INDEX_PENDING, state=Job.State.QUEUED).count() == 1


def test_without_a_source_it_says_what_to_do() -> None:
    remember("cats")
    with pytest.raises(CommandError, match="staticEnabled"):
        run("memory_reindex")


def test_an_outage_ends_it_with_the_reason(embedding_api: StubApi) -> None:
    use_embedding_server(embedding_api)
    embedding_api.answer = lambda asked: Reply({}, status=401)
    remember("cats", "dogs")
    with pytest.raises(CommandError, match=r"2 memories are not indexed: .* key"):
        run("memory_reindex")


def test_rows_that_can_not_be_embedded_end_it_with_their_number() -> None:
    use_static_model()
    remember("cats", "...")
    Memory.objects.filter(content="...").update(content="")
    with pytest.raises(CommandError, match="1 memories could not be embedded"):
        run("memory_reindex")
    assert not Memory.objects.filter(content="cats", needs_reindex=True).exists()


def test_it_does_no_other_jobs() -> None:
    use_static_model()
    jobs.enqueue("memory.extract_facts", {})
    run("memory_reindex")
    assert Job.objects.get(name="memory.extract_facts").state == Job.State.QUEUED


def test_while_another_process_has_the_job_it_watches_and_does_nothing_twice(
    embedding_api: StubApi,
) -> None:
    use_embedding_server(embedding_api)
    is_asked, may_answer = threading.Event(), threading.Event()

    def answer(asked: Asked) -> Reply:
        is_asked.set()
        may_answer.wait(20)
        return answer_normally(asked)

    embedding_api.answer = answer
    remember("cats", "dogs")

    def be_the_server() -> None:
        try:
            do_jobs()
        finally:
            connections.close_all()

    server = threading.Thread(target=be_the_server)
    server.start()
    assert is_asked.wait(20)
    waiting = threading.Timer(0.5, may_answer.set)
    waiting.start()
    told = run("memory_reindex")
    server.join(20)
    assert "Done: 2 memories" in told
    texts = [text for asked in embedding_api.asked for text in asked.texts]
    assert sorted(texts) == ["cats", "dogs"]


# --- memory_engine ---
def test_the_engine_is_told_in_lines(api: Api) -> None:
    told = run("memory_engine")
    assert "Keywords    ok   FTS5" in told
    assert "Embedding   FAIL" in told
    assert "staticEnabled" in told
    use_static_model()
    remember("cats")
    do_jobs()
    told = run("memory_engine")
    assert "Embedding   ok   static" in told
    assert "answers: 1 of 1 memories, 4 dimensions" in told
    assert "nothing waits, 1 memories" in told


def test_as_json_it_is_the_same_as_over_http(api: Api) -> None:
    use_static_model()
    remember("cats")
    do_jobs()
    assert json.loads(run("memory_engine", "--json")) == api.get("/api/memory/engine-status").json()


def test_settings_of_the_command_line_start_an_index_too() -> None:
    remember("cats")
    do_jobs()
    run("memory_settings", "staticEnabled=true", "embeddingSource=static")
    do_jobs()
    assert not Memory.objects.filter(needs_reindex=True).exists()


# --- progress ---
class Output(io.StringIO):
    def write(self, msg: str = "", *, ending: str | None = None) -> int:  # type: ignore[override]
        return super().write(msg + ("\n" if ending is None else ending))


def show(pendings: list[int], *, is_terminal: bool, seconds: float = 2.0) -> str:
    output, now = Output(), 0.0
    progress = ProgressLine(output, pendings[0], is_terminal=is_terminal, read_clock=lambda: now)
    for pending in pendings:
        progress.show(pending)
        now += seconds
    progress.end()
    return output.getvalue()


def test_a_terminal_gets_a_bar_that_is_drawn_over() -> None:
    drawn = show([100, 50, 0], is_terminal=True).split("\r")
    assert drawn[1].startswith("[..............................] 0 of 100, 0%")
    assert drawn[2].startswith("[###############...............] 50 of 100, 50%, 25/s, 2 s left")
    assert drawn[3].startswith("[##############################] 100 of 100, 100%, 25/s")
    assert drawn[3].endswith("\n")


def test_elsewhere_it_tells_now_and_then_and_at_the_end() -> None:
    lines = show([100, 75, 50, 25, 0], is_terminal=False).splitlines()
    assert lines == ["0 of 100, 0%", "75 of 100, 75%, 12/s, 2 s left", "100 of 100, 100%, 12/s"]


def test_memories_that_come_meanwhile_add_to_the_work() -> None:
    lines = show([10, 15, 0], is_terminal=False, seconds=6.0).splitlines()
    assert lines == ["0 of 10, 0%", "0 of 15, 0%", "10 of 10, 100%, 0.8/s"]


def test_what_is_done_in_no_time_tells_no_rate() -> None:
    assert show([10, 0], is_terminal=False, seconds=0.01).splitlines() == ["0 of 10, 0%", "10 of 10, 100%"]


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3599, "59 min 59 s"), (7500, "2 h 5 min")]
)
def test_durations_are_told_in_two_units(seconds: float, told: str) -> None:
    assert write_duration(seconds) == told
