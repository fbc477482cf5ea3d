"""A stand-in for Qdrant, an engine beside it, callers of the management endpoints."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from core.jobs import runner
from memory import qdrant_control, services
from qdrant_admin.breaker import BREAKER
from qdrant_admin.models import Collection
from qdrant_admin.operations import LAST_HEALTH
from tests.engine import embedding_api, fresh_engine, tiny_model_folder  # noqa: F401
from tests.live_server import launch_server, preparation, session_upstream, upstream  # noqa: F401
from tests.qdrant.api import MANAGEMENT_KEY, Api
from tests.qdrant.standin import QdrantStandIn


@pytest.fixture
def qdrant() -> Iterator[QdrantStandIn]:
    with QdrantStandIn() as standin:
        yield standin


@pytest.fixture(autouse=True)
def fresh_process(settings: Any) -> None:
    """What this process remembers of a Qdrant, forgotten; nothing of the developer's environment."""
    settings.QDRANT_HOST = settings.QDRANT_API_KEY = ""
    settings.QDRANT_COLLECTION = "omniroute_memory"
    BREAKER.clear()
    LAST_HEALTH.clear()


@pytest.fixture
def engine(db: None, fresh_engine: None) -> None:  # noqa: F811
    """The static model of a few words for memories and, by default, for Qdrant as well."""
    services.change_settings({"embeddingSource": "static", "staticEnabled": True, "enabled": True})
    runner.run_waiting_jobs()


@pytest.fixture
def switched_on(engine: None, qdrant: QdrantStandIn) -> QdrantStandIn:
    qdrant_control.change_settings({"enabled": True, **qdrant.address})
    runner.run_waiting_jobs()
    return qdrant


@pytest.fixture
def api(settings: Any, db: None) -> Api:
    settings.OMNIROUTE_API_KEY = MANAGEMENT_KEY
    return Api(Client(headers={"authorization": f"Bearer {MANAGEMENT_KEY}"}))


@pytest.fixture
def try_again() -> Callable[[], int]:
    """Do what the background does when the waits of failures are over."""

    def run() -> int:
        Collection.objects.update(next_try_at=None)
        BREAKER.clear()
        LAST_HEALTH.clear()
        from memory import queue

        queue.enqueue_vector_sync()
        return runner.run_waiting_jobs()

    return run
