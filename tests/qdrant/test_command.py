"""manage.py memory_qdrant"""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from qdrant_admin.operations import LAST_HEALTH
from tests.engine import do_jobs
from tests.qdrant.api import Api
from tests.qdrant.standin import QdrantStandIn


def run(*arguments: str) -> str:
    LAST_HEALTH.clear()
    told = StringIO()
    call_command("memory_qdrant", *arguments, stdout=told)
    return told.getvalue()


def run_json(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json"))


def test_it_tells_how_it_stands(api: Api, engine: None, qdrant: QdrantStandIn) -> None:
    assert run() == "Qdrant      off: Qdrant is switched off\n"
    api.set_qdrant(enabled=True, **qdrant.address)
    api.remember("tea")
    assert run_json()["pending"] > 0
    do_jobs()
    told = run("status")
    assert "1 of 1 memories, 0 changes wait" in told
    assert "go to Qdrant" in told
    qdrant.stop()
    assert "FAIL Qdrant could not be reached" in run()


def test_it_does_what_the_background_does(api: Api, switched_on: QdrantStandIn) -> None:
    memories = [api.remember(f"tea {number}")["id"] for number in range(3)]
    assert run_json("sync")["written"] == 3
    [name] = switched_on.list_collections()
    switched_on.local.delete(name, memories[:1])
    assert run("reconcile").startswith("3 memories were compared: 1 points were missing, 0 were of no memory")
    assert run_json("refill")["reason"] is None
    assert run("cleanup") == "0 points were deleted\n"
    assert switched_on.read_points(name).keys() == set(memories)


@pytest.mark.parametrize("action", ["sync", "reconcile", "refill", "cleanup"])
def test_it_fails_when_it_could_not_be_done(api: Api, switched_on: QdrantStandIn, action: str) -> None:
    switched_on.stop()
    api.remember("tea")
    with pytest.raises(CommandError, match="Qdrant could not be reached"):
        run(action)
