"""What an import does to what is stored: whose rows become, which wins, what stays, and that it can be undone."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connections
from django.utils import timezone

from memory import corrections
from memory.backends.manager import get_backend
from memory.config import MEMORY_SECTION
from memory.models import HEALTH_CHECK_OWNER, Memory
from memory.records import MemoryFilter
from memory.transfer import ImportOptions, export_array, run_import
from tests.transfer.stored import count, list_contents, load, plan, remember, run

pytestmark = pytest.mark.django_db
LONG_AGO = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)


def make_rows(number, **fields):
    return [{"key": f"k{n}", "content": f"content {n}", **fields} for n in range(1, number + 1)]


# --- whose they are ---
@pytest.mark.parametrize("named", [{"apiKeyId": "B"}, {"apiKeyId": "B", "id": "theirs"}, {"id": "theirs"}, {}])
def test_rw_067_an_import_never_touches_another_owners_row(write, named):
    theirs = remember("I prefer tea", owner="B", key="preference:tea")
    if "id" in named:
        named = {**named, "id": theirs.id}
    file = write([{"key": "preference:tea", "content": "I prefer tea, or coffee", **named}])
    done = run(file, "A")
    assert count(done) == {"new": 1}
    assert load("B") == [theirs]
    [mine] = load("A")
    assert (mine.key, mine.content) == ("preference:tea", "I prefer tea, or coffee")
    assert mine.id != theirs.id


def test_rw_067_a_row_without_a_key_and_with_another_owners_id_becomes_a_row_of_ones_own_and_only_once(write):
    theirs = remember("mine", owner="B", key="")
    file = write([{"id": theirs.id, "content": "taken over"}])
    assert count(run(file, "A")) == {"new": 1}
    assert count(run(file, "A")) == {"unchanged": 1}
    assert load("B") == [theirs]
    assert list_contents("A") == ["taken over"]


def test_owners_are_kept_when_the_operator_says_so(write):
    file = write([*make_rows(2, apiKeyId="B"), {"content": "of nobody"}])
    run(file, "", keeps_owners=True)
    assert list_contents("B") == ["content 1", "content 2"]
    assert list_contents("") == ["of nobody"]


def test_one_owner_of_the_file_can_be_chosen_and_the_others_are_left_out_with_a_reason(write):
    file = write([{"content": "of B", "apiKeyId": "B"}, {"content": "of C", "apiKeyId": "C"}, {"content": "of nobody"}])
    done = run(file, "A", source_owner="C")
    assert count(done) == {"new": 1, "left_out": 2}
    assert list_contents("A") == ["of C"]
    assert [(problem.row, problem.outcome) for problem in done.problems] == [(1, "left_out"), (3, "left_out")]
    assert done.owners == {"B": 1, "C": 1}


def test_a_file_of_several_owners_is_pointed_out(write):
    file = write([{"content": "of B", "apiKeyId": "B"}, {"content": "of C", "apiKeyId": "C"}])
    assert any("names 2 owners" in note for note in plan(file).notes)
    assert not any("owners" in note for note in plan(file, source_owner="B").notes)


def test_rows_of_the_self_test_are_refused(write):
    done = run(write([{"content": "x", "apiKeyId": HEALTH_CHECK_OWNER}]), "A", keeps_owners=True)
    assert count(done) == {"invalid": 1}


# --- the same thing again ---
def test_rw_068_a_second_import_changes_nothing(write):
    file = write(make_rows(50))
    assert count(run(file)) == {"new": 50}
    before = load()
    assert count(run(file)) == {"unchanged": 50}
    assert load() == before


def test_rw_068_of_rows_with_one_key_the_last_of_the_file_wins(write):
    done = run(write([{"key": "k", "content": content} for content in "123"]))
    assert count(done) == {"new": 1, "repeated": 2}
    assert [problem.row for problem in done.problems] == [1, 2]
    assert list_contents() == ["3"]


def test_rw_068_the_last_row_wins_also_when_batches_lie_between(write):
    rows = [{"key": "k", "content": "first"}, *make_rows(450), {"key": "k", "content": "last"}]
    done = run(write(rows))
    assert count(done) == {"new": 451, "repeated": 1}
    assert [record.content for record in load() if record.key == "k"] == ["last"]


def test_rw_068_rows_older_than_what_is_stored_stay_out_every_time_unless_the_file_is_to_win(write):
    stored = remember("as it is now", key="k")
    old = (stored.updated_at - timedelta(days=1)).isoformat()
    file = write([{"key": "k", "content": "as it was", "updatedAt": old}])
    for _ in range(2):
        done = run(file)
        assert count(done) == {"older": 1}
        assert "changed later" in done.problems[0].reason
    assert load() == [stored]
    assert count(run(file, overwrites=True)) == {"update": 1}
    assert list_contents() == ["as it was"]


def test_a_file_edited_by_hand_after_an_export_is_not_taken_for_older(write):
    """The API's shape tells times to the millisecond, the database keeps more."""
    remember("wrong", key="k")
    file = write(b"".join(export_array(MemoryFilter("A"))).replace(b"wrong", b"right"))
    assert count(run(file)) == {"update": 1}
    assert list_contents() == ["right"]


@pytest.mark.django_db(transaction=True)
def test_rw_068_two_imports_of_one_file_at_once_end_as_one(write):
    file = write(make_rows(300))

    def import_file(_):
        try:
            return run_import(file, ImportOptions(owner="A")).plan
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(import_file, range(2)))
    assert sorted(list_contents()) == sorted(f"content {n}" for n in range(1, 301))
    assert sum(plan.counts["new"] for plan in done) == 300
    assert all(sum(plan.counts.values()) == 300 for plan in done)


# --- what is kept of what was there ---
def test_an_update_keeps_the_id_and_the_time_of_creation_and_all_that_the_file_does_not_tell(write):
    stored = remember("old", key="k", type="semantic", session_id="s", metadata={"a": 1})
    assert count(
        run(write([{"key": "k", "content": "new", "createdAt": LONG_AGO.isoformat(), "updatedAt": None}]))
    ) == {"older": 1}
    assert count(run(write([{"key": "k", "content": "new"}]))) == {"update": 1}
    [now] = load()
    assert (now.id, now.created_at, now.type, now.session_id, now.metadata) == (
        stored.id,
        stored.created_at,
        "semantic",
        "s",
        {"a": 1},
    )
    assert now.content == "new"
    assert now.updated_at > stored.updated_at


def test_an_expiry_is_taken_away_only_by_a_file_that_has_a_place_for_it(write):
    expires_at = timezone.now() + timedelta(days=3)
    remember("old", key="k", expires_at=expires_at)
    run(write([{"key": "k", "content": "new"}]))
    assert load()[0].expires_at == expires_at
    run(write([{"key": "k", "content": "newer", "expiresAt": None}]))
    assert load()[0].expires_at is None


# --- times ---
def test_times_of_the_file_are_kept_and_those_beyond_retention_are_pointed_out(write):
    file = write([{"content": "old", "createdAt": LONG_AGO.isoformat()}, {"content": "new"}])
    done = run(file)
    assert load()[0].created_at == load()[0].updated_at == LONG_AGO
    [note] = [note for note in done.notes if "retention" in note]
    assert "more than 30 days ago: 1" in note


def test_retention_can_count_from_the_import(write):
    file = write([{"content": "old", "createdAt": LONG_AGO.isoformat()}])
    done = run(file, refreshes=True)
    [record] = load()
    assert record.created_at == LONG_AGO
    assert timezone.now() - record.updated_at < timedelta(minutes=1)
    assert not done.notes
    assert count(run(file, refreshes=True)) == {"unchanged": 1}


def test_rw_069_times_in_the_future_are_taken_for_not_told(write):
    file = write(
        [{"key": "k", "content": "c", "createdAt": "2999-01-01T00:00:00Z", "updatedAt": "2999-01-01T00:00:00Z"}]
    )
    done = run(file)
    assert load()[0].created_at <= timezone.now()
    assert any("future" in note for note in done.notes)
    assert count(run(file)) == {"unchanged": 1}


# --- undo, jobs, other backends ---
def test_an_import_can_be_undone(write):
    kept = remember("as it was", key="k2")
    file = write(make_rows(3))
    report = run_import(file, ImportOptions(owner="A"))
    assert report.undo_id is not None
    assert len(load()) == 3
    corrections.undo(report.undo_id)
    assert load() == [kept]


def test_an_import_that_changes_nothing_keeps_nothing_to_undo(write):
    file = write(make_rows(3))
    run(file)
    assert run_import(file, ImportOptions(owner="A")).undo_id is None


def test_a_plan_writes_nothing(write):
    stored = remember("as it was", key="k1")
    assert count(plan(write(make_rows(3)))) == {"new": 2, "update": 1}
    assert load() == [stored]


def test_progress_is_told_batch_by_batch(write):
    told = []
    run_import(write(make_rows(450)), ImportOptions(owner="A"), tell=lambda done, total: told.append((done, total)))
    assert told == [(200, 450), (400, 450), (450, 450)]


def test_an_import_that_was_killed_in_the_middle_ends_the_same_when_it_is_done_again(write):
    file = write(make_rows(450))

    class KilledError(Exception):
        pass

    def kill(done, total):
        if done == 200:
            raise KilledError

    with pytest.raises(KilledError):
        run_import(file, ImportOptions(owner="A"), tell=kill)
    assert len(load()) == 200
    assert count(run(file)) == {"new": 250, "unchanged": 200}
    assert Memory.objects.owned_by("A").count() == 450


def test_imported_memories_wait_for_their_vectors_and_are_found_by_their_words(write):
    run(write([{"content": "The kitchen is painted ultramarine"}]))
    assert Memory.objects.owned_by("A").get().needs_reindex
    backend = get_backend("sqlite")
    assert MEMORY_SECTION.read()["primaryBackend"] == "sqlite"
    assert backend.list(MemoryFilter("A", text="ultramarine"), limit=5, offset=0).total == 1
