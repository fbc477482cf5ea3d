"""Compaction of many memories: few queries, short transactions, safe beside other writers and when it is killed."""

import io
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory import services
from memory.backends import old_rows
from memory.backends.base import MemoryChanges
from memory.management.commands import memory_compact
from memory.models import Compaction, Memory
from memory.records import MemoryDraft, MemoryRecord
from memory.summarization import (
    CompactionScope,
    count_compaction,
    make_scope,
    plans,
    run_compaction,
    summarize_older_than,
    undo_compaction,
)

pytestmark = pytest.mark.django_db

UNDO_ID = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
STORY = "Note {number} says what this is about. " + "The rest of it only goes on and on. " * 9


def remember(owner: str, session_id: str, count: int) -> list[MemoryRecord]:
    drafts = (
        MemoryDraft(owner, f"{session_id}{number}", STORY.format(number=number), session_id=session_id)
        for number in range(count)
    )
    records = [services.create(draft) for draft in drafts]
    Memory.objects.owned_by(owner).update(created_at=timezone.now() - timedelta(days=40))
    return records


def old() -> CompactionScope:
    return make_scope(None, 30)


def when_looked_at(count: int, act: Callable[[], Any]) -> Callable[[int, int], None]:
    """Act when so many memories were gone through: whatever is planned next was read before that."""

    def tell(done: int, total: int) -> None:
        if done == count and calls:
            calls.pop()()

    calls = [act]
    return tell


def test_many_groups_are_planned_with_as_few_queries_as_one():
    remember("A", "s", 2)
    with CaptureQueriesContext(connection) as few:
        count_compaction(old())
    for number in range(12):
        remember("AB"[number % 2], f"s{number}", 2)
    with CaptureQueriesContext(connection) as many:
        figures = count_compaction(old())
    assert figures.summaries == 13
    assert len(many) == len(few)


def test_more_than_one_statement_reads_gives_the_same(monkeypatch):
    for number in range(5):
        remember("A", f"s{number}", number)
    at_once = summarize_older_than(None, 30, is_dry_run=True)
    monkeypatch.setattr("memory.summarization.runs.READ_ROWS", 1)
    assert summarize_older_than(None, 30, is_dry_run=True) == at_once


def test_figures_are_those_of_the_report_and_of_the_run():
    remember("A", "s", 4)
    remember("A", "t", 3)
    remember("B", "", 1)
    report = summarize_older_than(None, 30, is_dry_run=True)
    figures = count_compaction(old())
    assert (figures.memories, figures.summaries, figures.left_alone) == (7, 2, 1)
    assert (figures.tokens, figures.tokens_saved) == (report.total_tokens, report.tokens_saved)
    assert run_compaction(old(), UNDO_ID) == figures


def test_how_far_it_is_is_told_to_the_end_also_within_a_group():
    remember("A", "s", 3)
    remember("A", "t", 1)
    told: list[tuple[int, int]] = []
    run_compaction(old(), UNDO_ID, tell=lambda done, total: told.append((done, total)))
    assert told[0] == (0, 4)
    assert told[-1] == (4, 4)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_what_is_changed_between_the_plan_and_its_turn_is_summarized_as_it_is_then():
    remember("A", "s", 2)
    changed = remember("A", "t", 3)[1]
    change = when_looked_at(2, lambda: services.update(changed.id, MemoryChanges(content=f"Coffee. {STORY}")))
    run_compaction(old(), UNDO_ID, tell=change)
    content = Memory.objects.get(session_id="t").content
    assert content.startswith("Summary of 3 memories:\n")
    assert content.splitlines()[2].startswith("[factual] Coffee.")
    undo_compaction(UNDO_ID)
    assert Memory.objects.get(uuid=changed.id).content == f"Coffee. {STORY}"


@pytest.mark.parametrize(
    "leave",
    [
        lambda rows: rows.delete(),
        lambda rows: rows.update(session_id="elsewhere"),
        lambda rows: rows.update(api_key_id="B"),
        lambda rows: rows.update(expires_at=timezone.now() + timedelta(days=1)),
        lambda rows: rows.update(created_at=timezone.now()),
    ],
)
def test_what_left_the_group_between_the_plan_and_its_turn_is_in_no_summary(leave):
    remember("A", "s", 2)
    gone = remember("A", "t", 3)[1]
    run_compaction(old(), UNDO_ID, tell=when_looked_at(2, lambda: leave(Memory.objects.filter(uuid=gone.id))))
    content = Memory.objects.owned_by("A").get(session_id="t", metadata__summary=True).content
    assert content.startswith("Summary of 2 memories:\n")
    assert "Note 1 " not in content


def test_a_group_of_which_one_is_left_at_its_turn_stays_as_it_is():
    remember("A", "s", 2)
    ids = [record.id for record in remember("A", "t", 2)]
    figures = run_compaction(old(), UNDO_ID, tell=when_looked_at(2, lambda: services.delete(ids[0])))
    assert (figures.summaries, figures.left_alone) == (1, 1)
    assert Memory.objects.get(session_id="t").uuid == ids[1]


@pytest.mark.parametrize(("is_terminal", "ending"), [(True, "\r"), (False, "\n")])
def test_the_command_tells_on_stderr_how_far_it_is_when_that_takes_a_while(monkeypatch, is_terminal, ending):
    remember("A", "s", 3)

    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return is_terminal

    for name in ("QUIET_SECONDS", "TERMINAL_SECONDS", "LOG_SECONDS"):
        monkeypatch.setattr(memory_compact, name, 0.0)
    told, answer = Stream(), io.StringIO()
    call_command("memory_compact", "--dry-run", stdout=answer, stderr=told)
    assert told.getvalue().startswith(f"0 of 3 memories{ending}")
    assert told.getvalue().endswith("\n")
    assert "of 3 memories" not in answer.getvalue()


def test_the_command_is_quiet_when_it_takes_no_time():
    remember("A", "s", 3)
    told = io.StringIO()
    call_command("memory_compact", "--dry-run", stdout=io.StringIO(), stderr=told)
    assert told.getvalue() == ""


@pytest.fixture
def parts_of_two(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A summary holds two lines."""
    monkeypatch.setattr(plans, "MAX_CONTENT_CHARACTERS", 320)
    yield


@pytest.mark.usefixtures("parts_of_two")
def test_of_a_long_group_each_summary_replaces_its_memories_by_itself():
    records = remember("A", "s", 6)
    planned = [part.records for part in plan_of("A", records).parts]
    assert [len(part) for part in planned] == [2, 2, 2]
    calls: list[int] = []

    def fail_at_the_second(done: int, total: int) -> None:
        calls.append(done)
        if done == 2:
            with connection.cursor() as cursor:
                cursor.execute("CREATE TRIGGER broken BEFORE INSERT ON memories BEGIN SELECT RAISE(ABORT, 'no'); END")

    with pytest.raises(DatabaseError, match="no"):
        run_compaction(old(), UNDO_ID, tell=fail_at_the_second)
    assert Memory.objects.filter(uuid__in=[record.id for record in records]).count() == 4
    assert Memory.objects.filter(metadata__summary=True).count() == 1
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER broken")
    run_compaction(old(), UNDO_ID)
    assert Compaction.objects.get().uuid == UNDO_ID
    assert undo_compaction(UNDO_ID).restored_count == 6
    assert set(Memory.objects.values_list("uuid", flat=True)) == {record.id for record in records}


def plan_of(owner: str, records: list[MemoryRecord]) -> plans.GroupPlan:
    plan = plans.plan_group(owner, "s", old_rows.load_in_order([record.memory_id for record in records]))
    assert isinstance(plan, plans.GroupPlan)
    return plan
