"""Celery's messages: sent beside the request, sent again when lost, harmless twice."""

import socket
import threading
from datetime import timedelta

import pytest
from celery import Celery
from django.utils import timezone
from job_processes import RedisServer
from structlog.testing import capture_logs

from core.jobs import bridge, queue
from core.jobs.models import Job
from tests.live_server import wait_until

DONE: list[int] = []


def note(payload) -> None:
    DONE.append(payload["number"])


@pytest.fixture(autouse=True)
def handlers(settings):
    DONE.clear()
    settings.JOB_HANDLERS = {"note": f"{__name__}.note"}


@pytest.fixture
def app(redis_server):
    """The project's Celery application, pointed at a Redis of the test's own."""
    application: Celery = bridge.run_row.app
    before = application.conf.broker_url
    application.conf.broker_url = redis_server.url
    yield application
    application.conf.broker_url = before


@pytest.fixture
def broker(app):
    connection = bridge.open_connection()
    yield connection
    connection.collect()


def age(*job_ids: int) -> None:
    """Make jobs older than a message may take."""
    old = timezone.now() - timedelta(seconds=60)
    Job.objects.filter(pk__in=job_ids).update(created_at=old, run_at=old)


@pytest.mark.django_db
def test_a_message_does_the_job_of_its_row_once():
    job_id = queue.enqueue("note", {"number": 1})
    bridge.run_row(job_id)
    bridge.run_row(job_id)
    bridge.run_row(job_id + 1000)
    assert DONE == [1]
    assert Job.objects.get(pk=job_id).state == "done"


@pytest.mark.django_db
def test_an_announced_job_arrives_as_its_id_and_nothing_else(broker):
    announcer = bridge.Announcer()
    announcer.announce(42)
    wait_until(lambda: bridge.count_messages(broker) == 1, "no message came")
    message = broker.SimpleQueue(bridge.run_row.app.conf.task_default_queue).get(block=False)
    assert message.content_type == "application/json"
    assert message.payload[:2] == [[42], {}]


def test_adding_jobs_goes_on_while_the_broker_is_down_and_one_line_tells_of_it(app, redis_server: RedisServer):
    redis_server.stop()
    announcer = bridge.Announcer()
    with capture_logs() as logs:
        for number in range(50):
            announcer.announce(number)
        wait_until(lambda: bool(logs), "the outage was not told")
        redis_server.start()
        broker = bridge.open_connection()

        def is_back() -> bool:
            announcer.announce(99)
            return bridge.count_messages(broker) > 0

        wait_until(is_back, "nothing is sent after the outage")
        wait_until(lambda: len(logs) == 2, "the end of the outage was not told")
    assert [line["event"] for line in logs] == ["jobs.broker_unreachable", "jobs.broker_reached_again"]
    assert redis_server.url not in str(logs)
    broker.collect()


def test_a_broker_that_takes_connections_and_never_answers_holds_nobody_up():
    application: Celery = bridge.run_row.app
    before = application.conf.broker_url
    with socket.create_server(("127.0.0.1", 0)) as silent, capture_logs() as logs:
        application.conf.broker_url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        announcer = bridge.Announcer()
        for number in range(bridge.MAX_UNSENT * 2):
            announcer.announce(number)
        wait_until(lambda: bool(logs), "the outage was not told")
    application.conf.broker_url = before


@pytest.mark.django_db
def test_the_sweep_sends_what_was_lost_and_only_that(broker):
    job_ids = [queue.enqueue("note", {"number": number}) for number in range(3)]
    sweeper = bridge.Sweeper()
    assert sweeper.sweep(broker) == 0, "messages that may be on their way were sent again"
    age(*job_ids)
    assert sweeper.sweep(broker) == 3
    assert bridge.Sweeper().sweep(broker) == 0, "messages that wait at the broker were sent again"
    assert bridge.count_messages(broker) == 3


@pytest.mark.django_db
def test_the_sweep_sends_a_job_whose_worker_died_although_many_wait_at_the_broker(broker):
    for number in range(5):
        bridge.send(broker, number)
    job_id = queue.enqueue("note", {"number": 1})
    queue.claim(job_id)
    Job.objects.filter(pk=job_id).update(lease_until=timezone.now() - timedelta(seconds=1))
    sweeper = bridge.Sweeper()
    assert sweeper.sweep(broker) == 1
    assert sweeper.sweep(broker) == 0, "it was sent again before a worker could have taken it"


@pytest.mark.django_db
def test_a_sweep_without_a_broker_says_so(broker, redis_server: RedisServer):
    age(queue.enqueue("note", {"number": 1}))
    redis_server.stop()
    with pytest.raises((bridge.OperationalError, *broker.connection_errors)):
        bridge.Sweeper().sweep(broker)


def test_announcing_starts_one_thread():
    announcer = bridge.Announcer()
    before = threading.active_count()
    for number in range(20):
        announcer.announce(number)
    assert threading.active_count() <= before + 1
