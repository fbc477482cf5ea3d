"""The adaptive strategy through its door: what it finds, what it never hands out, and an index that is never stale."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory import services
from memory.backends.base import MemoryChanges
from memory.models import HEALTH_CHECK_OWNER, Memory, MemoryChange
from memory.records import MemoryDraft, SearchQuery
from memory.rows import load_records, load_usable, select_usable
from memory.search import index_cache
from memory.search.adaptive import Explanation, explain, search_adaptive
from memory.search.index_cache import INDEXES
from memory.search.vector_evidence import VectorEvidence, compare_rows

CHAT = "2023-05-08T13:56:00+00:00"


@pytest.fixture(autouse=True)
def empty_cache():
    INDEXES.clear()
    yield
    INDEXES.clear()


def store(content: str, *, owner: str = "A", key: str = "", **fields):
    fields.setdefault("type", "episodic")
    return services.create(MemoryDraft(owner, key, content, **fields))


def say(speaker: str, text: str, *, session: str = "s1", at: str = CHAT, **fields):
    return store(f"{speaker}: {text}", session_id=session, metadata={"speaker": speaker, "timestamp": at}, **fields)


def ask(text: str, owner: str | None = "A", *, vectors=None, vector=None, minimum=0.0, **fields):
    query = SearchQuery(owner, text, "adaptive", fields.pop("retention_days", 30), **fields)
    return search_adaptive(query, vector, vectors, minimum_relevance=minimum)


def find(text: str, owner: str | None = "A", **options) -> list[str]:
    return [hit.record.content for hit in ask(text, owner, **options)]


def why(memory, text: str, owner: str | None = "A", *, vectors=None, vector=None, minimum=0.0, **fields) -> Explanation:
    query = SearchQuery(owner, text, "adaptive", 30, **fields)
    return explain(query, vector, vectors, memory.id, minimum_relevance=minimum)


class Vectors:
    """Vectors by memory_id; a memory that is not in it has none."""

    def __init__(self, vectors: dict[int, list[float]]) -> None:
        self.ids = np.array(sorted(vectors), np.int64)
        self.rows = np.array([vectors[memory_id] for memory_id in sorted(vectors)], np.float32)

    def score(self, owner, query_vector):
        return compare_rows(self.ids, self.rows, query_vector)


class Nearest:
    """A store that tells the nearest only."""

    def __init__(self, cosines: dict[int, float]) -> None:
        self.cosines = cosines

    def score(self, owner, query_vector):
        ids = sorted(self.cosines)
        values = np.array([self.cosines[memory_id] for memory_id in ids], np.float32)
        return VectorEvidence(np.array(ids, np.int64), values, is_complete=False)


EAST, NORTH = np.array([1, 0], np.float32), np.array([0, 1], np.float32)

# --- what it finds -------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_the_answer_next_to_a_question_is_found_though_it_shares_no_word_with_the_query():
    say("Jon", "Hey Gina, nice weather today, I like it!")
    say("Jon", "Which instrument do you play?")
    answer = say("Gina", "The violin, since I was six!")
    for text in ("I had pasta for lunch.", "You should see my new shoes.", "I never sleep well."):
        say("Jon", text, session="s2")
    assert ask("What instrument does Gina play?")[0].record.id == answer.id


@pytest.mark.django_db
def test_a_date_in_the_query_finds_what_was_said_that_day():
    for month in range(1, 10):
        say("Gina", "I went to the lake with you", session=f"s{month}", at=f"2023-0{month}-12T10:00:00+00:00")
    hits = ask("What did Gina do at the lake in July 2023?")
    assert hits[0].record.session_id == "s7"


@pytest.mark.django_db
def test_the_speaker_that_a_query_names_comes_before_others():
    say("Jon", "I love chocolate cake", session="s1")
    mine = say("Gina", "I love chocolate cake", session="s2")
    say("Jon", "I love vanilla cake", session="s3")
    assert ask("Which cake does Gina love, chocolate?")[0].record.id == mine.id


@pytest.mark.django_db
def test_chinese_is_found_by_character_pairs_and_an_english_embedder_has_no_say():
    tea = store("我每天早上喝绿茶")
    walk = store("我周末去爬山")
    vectors = Vectors({tea.memory_id: [0, 1], walk.memory_id: [1, 0]})
    hits = ask("用户喜欢绿茶吗", vectors=vectors, vector=EAST)
    assert hits[0].record.id == tea.id
    assert hits[0].vector_score is None


@pytest.mark.django_db
def test_meaning_ranks_where_words_say_nothing():
    near, far = store("lorem"), store("ipsum")
    bare = store("dolor")
    hits = ask("What about zzz?", vectors=Vectors({near.memory_id: [1, 0], far.memory_id: [-1, 0]}), vector=EAST)
    assert [hit.record.id for hit in hits] == [near.id, bare.id, far.id]
    assert hits[0].vector_score == pytest.approx(1.0)
    assert hits[1].vector_score is None
    assert (hits[0].vector_rank, hits[2].vector_rank) == (1, 2)


@pytest.mark.django_db
def test_where_only_the_nearest_are_known_the_rest_is_no_nearer():
    first, second, unknown = store("lorem"), store("ipsum"), store("dolor")
    hits = ask("zzz", vectors=Nearest({first.memory_id: 0.9, second.memory_id: 0.6}), vector=EAST)
    assert hits[0].record.id == first.id
    assert {hit.record.id for hit in hits[1:]} == {second.id, unknown.id}


@pytest.mark.django_db
def test_vectors_without_a_vector_for_anything_leave_the_keywords_alone():
    tea = store("green tea")
    store("black coffee")
    hits = ask("tea", vectors=Vectors({tea.memory_id: [0, 0]}), vector=EAST)
    assert [hit.record.id for hit in hits] == [tea.id]


@pytest.mark.django_db
def test_vectors_of_memories_that_are_gone_disturb_nothing():
    tea, coffee = store("green tea"), store("black coffee")
    vectors = Vectors({0: [1, 0], tea.memory_id: [1, 0], coffee.memory_id: [0, 1], 10**9: [1, 0]})
    assert find("tea", vectors=vectors, vector=EAST) == ["green tea", "black coffee"]


@pytest.mark.django_db
def test_scores_fall_from_first_to_last_and_the_limit_holds():
    for number in range(12):
        store(f"tea number {number} of {number % 3} gardens")
    hits = ask("tea gardens 2", limit=5)
    assert len(hits) == 5
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(np.isfinite(hit.score) and hit.tier == "adaptive" for hit in hits)


@pytest.mark.django_db
def test_where_nothing_matches_the_newest_stand_in_unless_a_minimum_is_set():
    store("first")
    store("second")
    assert find("zzz") == ["second", "first"]
    assert find("  ") == ["second", "first"]
    assert find("zzz", minimum=0.3) == []


@pytest.mark.django_db
def test_below_the_minimum_relevance_nothing_is_returned():
    store("green tea from the mountains")
    store("black coffee from the harbour")
    assert find("green tea mountains", minimum=0.6) == ["green tea from the mountains"]
    assert find("green submarine periscope torpedo", minimum=0.6) == []


@pytest.mark.django_db
def test_an_owner_without_memories_gets_nothing():
    assert find("tea", "nobody") == []


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["?!", "'", "a" * 5000, "\x00", "SELECT * FROM memories; --", "😀", "%s", "的"])
def test_no_query_breaks_it(text):
    store("green tea")
    assert isinstance(find(text), list)


# --- what it never hands out ---------------------------------------------------------------------------------------

AGES = st.sampled_from([0, 29, 31, 400])
ROWS = st.lists(
    st.tuples(st.sampled_from("AB"), st.sampled_from(["", "s", "t"]), AGES, st.sampled_from([None, -1, 1])),
    max_size=8,
)


@pytest.mark.django_db
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, st.sampled_from([None, "", "s"]), st.booleans())
def test_it_hands_out_what_the_filters_allow_and_nothing_else(rows, session_id, has_vectors):
    Memory.objects.all().delete()
    now = timezone.now()
    for owner, session, age_days, expires_in_days in rows:
        memory = store("green tea", owner=owner, session_id=session)
        expires_at = None if expires_in_days is None else now + timedelta(days=expires_in_days)
        Memory.objects.filter(uuid=memory.id).update(
            updated_at=now - timedelta(days=age_days), expires_at=expires_at
        )  # fmt: skip
    every = list(Memory.objects.values_list("memory_id", flat=True))
    vectors = Vectors({memory_id: [1, 0] for memory_id in every}) if every and has_vectors else None
    for owner in ("A", "B", None):
        query = SearchQuery(owner, "green tea", "adaptive", 30, session_id=session_id)
        allowed = {
            record.memory_id: record for record in load_records(select_usable(query).filter(memory_id__in=every))
        }
        hits = search_adaptive(query, EAST if vectors else None, vectors)
        assert {hit.record.memory_id: hit.record for hit in hits} == allowed
        assert load_usable(query, every, timezone.now()) == allowed


@pytest.mark.django_db
def test_rows_that_may_not_be_used_take_no_place_and_lend_no_evidence():
    expired = timezone.now() - timedelta(seconds=5)
    for number in range(30):
        store(f"tea tea {number}", expires_at=expired)
        store(f"tea tea {number}", owner="B")
    mine = store("a cup of tea")
    hits = ask("tea", limit=1)
    assert [hit.record.id for hit in hits] == [mine.id]
    say("Jon", "Do you like submarines?", session="s9", expires_at=expired)
    say("Gina", "I do, you know me.", session="s9")
    assert find("submarines") == find("zzz")


@pytest.mark.django_db
def test_all_owners_are_searched_for_management_without_the_self_test():
    store("green tea", owner="A")
    store("green tea too", owner="B")
    store("green tea check", owner=HEALTH_CHECK_OWNER)
    assert sorted(find("green tea", None)) == ["green tea", "green tea too"]


@pytest.mark.django_db
def test_sessions_of_the_same_name_are_apart_in_a_search_over_all_owners():
    say("Jon", "I bought a submarine")
    say("Jon", "You know me", owner="B")
    assert find("submarine", None) == ["Jon: I bought a submarine"]


@pytest.mark.django_db
def test_metadata_that_is_no_object_is_handed_out_as_an_empty_one():
    tea = store("green tea", metadata={"speaker": ["no", "name"], "timestamp": {}})
    assert ask("tea")[0].record.metadata == tea.metadata
    Memory.objects.update(metadata=["a", "list"])
    assert ask("tea")[0].record.metadata == {}


# --- never stale ---------------------------------------------------------------------------------------------------


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
            from memory.triggers import run_sql_file

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


# --- why -----------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_why_a_memory_was_not_chosen():
    now = timezone.now()
    expired = store("green tea", expires_at=now - timedelta(seconds=1))
    old, foreign, elsewhere = (
        store("green tea"),
        store("green tea", owner="B"),
        store("green tea", session_id="s2"),
    )
    Memory.objects.filter(uuid=old.id).update(updated_at=now - timedelta(days=31))
    weak, unmatched = store("green submarine"), store("lorem")
    assert why(expired, "tea").excluded_by == "expired"
    assert why(old, "tea").excluded_by == "beyond_retention"
    assert why(foreign, "tea").excluded_by == "other_owner"
    assert why(elsewhere, "tea", session_id="s1").excluded_by == "other_session"
    assert why(unmatched, "tea").excluded_by == "no_evidence"
    assert why(weak, "green tea leaves", minimum=0.9).excluded_by == "below_minimum_relevance"
    query = SearchQuery("A", "tea", "adaptive", 30)
    assert explain(query, None, None, "00000000-0000-0000-0000-000000000000").excluded_by == "not_stored"


@pytest.mark.django_db
def test_an_explanation_agrees_with_the_search():
    memories = [store(text) for text in ("green tea", "tea", "green coffee", "lorem")]
    angles = np.linspace(0, 1.5, len(memories))
    vectors = Vectors({
        memory.memory_id: [float(np.cos(angle)), float(np.sin(angle))]
        for memory, angle in zip(memories, angles, strict=True)
    })  # fmt: skip
    hits = ask("green tea", vectors=vectors, vector=NORTH)
    for place, hit in enumerate(hits, 1):
        told = why(hit.record, "green tea", vectors=vectors, vector=NORTH)
        assert (told.excluded_by, told.rank, told.candidates) == (None, place, 4)
        assert told.score == pytest.approx(hit.score)
        assert (told.vector_rank, told.keyword_rank) == (hit.vector_rank, hit.keyword_rank)
        assert told.vector_score == hit.vector_score
        assert 0 <= told.relevance <= 1
    assert why(memories[3], "green tea", vectors=vectors, vector=NORTH).vector_rank == 1
    assert why(memories[3], "green tea", vectors=vectors, vector=NORTH).keyword_rank is None
