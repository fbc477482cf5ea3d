"""Undo and erase of more than a request waits for: a 202 names the job, and the job tells what came of it."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from core.jobs.execution import run_job
from core.jobs.models import Job
from core.jobs.queue import claim_next
from memory import background, bulk_changes, corrections, services, tasks
from memory.erasing import runs
from memory.models import BackgroundWork, Memory
from memory.records import MemoryDraft, MemoryFilter
from memory.summarization import summarize_older_than
from tests.rest.rest_api import Api

UNDO, ERASE = "/api/memory/undo", "/api/memory/erase"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three memories are many, and two a batch."""
    monkeypatch.setattr(bulk_changes, "UNDO_AT_ONCE_ROWS", 3)
    monkeypatch.setattr(runs, "AT_ONCE_THINGS", 3)
    monkeypatch.setattr("memory.undo.BATCH_ROWS", 2)
    monkeypatch.setattr("memory.erasing.places.BATCH_ROWS", 2)


def remember(count: int, owner: str = "A") -> None:
    for number in range(count):
        services.create(MemoryDraft(owner, f"k{number}", f"memory {number}"))


def delete_all() -> str:
    return corrections.delete_matching(MemoryFilter(None)).undo_id


def do_jobs(name: str) -> None:
    while job := claim_next(name):
        run_job(job)


def read_job(api: Api, job: dict[str, Any]) -> dict[str, Any]:
    return dict(api.get(f"/api/memory/jobs/{job['id']}").json()["job"])


def test_a_large_undo_is_a_job_that_tells_what_a_small_one_answers_at_once(api: Api) -> None:
    remember(5)
    undo_id = delete_all()
    answer = api.post(UNDO, {"undoId": undo_id})
    job = answer.json()["job"]
    assert (answer.status_code, answer.headers["Location"]) == (202, f"/api/memory/jobs/{job['id']}")
    assert (job["kind"], job["state"], job["done"], job["total"], job["result"]) == ("undo", "waiting", 0, 5, None)
    assert Memory.objects.count() == 0
    do_jobs("memory.undo_change")
    done = read_job(api, job)
    assert (done["state"], done["done"], done["error"]) == ("done", 5, None)
    assert done["result"] == {
        "success": True,
        "undoId": undo_id,
        "kind": "delete",
        "restoredCount": 5,
        "removedCount": 0,
        "keptNewer": [],
        "wasUndoneBefore": False,
    }
    assert Memory.objects.count() == 5
    again = api.post(UNDO, {"undoId": undo_id})
    assert (again.status_code, again.json()["wasUndoneBefore"]) == (200, True)


def test_asked_twice_it_is_one_job(api: Api) -> None:
    remember(5)
    undo_id = delete_all()
    ids = {api.post(UNDO, {"undoId": undo_id}).json()["job"]["id"] for _ in range(2)}
    ids.add(api.post(UNDO, {"undoId": undo_id, "force": True}).json()["job"]["id"])
    assert len(ids) == Job.objects.filter(name="memory.undo_change").count() == 1


def test_a_few_are_put_back_at_once(api: Api) -> None:
    remember(3)
    answer = api.post(UNDO, {"undoId": delete_all()})
    assert (answer.status_code, answer.json()["restoredCount"]) == (200, 3)
    assert not BackgroundWork.objects.exists()


def test_what_stays_is_told_without_what_it_says(api: Api) -> None:
    remember(5)
    undo_id = delete_all()
    job = api.post(UNDO, {"undoId": undo_id}).json()["job"]
    services.create(MemoryDraft("A", "k1", "somebody took the key"))
    do_jobs("memory.undo_change")
    result = read_job(api, job)["result"]
    assert (result["restoredCount"], len(result["keptNewer"])) == (4, 1)
    assert "k1" not in str(BackgroundWork.objects.values())


def test_an_undo_whose_worker_died_goes_on_and_tells_the_whole(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(5)
    job = api.post(UNDO, {"undoId": delete_all()}).json()["job"]
    claimed = claim_next("memory.undo_change")
    assert claimed is not None
    restore, calls = bulk_changes.advance, []

    def die_in_the_second_batch(*args: Any, **named: Any) -> None:
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        restore(*args, **named)

    with monkeypatch.context() as patched:
        patched.setattr(bulk_changes, "advance", die_in_the_second_batch)
        with pytest.raises(KeyboardInterrupt):
            run_job(claimed)
    assert Memory.objects.count() == 2
    half_way = read_job(api, job)
    assert (half_way["state"], half_way["done"]) == ("running", 2)
    run_job(claimed)
    assert read_job(api, job)["result"]["restoredCount"] == 5
    assert Memory.objects.count() == 5


def test_a_job_that_was_given_up_says_so(api: Api) -> None:
    remember(5)
    job = api.post(UNDO, {"undoId": delete_all()}).json()["job"]
    Job.objects.filter(name="memory.undo_change").update(state=Job.State.DEAD, error="the disk is full")
    given_up = read_job(api, job)
    assert (given_up["state"], given_up["error"], given_up["result"]) == ("failed", "the disk is full", None)


def test_a_large_compaction_is_undone_by_a_job_through_both_doors(api: Api) -> None:
    for number in range(6):
        services.create(MemoryDraft("A", "", f"Deployment {number} went out. {'All was well and quiet. ' * 20}"))
    report = summarize_older_than(None, 0)
    assert report.deleted_count > 3
    door = "/api/memory/summarize/undo"
    assert api.post(door, {"undoId": "864367bd-83fe-445b-b382-139023d1bc70"}).status_code == 404
    answer = api.post(door, {"undoId": report.undo_id})
    assert (answer.status_code, answer.json()["job"]["kind"]) == (202, "undo")
    assert api.post(UNDO, {"undoId": report.undo_id}).json()["job"]["id"] == answer.json()["job"]["id"]
    do_jobs("memory.undo_change")
    assert read_job(api, answer.json()["job"])["result"]["removedCount"] == len(report.summaries)


def test_a_large_erasure_is_a_job_whose_result_is_the_proved_receipt(api: Api) -> None:
    remember(5)
    remember(2, owner="B")
    refused = api.post(ERASE, {"apiKeyId": "A", "confirm": 4})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "wrong_count")
    answer = api.post(ERASE, {"apiKeyId": "A", "confirm": 5})
    job = answer.json()["job"]
    assert (answer.status_code, job["kind"], job["total"]) == (202, "erase", 5)
    assert api.post(ERASE, {"apiKeyId": "A", "confirm": 5}).json()["job"]["id"] == job["id"]
    assert Memory.objects.owned_by("A").count() == 5
    do_jobs("memory.erase_scope")
    done = read_job(api, job)
    receipt = done["result"]["receipt"]
    assert (done["state"], done["done"], done["result"]["dryRun"]) == ("done", 5, False)
    assert (receipt["apiKeyId"], receipt["isProven"]) == ("A", receipt["isFileClean"])
    [memories] = [place for place in receipt["places"] if place["name"] == "memories"]
    assert (memories["before"], memories["after"]) == (5, 0)
    assert Memory.objects.owned_by("A").count() == 0
    assert Memory.objects.owned_by("B").count() == 2


def test_a_receipt_tells_what_there_was_before_a_worker_died(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(5)
    job = api.post(ERASE, {"apiKeyId": "A", "confirm": 5}).json()["job"]
    claimed = claim_next("memory.erase_scope")
    assert claimed is not None

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(runs, "advance", die)
        with pytest.raises(KeyboardInterrupt):
            run_job(claimed)
    assert Memory.objects.owned_by("A").count() == 3
    run_job(claimed)
    receipt = read_job(api, job)["result"]["receipt"]
    [memories] = [place for place in receipt["places"] if place["name"] == "memories"]
    assert (memories["before"], memories["after"]) == (5, 0)


def test_a_small_erasure_answers_its_receipt(api: Api) -> None:
    remember(2)
    answer = api.post(ERASE, {"apiKeyId": "A", "confirm": 2})
    assert (answer.status_code, answer.json()["receipt"]["apiKeyId"]) == (200, "A")


def test_an_unknown_job_is_a_404_in_words(api: Api) -> None:
    answer = api.get("/api/memory/jobs/864367bd-83fe-445b-b382-139023d1bc70")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_old_jobs_are_forgotten_by_the_daily_upkeep(api: Api) -> None:
    remember(5)
    job = api.post(UNDO, {"undoId": delete_all()}).json()["job"]
    do_jobs("memory.undo_change")
    background.forget_old_work()
    assert read_job(api, job)["state"] == "done"
    BackgroundWork.objects.update(created_at=timezone.now() - timedelta(days=background.KEEP_DAYS, seconds=1))
    tasks.do_upkeep({})
    assert api.get(f"/api/memory/jobs/{job['id']}").status_code == 404
