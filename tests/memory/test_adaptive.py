"""The adaptive strategy through its door: what it finds, and where it puts it."""

import numpy as np
import pytest

from tests.memory.adaptive_search import EAST, Nearest, Vectors, ask, find, say, store

pytestmark = pytest.mark.usefixtures("empty_index_cache")


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
