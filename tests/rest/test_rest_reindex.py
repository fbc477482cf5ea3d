"""POST reindex: what it starts, and what it says when it can't."""

from typing import Any

import pytest
from engine_reports import REINDEX, SETTINGS, ask_reindex, read_status
from rest_api import Api, fields_of

from core.jobs.models import Job
from memory import queue
from memory.models import Memory, VectorIndex
from tests.engine import do_jobs, use_static_model

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fresh_engine")]


@pytest.mark.parametrize("body", [b"", {}, {"force": False}])
def test_a_reindex_without_force_does_what_is_missing(api: Api, body: Any) -> None:
    use_static_model()
    api.remember(content="tea")
    do_jobs()
    Memory.objects.update(needs_reindex=True, index_attempts=8)
    assert ask_reindex(api, body) == {"started": True, "pending": 1}
    do_jobs()
    assert read_status(api)["vectorStore"]["needsReindex"] == 0
    assert ask_reindex(api, body) == {"started": True, "pending": 0}


def test_a_forced_reindex_makes_every_vector_anew(api: Api) -> None:
    use_static_model()
    for number in range(3):
        api.remember(key=f"k{number}", content="tea")
    do_jobs()
    assert ask_reindex(api, {"force": True}) == {"started": True, "pending": 3}
    do_jobs()
    assert read_status(api)["vectorStore"]["needsReindex"] == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [({"force": 1}, "force"), ({"force": "true"}, "force"), ({"force": None}, "force"), ({"x": 1}, "x")],
)
def test_a_reindex_with_anything_else_is_refused(api: Api, body: Any, field: str) -> None:
    assert fields_of(api.post(REINDEX, body)) == {field}
    assert not Job.objects.filter(name=queue.INDEX_PENDING).exists()


@pytest.mark.parametrize("force", [True, False])
def test_a_reindex_that_can_not_be_done_says_so_and_starts_nothing(api: Api, force: bool) -> None:
    api.remember(content="tea")
    do_jobs()
    Memory.objects.update(needs_reindex=False)
    told = ask_reindex(api, {"force": force})
    assert (told["started"], told["pending"]) == (False, 0)
    assert "staticEnabled" in told["reason"]
    assert not Job.objects.filter(state=Job.State.QUEUED).exists()


def test_a_changed_embedding_starts_its_index_by_itself(api: Api) -> None:
    api.remember(content="tea")
    do_jobs()
    assert not VectorIndex.objects.exists()
    api.put(SETTINGS, {"embeddingSource": "static", "staticEnabled": True})
    do_jobs()
    assert read_status(api)["vectorStore"]["rowCount"] == 1
