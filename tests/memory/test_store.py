"""The store: upsert, isolation, the full-text index in step with its rows."""

import re
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from core.errors import ConflictError, NotFoundError
from memory import services
from memory.backends.base import MemoryChanges
from memory.backends.manager import get_primary
from memory.models import HEALTH_CHECK_OWNER, Memory
from memory.records import MemoryDraft, MemoryFilter, SearchQuery
from memory.rows import load_newest, load_records, load_usable, select_usable
from memory.search.keyword import count_fulltext_rows, rank_by_fulltext


def store(content: str, *, owner: str = "A", key: str = "", **fields):
    return services.create(MemoryDraft(owner, key, content, **fields))


def find(text: str, owner: str | None = "A", **fields) -> list[str]:
    """Contents that FTS5 matched, best first; rows that only stand in for lack of a match are left out."""
    outcome = get_primary().search(SearchQuery(owner, text, "hybrid", 30, **fields))
    return [hit.record.content for hit in outcome.hits if hit.keyword_score is not None]


def check_index() -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO memory_fts(memory_fts, rank) VALUES ('integrity-check', 1)")
    assert count_fulltext_rows() == Memory.objects.count()


@pytest.mark.django_db
def test_storing_a_key_again_updates_the_memory_and_merges_its_metadata():
    first = store("A", key="k", metadata={"a": 1}, session_id="s1")
    second = store("B", key="k", metadata={"b": 2})
    assert (second.id, second.created_at) == (first.id, first.created_at)
    assert (second.content, second.session_id, dict(second.metadata)) == ("B", "", {"a": 1, "b": 2})
    assert second.updated_at > first.updated_at


@pytest.mark.django_db
def test_keyless_memories_never_replace_one_another():
    assert store("one").id != store("two").id


@pytest.mark.django_db
def test_a_key_belongs_to_its_owner():
    ours, theirs = store("ours", key="k"), store("theirs", owner="B", key="k")
    assert ours.id != theirs.id
    assert [record.content for record in get_primary().list(MemoryFilter("A"), limit=9, offset=0).records] == ["ours"]


@pytest.mark.django_db(transaction=True)
def test_parallel_writers_of_one_key_leave_one_memory():
    errors: list[Exception] = []

    def write(number: int) -> None:
        try:
            for step in range(5):
                store(f"{number}-{step}", key="shared", metadata={f"w{number}": step})
        except Exception as error:  # noqa: BLE001  # whatever it is, the assertion below shows it
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    row = Memory.objects.get(api_key_id="A", key="shared")
    assert row.metadata == {f"w{number}": 4 for number in range(6)}, "a merge was lost"


@pytest.mark.django_db
def test_rw_040_only_the_current_text_of_a_memory_is_found():
    record = store("alpha bravo", key="k")
    services.update(record.id, MemoryChanges(content="charlie"))
    assert (find("alpha"), find("charlie")) == ([], ["charlie"])
    assert store("delta", key="k").id == record.id
    assert (find("charlie"), find("delta")) == ([], ["delta"])
    services.update(record.id, MemoryChanges(key="kilo"))
    assert find("kilo") == ["delta"]
    services.update(record.id, MemoryChanges(metadata={"x": 1}))
    assert find("kilo") == ["delta"]
    check_index()
    services.delete(record.id)
    assert find("delta") == []
    store("echo", key="k")
    assert find("echo") == ["echo"]
    check_index()


@pytest.mark.django_db
def test_rw_035_reading_leaves_the_index_as_it_is():
    for number in range(10):
        store(f"pizza number {number}", key=f"k{number}")

    def shadow_rows() -> tuple[int, ...]:
        with connection.cursor() as cursor:
            counts = []
            for table in ("data", "idx", "docsize"):
                cursor.execute(f"SELECT count(*) FROM memory_fts_{table}")
                counts.append(cursor.fetchone()[0])
        return tuple(counts)

    before = shadow_rows()
    for _ in range(300):
        assert len(find("pizza")) == 10
    Memory.objects.update(session_id="touched")
    assert shadow_rows() == before
    services.clear(MemoryFilter("A"))
    check_index()
    assert count_fulltext_rows() == 0


@pytest.mark.django_db
def test_renaming_to_a_key_the_owner_has_elsewhere_is_a_conflict():
    store("one", key="k1")
    other = store("two", key="k2")
    store("foreign", owner="B", key="k3")
    with pytest.raises(ConflictError):
        services.update(other.id, MemoryChanges(key="k1"))
    assert services.update(other.id, MemoryChanges(key="k3")).key == "k3"


@pytest.mark.django_db
def test_unknown_memories_are_not_found():
    with pytest.raises(NotFoundError):
        services.update("00000000-0000-4000-8000-000000000000", MemoryChanges(content="x"))
    with pytest.raises(NotFoundError):
        services.delete("00000000-0000-4000-8000-000000000000")


@pytest.mark.django_db
def test_expired_stale_foreign_and_other_session_rows_are_never_found():
    now = timezone.now()
    store("tea live", session_id="s1")
    store("tea expired", expires_at=now - timedelta(seconds=1))
    store("tea later", expires_at=now + timedelta(seconds=60), session_id="s2")
    old = store("tea stale")
    Memory.objects.filter(uuid=old.id).update(updated_at=now - timedelta(days=31))
    store("tea foreign", owner="B")
    assert sorted(find("tea")) == ["tea later", "tea live"]
    assert find("tea", session_id="s1") == ["tea live"]
    assert sorted(find("tea", owner=None)) == ["tea foreign", "tea later", "tea live"]


@pytest.mark.django_db
def test_a_refreshed_memory_is_not_old():
    record = store("tea", key="k")
    Memory.objects.filter(uuid=record.id).update(
        created_at=timezone.now() - timedelta(days=400), updated_at=timezone.now() - timedelta(days=400)
    )
    assert find("tea") == []
    store("tea", key="k")
    assert find("tea") == ["tea"]


@pytest.mark.django_db
def test_a_table_rebuild_that_drops_the_triggers_is_reported_and_mended_by_migrate():
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER memory_fts_au")
    assert [problem.id for problem in run_checks(databases=["default"]) if problem.id == "memory.W001"]
    call_command("migrate", verbosity=0)
    assert not [problem for problem in run_checks(databases=["default"]) if problem.id == "memory.W001"]


@pytest.mark.django_db(transaction=True)
def test_the_full_text_migration_fills_the_index_of_a_populated_table_and_can_be_undone():
    store("sourdough at weekends")
    call_command("migrate", "memory", "0001", verbosity=0)
    assert "memory_fts" not in connection.introspection.table_names()
    call_command("migrate", "memory", verbosity=0)
    assert find("sourdough") == ["sourdough at weekends"]
    check_index()


def test_no_room_reads_memory_rows_without_naming_an_owner_or_an_id():
    """`Memory.objects` is followed by the owner filter or a look-up by id, wherever it stands."""
    root = Path(__file__).resolve().parents[2]
    unscoped = [
        f"{path.relative_to(root)}: {use}"
        for room in ("core", "qdrant_admin", "gateway", "memory", "studio", "omniroute")
        for path in (root / room).rglob("*.py")
        for use in re.findall(r"Memory\.objects\.\w+\(\w*", path.read_text())
        if not re.fullmatch(r"Memory\.objects\.(owned_by\(\w*|filter\((uuid|uuid__in|memory_id__in))", use)
    ]
    assert unscoped == []


@pytest.mark.django_db
@pytest.mark.parametrize("owner", ["A", "B", "", None])
@pytest.mark.parametrize("session_id", [None, "s1", ""])
def test_the_reads_written_by_hand_select_what_the_one_rule_selects(owner, session_id):
    now = timezone.now()
    for number, expires_in in enumerate([None, -1, 0, 1, 3600]):
        for of in ("A", "B", "", HEALTH_CHECK_OWNER):
            expires_at = None if expires_in is None else now + timedelta(seconds=expires_in)
            store(f"tea {number}", owner=of, expires_at=expires_at, session_id=["", "s1"][number % 2])
    stale = store("tea stale", metadata={"ž": "č"})
    Memory.objects.filter(uuid=stale.id).update(updated_at=now - timedelta(days=31))
    query = SearchQuery(owner, "tea", "hybrid", 30, session_id=session_id)
    wanted = {record.memory_id: record for record in load_records(select_usable(query, now))}
    every = [record.memory_id for record in load_records(Memory.objects.owned_by(None))]
    assert load_usable(query, every, now) == wanted
    assert {record.memory_id: record for record in load_newest(query, 99, now)} == wanted
    assert {memory_id for memory_id, _ in rank_by_fulltext(query, 99, now)} == set(wanted)
