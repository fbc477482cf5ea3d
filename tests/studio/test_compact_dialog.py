"""The dialog that compacts: many memories are counted by a job, and an old count is never told as a new one."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from core.jobs.execution import run_job
from core.jobs.models import Job
from core.jobs.queue import claim_next
from memory import services
from memory.backends.base import MemoryChanges
from memory.models import BackgroundWork, Memory
from memory.summarization import counting, runs
from tests.studio.compact_dialog import COMPACT, ask, do_jobs, list_jobs, remember

MEMORY = "/dashboard/memory"

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("three_are_many_to_compact")]


def test_a_few_are_counted_at_once(staff):
    remember(3)
    dialog = ask(staff)
    assert "Compact 3 memories" in dialog
    assert "3 memories would be compacted; summaries written: 1" in dialog
    assert "Counted" not in dialog
    assert not list_jobs("memory.count_old")


def test_many_are_counted_by_one_job_that_every_page_finds(staff):
    remember(5)
    for _ in range(3):
        dialog = ask(staff)
        assert "Counting what would be compacted" in dialog
        assert "0 of 5 memories" in dialog
        assert re.search(r'id="compact-go" disabled', dialog)
        assert 'hx-trigger="every 1s"' in dialog
    assert len(list_jobs("memory.count_old")) == 1
    do_jobs()
    dialog = ask(staff)
    assert "Compact 5 memories" in dialog
    assert "Counted" in dialog
    assert "every 1s" not in dialog
    assert Memory.objects.count() == 5


def test_each_choice_is_counted_by_itself(staff):
    remember(4)
    remember(5, owner="B")
    ask(staff)
    ask(staff, owner="B")
    ask(staff, owner="B", days=20)
    do_jobs()
    assert "Compact 9 memories" in ask(staff)
    assert "Compact 5 memories" in ask(staff, owner="B", days=20)


def test_how_far_a_count_is_is_seen_while_it_runs(staff, monkeypatch):
    for session_id in ("s", "t"):
        remember(3, session_id=session_id)
    monkeypatch.setattr(runs, "READ_ROWS", 1)
    ask(staff)
    seen: list[str] = []
    plan_group = runs.plan_group

    def look_first(*args: Any) -> Any:
        seen.extend(re.findall(r"\d of 6 memories", ask(staff)))
        return plan_group(*args)

    monkeypatch.setattr(runs, "plan_group", look_first)
    do_jobs()
    assert seen == ["0 of 6 memories", "3 of 6 memories"]


def test_what_was_counted_is_kept_for_a_while_and_says_when_memories_have_changed_since(staff):
    remember(4)
    ask(staff)
    do_jobs()
    assert "Memories have changed since" not in ask(staff)
    services.update(Memory.objects.all()[0].uuid, MemoryChanges(content="tea"))
    assert "Memories have changed since this was counted" in ask(staff)
    work = BackgroundWork.objects.get(kind="count")
    work.answer["countedAt"] = (timezone.now() - timedelta(seconds=counting.KEEP_SECONDS + 1)).isoformat()
    work.save()
    assert "Counting what would be compacted" in ask(staff)


def test_it_is_counted_again_on_demand_and_once_only(staff):
    remember(4)
    ask(staff)
    ask(staff, again="1")
    do_jobs()
    remember(2, session_id="s")
    assert "Compact 4 memories" in ask(staff)
    for _ in range(2):
        assert "Counting what would be compacted" in ask(staff, again="1")
    assert len(list_jobs("memory.count_old")) == 1
    do_jobs()
    assert "Compact 6 memories" in ask(staff)


def test_a_count_that_was_killed_begins_anew(staff, monkeypatch):
    for session_id in ("s", "t"):
        remember(3, session_id=session_id)
    monkeypatch.setattr(runs, "READ_ROWS", 1)
    ask(staff)
    job = claim_next("memory.count_old")
    assert job is not None
    plan_group, calls = runs.plan_group, []

    def die_at_the_second(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plan_group(*args)

    with monkeypatch.context() as patched:
        patched.setattr(runs, "plan_group", die_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            run_job(job)
    assert "3 of 6 memories" in ask(staff)
    run_job(job)
    assert "Compact 6 memories" in ask(staff)
    run_job(job)
    assert "Compact 6 memories" in ask(staff)


def test_a_count_that_was_given_up_says_why_and_can_be_asked_for_again(staff):
    remember(4)
    ask(staff)
    Job.objects.filter(name="memory.count_old").update(state=Job.State.DEAD, error="the disk is full")
    dialog = ask(staff)
    assert "Counting was given up: the disk is full" in dialog
    assert re.search(r'id="compact-go" disabled', dialog)
    assert "every 1s" not in dialog
    assert "Counting what would be compacted" in ask(staff, again="1")
    do_jobs()
    assert "Compact 4 memories" in ask(staff)


def test_a_count_whose_job_was_deleted_is_made_anew(staff):
    remember(4)
    ask(staff)
    Job.objects.filter(name="memory.count_old").delete()
    ask(staff)
    do_jobs()
    assert "Compact 4 memories" in ask(staff)


def test_a_count_that_nobody_waits_for_any_more_ends(staff, monkeypatch):
    remember(4)
    dialog = ask(staff, days=3)
    assert 'name="counting" value="3:"' in dialog
    ask(staff, days=30, counting="3:")
    assert BackgroundWork.objects.get(kind="count").notes["days"] == 30
    planned = []
    monkeypatch.setattr(runs, "plan_group", lambda *args: planned.append(args))
    job = claim_next("memory.count_old")
    assert job is not None and job.payload["days"] == 3
    run_job(job)
    assert planned == []


def test_a_count_that_is_done_is_not_dropped_when_another_choice_is_made(staff):
    remember(4)
    ask(staff)
    do_jobs()
    ask(staff, days=31, counting="30:")
    assert "Compact 4 memories" in ask(staff)


def test_without_a_script_a_button_counts_and_a_link_looks_again(staff):
    remember(4)
    page = staff.post(COMPACT, {"days": "35", "owner": "A", "count": "1", "next": f"{MEMORY}?key=A"}).content.decode()
    assert Memory.objects.count() == 4
    [again] = re.findall(rf'<a href="({COMPACT}\?[^"]+)">Look again</a>', page)
    do_jobs()
    page = staff.get(again.replace("&amp;", "&")).content.decode()
    assert "Compact 4 memories" in " ".join(page.split())
    assert re.search(rf'name="next" value="{MEMORY}\?key=A"', page)


@pytest.mark.parametrize("query", [{"days": "0"}, {"days": "soon"}, {"counting": "x"}, {"counting": "0:A"}])
def test_nonsense_starts_nothing(staff, query):
    remember(2)
    answer = staff.get(COMPACT, {"days": "30", "owner": "", **query}, headers={"HX-Request": "true"})
    assert answer.status_code == (422 if "days" in query else 200)
    assert not list_jobs("memory.count_old")
