"""The adaptive strategy hands out what the filters allow and nothing else, and tells why it left a memory out."""

from datetime import timedelta

import numpy as np
import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.models import HEALTH_CHECK_OWNER, Memory
from memory.records import SearchQuery
from memory.rows import load_records, load_usable, select_usable
from memory.search.adaptive import explain, search_adaptive
from tests.memory.adaptive_search import EAST, NORTH, Vectors, ask, find, say, store, why

pytestmark = pytest.mark.usefixtures("empty_index_cache")

AGES = st.sampled_from([0, 29, 31, 400])

ROWS = st.lists(
    st.tuples(st.sampled_from("AB"), st.sampled_from(["", "s", "t"]), AGES, st.sampled_from([None, -1, 1])),
    max_size=8,
)


# --- what it never hands out ---------------------------------------------------------------------------------------
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
