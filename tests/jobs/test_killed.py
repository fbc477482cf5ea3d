"""Work survives whatever is killed, and has its effect once."""

import random
import time
from collections import Counter

import pytest
from chat_load import ChatLoad
from job_processes import count_jobs, list_all_memories, wait_until_done

from tests.live_server import wait_until

KILLS = 20
pytestmark = pytest.mark.slow


def assert_every_fact_once(server, answered):
    contents = Counter(memory["content"] for memory in list_all_memories(server))
    assert len(answered) > KILLS, "the load was none"
    assert not [fact for fact in answered if contents[fact] == 0], "a fact was lost"
    assert not [fact for fact, count in contents.items() if count > 1], "a fact is there twice"


def check_nothing_is_lost(server, load, hits):
    """After the kills, of which `hits` met a job in hand."""
    wait_until_done(server)
    assert_every_fact_once(server, load.answered)
    assert not load.refusals
    print(f"{KILLS} kills, {hits} jobs in hand at them, {len(load.answered)} facts")
    assert hits, "no kill came in the middle of a job"


def open_ears(server):
    """Memory on, but nothing injected: what is tested is learning."""
    server.change_settings(enabled=True, injectionEnabled=False)


def test_the_server_is_killed_twenty_times_in_the_middle_and_every_fact_is_found_once(launch_server):
    server = launch_server()
    open_ears(server)
    hits = 0
    with ChatLoad([server], server.take_key()) as load:
        for _ in range(KILLS):
            before = len(load.answered)
            wait_until(lambda before=before: len(load.answered) > before + 5, "nobody is answered", 60)
            time.sleep(random.uniform(0, 0.3))
            server.kill()
            hits += count_jobs(server, "running")
            server.start()
    check_nothing_is_lost(server, load, hits)


def test_workers_server_and_redis_are_killed_in_turn_and_every_fact_is_found_once(
    launch_server, redis_server, run_beside
):
    server = launch_server(REDIS_URL=redis_server.url)
    open_ears(server)
    worker, beat = run_beside(server, "worker"), run_beside(server, "beat")

    def restart_server() -> None:
        server.kill()
        server.start()

    def restart_beat() -> None:
        beat.kill()
        beat.start()

    def restart_redis() -> None:
        redis_server.stop()
        time.sleep(1)
        redis_server.start()

    restarts = {3: [restart_redis], 6: [restart_server], 12: [restart_server, restart_beat, restart_redis]}
    hits = 0
    with ChatLoad([server], server.take_key(), client_count=3, pause_seconds=0.15) as load:
        for number in range(KILLS):
            done = count_jobs(server, "done")
            wait_until(lambda done=done: count_jobs(server, "done") > done + 3, "no worker works", 90)
            time.sleep(random.uniform(0, 0.2))
            hits += count_jobs(server, "running")
            if number % 3:
                worker.kill_children()
                continue
            worker.kill()
            for restart in restarts.get(number, ()):
                restart()
            worker.start()
    check_nothing_is_lost(server, load, hits)
    assert (worker.stop(), beat.stop()) == (0, 0)
