"""The index behind the adaptive strategy is never stale, whoever wrote and however many ask at once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory import services
from memory.backends.base import MemoryChanges
from memory.models import Memory, MemoryChange
from memory.search import index_cache
from memory.search.index_cache import INDEXES
from memory.triggers import run_sql_file
from tests.memory.adaptive_search import ask, find, store

pytestmark = pytest.mark.usefixtures("empty_index_cache")


@pytest.mark.django_db(transaction=True)
def test_every_write_is_seen_whoever_made_it():
    tea = store("green tea", key="k")
    assert find("tea") == ["green tea"]
    store("black tea", key="k")
    assert find("tea") == ["black tea"]
    services.update(tea.id, MemoryChanges(content="white tea"))
    assert find("tea") == ["white tea"]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE memories SET content = 'red tea' WHERE id = %s", [tea.id])
    assert find("tea") == ["red tea"]
    with connection.cursor() as cursor:
        cursor.execute("UPDATE memories SET api_key_id = 'B' WHERE id = %s", [tea.id])
    assert (find("tea"), find("tea", "B")) == ([], ["red tea"])
    services.delete(tea.id)
    assert find("tea", "B") == []


@pytest.mark.django_db(transaction=True)
def test_a_warm_index_reads_only_what_changed():
    for number in range(20):
        store(f"tea {number}")
    find("tea")
    with CaptureQueriesContext(
        connection,
    ) as unchanged:
        find("tea")
    assert len(unchanged) == 2
    store("coffee")
    reads = []
    original = index_cache._make_memory
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_cache, "_make_memory", lambda *values: reads.append(values[0]) or original(*values))
        assert find("coffee") == ["coffee"]
    assert len(reads) == 1


@pytest.mark.django_db(transaction=True)
def test_a_rolled_back_write_leaves_no_trace():
    store("green tea")
    assert find("tea") == ["green tea"]
    with pytest.raises(RuntimeError), transaction.atomic():
        store("phantom tea")
        assert "phantom tea" in find("tea")
        raise RuntimeError
    assert find("tea") == ["green tea"]
    store("black tea")
    assert sorted(find("tea")) == ["black tea", "green tea"]


@pytest.mark.django_db(transaction=True)
def test_a_database_put_back_to_an_earlier_state_is_read_anew():
    store("green tea")
    kept = MemoryChange.objects.latest("seq")
    late = store("late tea")
    assert sorted(find("tea")) == ["green tea", "late tea"]
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER memory_changes_ad")
        try:
            cursor.execute("DELETE FROM memories WHERE id = %s", [late.id])
            cursor.execute("DELETE FROM memory_changes WHERE seq > %s", [kept.seq])
            assert find("tea") == ["green tea"]
        finally:
            run_sql_file(connection, "change_triggers")


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["store", "move", "expire", "delete", "search"]),
        st.sampled_from("AB"),
        st.sampled_from(["k1", "k2", "k3", ""]),
        st.sampled_from(["green tea", "black coffee", "do you like tea?", "我喜欢绿茶"]),
    ),
    max_size=12,
)


@pytest.mark.django_db(transaction=True)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(OPERATIONS)
def test_after_any_sequence_of_writes_the_index_is_what_a_fresh_one_would_be(operations):
    Memory.objects.all().delete()
    for name, owner, key, content in operations:
        rows = Memory.objects.filter(api_key_id=owner, key=key)
        if name == "store":
            store(content, owner=owner, key=key, session_id=key)
        elif name == "move":
            other = "B" if owner == "A" else "A"
            if key and not Memory.objects.filter(api_key_id=other, key=key).exists():
                rows.update(api_key_id=other)
        elif name == "expire":
            rows.update(expires_at=timezone.now() - timedelta(days=1))
        elif name == "delete":
            rows.delete()
        else:
            find("tea", owner)
    for owner in ("A", "B", None):
        for text in ("tea coffee", "绿茶"):
            warm = [(hit.record.id, hit.score) for hit in ask(text, owner)]
            INDEXES.clear()
            cold = [(hit.record.id, hit.score) for hit in ask(text, owner)]
            assert [memory_id for memory_id, _ in warm] == [memory_id for memory_id, _ in cold]
            assert [score for _, score in warm] == pytest.approx([score for _, score in cold])


@pytest.mark.django_db(transaction=True)
def test_threads_that_ask_at_once_load_a_cold_owner_once(monkeypatch):
    for number in range(50):
        store(f"tea {number}")
    loads, barrier = [], threading.Barrier(4)
    original = index_cache._load
    monkeypatch.setattr(index_cache, "_load", lambda entry, owner: loads.append(owner) or original(entry, owner))

    def search(_: int) -> int:
        try:
            barrier.wait(10)
            return len(ask("tea"))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(search, range(4))) == [50] * 4
    assert loads == ["A"]


@pytest.mark.django_db(transaction=True)
def test_searches_and_writes_at_once_never_disturb_one_another():
    for number in range(40):
        store(f"tea {number}", key=f"k{number}")
    stop = threading.Event()

    def write() -> int:
        try:
            for number in range(40):
                store(f"tea again {number}", key=f"k{number}")
            return 40
        finally:
            stop.set()
            connections.close_all()

    def search() -> set[int]:
        try:
            sizes = {len(ask("tea"))}
            while not stop.is_set():
                sizes.add(len(ask("tea")))
            return sizes
        finally:
            connections.close_all()

    with ThreadPoolExecutor(3) as pool:
        searches = [pool.submit(search) for _ in range(2)]
        assert pool.submit(write).result(60) == 40
        assert all(search.result(60) == {40} for search in searches)
    assert all(content.startswith("tea again") for content in find("tea"))


@pytest.mark.django_db(transaction=True)
def test_owners_longest_unused_make_room(monkeypatch):
    monkeypatch.setattr("memory.search.owner_index._EMPTY_BYTES", 10 * 1024 * 1024)
    monkeypatch.setattr("django.conf.settings.MEMORY_INDEX_CACHE_MB", 25, raising=False)
    for owner in "ABC":
        store("tea", owner=owner)
        find("tea", owner)
    assert list(INDEXES._entries) == ["B", "C"]
    assert find("tea", "A") == ["tea"]
