"""Compaction of more memories than a page waits for is done by a job: whole, once, and to be undone."""

from typing import Any

import pytest

from core.jobs.execution import run_job
from core.jobs.queue import claim_next
from memory.erasing import places
from memory.models import BackgroundWork, Compaction, Memory
from memory.records import EraseScope
from memory.summarization import runs
from tests.studio.compact_dialog import COMPACT, ask, compact, do_jobs, list_jobs, remember

MEMORY = "/dashboard/memory"

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("three_are_many_to_compact")]


def test_many_are_compacted_by_a_job_which_plans_anew_and_tells_the_real_numbers(staff):
    remember(5)
    ask(staff)
    do_jobs()
    assert "Compact 5 memories" in ask(staff)
    remember(2, session_id="s")
    answer = compact(staff)
    assert "5 memories are being compacted in the background" in answer
    page = staff.get(MEMORY).content.decode()
    assert "Compacting in the background" in page
    assert "0 of 5 memories" in page
    do_jobs("memory.compact")
    assert Memory.objects.filter(metadata__summary=True).count() == Memory.objects.count() == 2
    told = staff.get(MEMORY).content.decode()
    assert "Compacted 7 memories into 2" in told
    assert f"{MEMORY}/undo/{Compaction.objects.get().uuid}" in told
    staff.post(f"{MEMORY}/undo/{Compaction.objects.get().uuid}")
    do_jobs("memory.undo_change")
    assert Memory.objects.count() == 7


def test_what_was_counted_before_a_compaction_is_not_shown_after_it(staff):
    remember(5)
    ask(staff)
    do_jobs()
    compact(staff)
    do_jobs("memory.compact")
    assert "Nothing to compact" in ask(staff)


def test_a_compaction_that_was_killed_goes_on_as_the_same_change(staff, monkeypatch):
    for session_id in ("s", "t"):
        remember(3, session_id=session_id)
    compact(staff)
    replace_with, calls = runs.archive.replace_with, []

    def die_at_the_second(*args: Any) -> None:
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        replace_with(*args)

    job = claim_next("memory.compact")
    assert job is not None
    with monkeypatch.context() as patched:
        patched.setattr(runs.archive, "replace_with", die_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            run_job(job)
    assert Memory.objects.count() == 4
    assert "3 of 6 memories" in staff.get(MEMORY).content.decode()
    assert BackgroundWork.objects.get(kind="compact").done == 3
    run_job(job)
    assert Memory.objects.count() == 2
    assert BackgroundWork.objects.get(kind="compact").done == 6
    assert Compaction.objects.get().originals.count() == 6


def test_a_second_compaction_waits_for_the_first(staff):
    remember(5)
    compact(staff)
    answer = staff.post(COMPACT, {"days": 30, "owner": ""}, headers={"HX-Request": "true"})
    assert answer.status_code == 409
    assert "being compacted already" in answer.content.decode()
    assert len(list_jobs("memory.compact")) == 1


def test_an_erasure_takes_the_jobs_of_its_owner_with_it(staff):
    remember(4)
    remember(4, owner="B")
    ask(staff)
    ask(staff, owner="A")
    ask(staff, owner="B")
    jobs, scope = places.Jobs(), EraseScope("A", None)
    assert jobs.count(scope) == 1
    jobs.erase(scope)
    assert sorted(str(job.payload["owner"]) for job in list_jobs("memory.count_old")) == ["B", "None"]
