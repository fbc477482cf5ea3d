"""Compaction below the doors and through commands and jobs: shortening in place, parts, the schedule, the archive."""

import io
import re
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from core.errors import ConflictError
from core.jobs import runner
from core.jobs.models import Job
from core.jobs.queue import enqueue
from memory import services
from memory.backends import archive
from memory.backends.base import MemoryChanges
from memory.models import Compaction, Memory, MemoryArchive
from memory.records import MemoryDraft, MemoryRecord
from memory.search.ranking import estimate_tokens
from memory.summarization import summarize_in_place, summarize_older_than, undo_compaction
from memory.summarization.plans import MAX_CONTENT_CHARACTERS, GroupPlan, LeftAlone, plan_group

SENTENCES = "Alpha. Beta. Gamma. Delta."
LONG = "The first of many sentences says what this is about. " + "The rest of them only go on and on. " * 12


def remember(content: str, *, key: str = "", owner: str = "A", days: float = 0, session_id: str = "") -> MemoryRecord:
    """Store a memory that was created so many days ago."""
    record = services.create(MemoryDraft(owner, key, content, session_id=session_id))
    Memory.objects.filter(uuid=record.id).update(created_at=timezone.now() - timedelta(days=days))
    return record


def read_content(record: MemoryRecord) -> str:
    return Memory.objects.get(uuid=record.id).content


def call(*words: str) -> str:
    output = io.StringIO()
    call_command(*words, stdout=output)
    return output.getvalue()


def make_record(content: str, number: int = 0, **fields) -> MemoryRecord:
    now = timezone.now()
    values = {"key": "", "type": "factual", "metadata": {}, **fields}
    return MemoryRecord(
        number, f"id-{number}", "A", "", values["type"], values["key"], content, values["metadata"], now, now, None
    )


# --- plans ---
def test_a_line_keeps_as_much_as_still_saves_a_good_share():
    roomy = plan_group(
        "A", "", [make_record("Tea is good. It is green. " + "And so on it goes. " * 60, n) for n in range(2)]
    )
    assert isinstance(roomy, GroupPlan)
    assert "It is green." in roomy.parts[0].content
    tight = plan_group("A", "", [make_record("Tea is good. It is green. It is hot today.", n) for n in range(6)])
    assert isinstance(tight, GroupPlan)
    assert tight.parts[0].content.splitlines()[1:] == ["[factual] Tea is good."] * 6
    assert tight.parts[0].tokens_saved > 0


def test_many_memories_get_shorter_lines_before_the_summary_gets_long():
    plan = plan_group("A", "", [make_record(LONG, number) for number in range(100)])
    assert isinstance(plan, GroupPlan)
    assert len(plan.parts) == 1
    assert len(plan.parts[0].content) <= 8000


def test_what_one_content_cannot_hold_becomes_parts():
    records = [make_record(LONG, number) for number in range(2500)]
    plan = plan_group("A", "s", records)
    assert isinstance(plan, GroupPlan)
    assert len(plan.parts) == 2
    assert [record for part in plan.parts for record in part.records] == records
    for number, part in enumerate(plan.parts, start=1):
        assert len(part.content) <= MAX_CONTENT_CHARACTERS
        assert part.content.startswith(f"Summary of {len(part.records)} memories (part {number} of 2):\n")
        assert len(part.content.splitlines()) == len(part.records) + 1


@pytest.mark.parametrize("contents", [["ok."] * 9, ["tea"], [LONG], ["茶。"] * 3, ["🎉"] * 2, ["", ""]])
def test_a_summary_that_would_not_be_shorter_is_not_planned(contents):
    plan = plan_group("A", "", [make_record(content, number) for number, content in enumerate(contents)])
    assert isinstance(plan, LeftAlone)
    assert plan.count == len(contents)


# --- in place (contract 8.1) ---
@pytest.mark.django_db
def test_without_memories_there_is_nothing_to_shorten():
    report = summarize_in_place("A")
    assert (report.original_count, report.summarized_count, report.tokens_saved, report.undo_id) == (0, 0, 0, None)


@pytest.mark.django_db
def test_the_newest_that_fit_stay_and_every_older_one_keeps_three_sentences():
    older = [remember(SENTENCES, days=day) for day in (3, 2)]
    newest = remember(SENTENCES, days=1)
    foreign = remember(SENTENCES, owner="B")
    report = summarize_in_place("A", max_tokens=estimate_tokens(SENTENCES))
    assert [read_content(record) for record in older] == ["Alpha. Beta. Gamma."] * 2
    assert read_content(newest) == read_content(foreign) == SENTENCES
    assert (report.original_count, report.summarized_count) == (3, 2)
    assert report.tokens_saved == 2 * (estimate_tokens(SENTENCES) - estimate_tokens("Alpha. Beta. Gamma."))


@pytest.mark.django_db
def test_a_budget_of_nothing_shortens_all_and_a_short_memory_counts_but_saves_nothing():
    remember("ok.")
    kept = remember("一。二。三。四。五。")
    report = summarize_in_place("A", max_tokens=0)
    assert (report.original_count, report.summarized_count, report.shortened_count) == (2, 2, 1)
    assert read_content(kept) == "一。二。三。"
    again = summarize_in_place("A", max_tokens=0)
    assert (again.summarized_count, again.shortened_count, again.tokens_saved, again.undo_id) == (2, 0, 0, None)


@pytest.mark.django_db
def test_only_the_named_session_is_shortened():
    ours, other = remember(SENTENCES, session_id="s"), remember(SENTENCES, session_id="t")
    assert summarize_in_place("A", "s", 0).original_count == 1
    assert (read_content(ours), read_content(other)) == ("Alpha. Beta. Gamma.", SENTENCES)


@pytest.mark.django_db
def test_a_summary_is_never_cut():
    for number in range(9):
        remember(LONG, key=f"k{number}", days=40)
    summary_id = summarize_older_than("A", 30).summaries[0].id
    before = Memory.objects.get(uuid=summary_id).content
    assert summarize_in_place("A", max_tokens=0).summarized_count == 0
    assert Memory.objects.get(uuid=summary_id).content == before


@pytest.mark.django_db
def test_shortening_is_undone_to_the_letter_and_is_no_refreshing():
    record = remember(f"  {SENTENCES}\n", key="k", days=5)
    before = Memory.objects.filter(uuid=record.id).values().get()
    report = summarize_in_place("A", max_tokens=0)
    row = Memory.objects.get(uuid=record.id)
    assert (row.updated_at, row.needs_reindex) == (before["updated_at"], True)
    undone = undo_compaction(report.undo_id)
    assert (undone.restored_count, undone.removed_summaries) == (1, ())
    assert Memory.objects.filter(uuid=record.id).values().get() == before


@pytest.mark.django_db
def test_shortened_memories_that_were_changed_or_deleted_since_are_not_overwritten():
    changed, deleted, untouched = (remember(SENTENCES, key=key) for key in ("a", "b", "c"))
    report = summarize_in_place("A", max_tokens=0)
    services.update(changed.id, MemoryChanges(content="mine"))
    services.delete(deleted.id)
    with pytest.raises(ConflictError, match="was changed since") as refusal:
        undo_compaction(report.undo_id)
    assert f"{deleted.id} was deleted since" in refusal.value.message
    assert read_content(untouched) == "Alpha. Beta. Gamma."
    undone = undo_compaction(report.undo_id, is_forced=True)
    assert (undone.restored_count, len(undone.kept_newer)) == (1, 2)
    assert (read_content(changed), read_content(untouched)) == ("mine", SENTENCES)
    assert not Memory.objects.filter(uuid=deleted.id).exists()


@pytest.mark.django_db
def test_a_later_compaction_is_undone_before_an_earlier_one():
    records = [remember(LONG, key=f"k{number}", days=40) for number in range(3)]
    first = summarize_in_place("A", max_tokens=0).undo_id
    second = summarize_older_than("A", 30).undo_id
    with pytest.raises(ConflictError, match="was deleted since"):
        undo_compaction(first)
    undo_compaction(second)
    undo_compaction(first)
    assert [read_content(record) for record in records] == [LONG] * 3


# --- the archive ---
def test_the_archive_has_every_column_of_a_memory_but_the_flags_of_its_index_entry():
    flags = {"needs_reindex", "index_attempts", "index_retry_at"}
    columns = {field.name for field in Memory._meta.concrete_fields}
    assert set(archive.ARCHIVED_FIELDS) == columns - flags
    assert columns - flags <= {field.name for field in MemoryArchive._meta.concrete_fields}


@pytest.mark.django_db
def test_archives_whose_time_is_over_are_purged_and_others_stay():
    for owner in ("A", "B"):
        for number in range(2):
            remember(LONG, key=f"k{number}", owner=owner, days=40)
    over = summarize_older_than("A", 30).undo_id
    kept = summarize_older_than("B", 30).undo_id
    Compaction.objects.filter(uuid=over).update(expires_at=timezone.now())
    enqueue("memory.purge_archives", {})
    runner.run_waiting_jobs()
    assert list(Compaction.objects.values_list("uuid", flat=True)) == [kept]
    assert set(MemoryArchive.objects.values_list("api_key_id", flat=True)) == {"B"}


# --- the schedule ---
@pytest.mark.django_db
def test_the_scheduled_job_compacts_only_while_the_setting_is_on():
    for owner in ("A", "B"):
        for number in range(2):
            remember(LONG, key=f"k{number}", owner=owner, days=20)
    enqueue("memory.compact_old", {})
    runner.run_waiting_jobs()
    assert Memory.objects.count() == 4
    services.change_settings({"autoSummarize": True, "autoSummarizeOlderThanDays": 10})
    for _ in range(2):
        enqueue("memory.compact_old", {})
        runner.run_waiting_jobs()
    assert sorted(Memory.objects.values_list("api_key_id", "type")) == [("A", "semantic"), ("B", "semantic")]
    assert not Job.objects.exclude(state=Job.State.DONE).exists()


# --- commands ---
@pytest.mark.django_db
def test_memory_compact_tells_what_it_did_and_memory_undo_undoes_it():
    for number in range(3):
        remember(LONG, key=f"k{number}", days=40)
    remember("ok.", owner="B", days=40)
    assert call("memory_undo") == "There is nothing to undo\n"
    dry = call("memory_compact", "--dry-run")
    assert "owner A: 3 memories would become summary" in dry
    assert "memory_undo" not in dry
    assert Memory.objects.count() == 4
    told = call("memory_compact", "--older-than-days", "39")
    assert "owner A: 3 memories became summary" in told
    assert "owner B: left alone: 1, " in told
    undo_id = re.search(r"memory_undo (\S+)", told)[1]
    assert f"{undo_id}  " in call("memory_undo")
    assert "Memories put back: 3; summaries removed: 1" in call("memory_undo", undo_id)
    assert "undone before" in call("memory_undo", undo_id)
    assert "undone 2" in call("memory_undo")
    assert Memory.objects.count() == 4


@pytest.mark.django_db
def test_memory_compact_narrows_to_an_owner_and_a_session():
    for owner in ("A", "B"):
        for session_id in ("", "s"):
            for number in range(2):
                remember(LONG, key=f"{session_id}{number}", owner=owner, session_id=session_id, days=40)
    told = call("memory_compact", "--owner", "B", "--session", "s")
    assert "owner B, session s: 2 memories became" in told
    assert Memory.objects.count() == 7


@pytest.mark.django_db
def test_memory_compact_shortens_in_place():
    record = remember(SENTENCES)
    words = ("memory_compact", "--in-place", "--owner", "A", "--max-tokens", "0")
    assert "beyond the budget: 1; would be shortened: 1;" in call(*words, "--dry-run")
    assert read_content(record) == SENTENCES
    told = call(*words)
    assert read_content(record) == "Alpha. Beta. Gamma."
    call("memory_undo", re.search(r"memory_undo (\S+)", told)[1])
    assert read_content(record) == SENTENCES


@pytest.mark.django_db
def test_a_forced_undo_says_what_it_kept():
    for number in range(2):
        remember(LONG, key=f"k{number}", days=40)
    undo_id = re.search(r"memory_undo (\S+)", call("memory_compact"))[1]
    remember("newer", key="k1")
    with pytest.raises(CommandError, match="'k1' of owner 'A' was taken by a newer memory"):
        call("memory_undo", undo_id)
    assert "Kept what is newer: the key 'k1'" in call("memory_undo", undo_id, "--force")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "words",
    [
        ("memory_compact", "--older-than-days", "0"),
        ("memory_compact", "--in-place"),
        ("memory_compact", "--in-place", "--owner", "A", "--max-tokens", "-1"),
        ("memory_undo", "nonsense"),
    ],
)
def test_wrong_words_are_one_line(words):
    with pytest.raises(CommandError):
        call(*words)
