"""The adaptive index without a database: words, dates, talk, and arrays that stay what a fresh index would be."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.search.dates import find_date_terms, list_date_terms, read_own_time
from memory.search.lexical import read_query, score_words
from memory.search.owner_index import IndexedMemory, OwnerIndex
from memory.search.packing import pack_budget
from memory.search.stems import measure_latin_share, split_query, split_words
from memory.search.talk import ends_asking, sounds_spoken

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def note(memory_id: int, content: str, *, minute: int = 0, **fields) -> IndexedMemory:
    values = {
        "owner": "A",
        "session_id": "s",
        "key": "",
        "speaker": "",
        "subject": "",
        "expires_at": None,
    } | fields
    return IndexedMemory(
        memory_id=memory_id, content=content, own_time=NOW + timedelta(minutes=minute), updated_at=NOW, **values
    )


def build(*memories: IndexedMemory) -> OwnerIndex:
    index = OwnerIndex()
    index.replace([], memories)
    return index


def rank(index: OwnerIndex, query: str, *, own: bool = False) -> list[int]:
    """Ids that the keyword leg scores, best first."""
    scores = score_words(index, read_query(query), None)
    values = scores.own if own else scores.spread
    order = np.lexsort((index.view().ids, -values))
    return [int(index.view().ids[place]) for place in order if values[place] > 0]


def talk_of(*memories: IndexedMemory) -> list[float]:
    return [round(float(value), 2) for value in build(*memories).view().talk]


# --- words ---------------------------------------------------------------------------------------------------------


def test_words_of_unspaced_scripts_are_pairs_and_stop_words_are_out_unless_alone():
    assert split_words("Don't stop, ŽODIS") == ["don", "t", "stop", "zodis"]
    assert split_words("我喜欢Go语言") == ["我喜", "喜欢", "go", "语言"]
    assert split_query("What did the dog do?") == ["dog"]
    assert split_query("what is it") == ["what", "is", "it"]


@pytest.mark.parametrize(("text", "share"), [("hello", 1), ("我们", 0), ("42!", 1), ("Привет", 0), ("ab我们", 0.5)])
def test_an_english_embedder_reads_latin_letters_only(text, share):
    assert measure_latin_share(text) == share


# --- dates ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("What happened on 8 May 2023?", {"@d8", "@m5", "@y2023"}),
        ("on May 8th", {"@d8", "@m5"}),
        ("in Sept. 2022", {"@m9", "@y2022"}),
        ("8 friends and 12 dogs", set()),
        ("notes of 2023-08-30", {"@y2023", "@m8", "@d30"}),
        ("2025年6月3日做了什么", {"@y2025", "@m6", "@d3"}),
    ],
)
def test_a_query_names_dates_in_several_forms(query, terms):
    assert set(find_date_terms(query).values()) == terms


def test_own_time_is_the_timestamp_where_it_can_be_read():
    assert read_own_time("2023-05-08T13:56:00+00:00", NOW) == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert read_own_time("2023-05-08", NOW) == datetime(2023, 5, 8, tzinfo=UTC)
    seconds = datetime(2023, 5, 8, tzinfo=UTC)
    assert read_own_time(seconds.timestamp(), NOW) == seconds
    assert read_own_time(str(int(seconds.timestamp() * 1000)), NOW) == seconds
    for unreadable in (None, "", "last week", True, float("nan"), 1e300, {}, "9" * 40):
        assert read_own_time(unreadable, NOW) == NOW


def test_a_month_in_the_query_finds_memories_of_that_month_not_numbers_in_texts():
    index = build(
        replace(note(1, "we met at the lake"), own_time=datetime(2023, 8, 30, tzinfo=UTC)),
        replace(note(2, "we met at the lake"), own_time=datetime(2023, 3, 2, tzinfo=UTC)),
        replace(note(3, "thirty guests and 30 cakes"), own_time=datetime(2023, 3, 3, tzinfo=UTC)),
        note(4, "something else"),
    )
    assert rank(index, "Who met on 30 August?", own=True)[0] == 1
    assert list_date_terms(datetime(2023, 8, 30, tzinfo=UTC)) == ("@y2023", "@m8", "@d30")


# --- talk ----------------------------------------------------------------------------------------------------------


def test_questions_and_addresses_sound_spoken():
    assert sounds_spoken("I like it", split_words("I like it"))
    assert sounds_spoken("我喜欢绿茶", split_words("我喜欢绿茶"))
    assert not sounds_spoken("Gina owns a shop", split_words("Gina owns a shop"))
    assert ends_asking("Nice! And what do you do? :)")
    assert not ends_asking("Why? Because I can.")


def test_a_session_of_facts_is_no_conversation_though_stored_like_one():
    said = ["I lost my job", "Oh no, are you ok?", "I am, I want a shop", "Do you need me?"]
    turns = [note(i, f"{who}: {text}", minute=i, speaker=who) for i, (who, text) in
             enumerate(zip(["Jon", "Gina"] * 2, said, strict=True), 1)]  # fmt: skip
    noted = ["Jon lost his job", "Jon wants a shop", "Gina asked Jon about it", "Gina helps Jon"]
    names = [text.split()[0] for text in noted]
    facts = [note(i, f"{name}: {text}", minute=i, speaker=name) for i, (name, text) in
             enumerate(zip(names, noted, strict=True), 1)]  # fmt: skip
    assert talk_of(*turns) == [1, 1, 1, 1]
    assert talk_of(*facts) == [0, 0, 0, 0]


def test_speakers_taking_turns_make_a_conversation_in_any_language():
    turns = [note(i, f"sõnad {i}", minute=i, speaker="Mari" if i % 2 else "Jüri") for i in range(1, 7)]
    assert talk_of(*turns) == [1.0] * 6


# --- the keyword leg -----------------------------------------------------------------------------------------------


def test_words_reach_neighbours_of_the_same_session_only():
    index = build(
        note(1, "I adopted a puppy", minute=1),
        note(2, "you are kidding me", minute=2),
        note(3, "I am not", minute=3),
        note(4, "I went out", minute=4, session_id="other"),
        note(5, "a puppy of my own", minute=5, session_id=""),
        note(6, "I stay in", minute=6, session_id=""),
    )
    assert rank(index, "puppy")[:2] == [1, 5] or rank(index, "puppy")[:2] == [5, 1]
    assert rank(index, "puppy")[2:] == [2, 3]


def test_an_answer_gets_nearly_all_of_what_its_question_asked():
    index = build(
        note(1, "I painted it myself", minute=1),
        note(2, "Where did you buy the guitar?", minute=2),
        note(3, "At the market, I had luck", minute=3),
    )
    ranked = rank(index, "guitar")
    assert ranked[:2] == [2, 3]


def test_the_order_is_when_things_were_said_not_when_they_were_stored():
    index = build(note(7, "I have a puppy", minute=1), note(3, "I have a boat", minute=9), note(5, "I see", minute=2))
    assert [int(memory_id) for memory_id in index.view().ids] == [7, 5, 3]


def test_speaker_subject_and_key_count_as_words():
    index = build(
        note(1, "likes tea", speaker="Gina"),
        note(2, "likes tea", subject="Jon"),
        note(3, "tea", key="kitchen:note_7"),
    )
    assert rank(index, "gina", own=True) == [1]
    assert rank(index, "jon", own=True) == [2]
    assert rank(index, "kitchen", own=True) == [3]


def test_kindred_words_find_what_shares_no_word_but_count_less():
    index = build(note(1, "a film about space"), note(2, "a movie about space"), note(3, "lunch"), note(4, "dinner"))
    assert rank(index, "movie", own=True) == [2, 1]


def test_rare_words_count_more_and_a_word_counts_once_a_memory():
    index = build(
        *(note(i, "coffee coffee coffee again", session_id="") for i in range(1, 9)), note(9, "a slice of cake")
    )
    assert rank(index, "coffee cake", own=True)[0] == 9
    scores = score_words(build(note(1, "tea tea tea cup"), note(2, "tea cup and so")), read_query("tea"), None)
    assert scores.own[0] == scores.own[1]


def test_coverage_is_the_share_of_the_query_and_unknown_words_lower_it():
    index = build(note(1, "green tea"), note(2, "black coffee"), note(3, "plain water"))
    known = score_words(index, read_query("green tea"), None).coverage
    unknown = score_words(index, read_query("green tea xylograph"), None).coverage
    assert known[0] > 0.9
    assert 0 < unknown[0] < known[0]


# --- kept current --------------------------------------------------------------------------------------------------

WORDS = st.sampled_from("tea coffee puppy guitar movie film lake gina jon 绿茶 咖啡 I you ?".split())
MEMORIES = st.builds(
    note,
    st.integers(1, 12),
    st.lists(WORDS, max_size=6).map(" ".join),
    minute=st.integers(0, 5),
    session_id=st.sampled_from(["", "s", "t"]),
    speaker=st.sampled_from(["", "Gina", "Jon"]),
    expires_at=st.sampled_from([None, NOW]),
)
BATCHES = st.lists(
    st.tuples(st.lists(MEMORIES, max_size=5, unique_by=lambda m: m.memory_id), st.sets(st.integers(1, 12))),
    max_size=6,
)


@given(BATCHES, st.booleans())
def test_an_index_kept_current_equals_one_built_anew(batches, compacts):
    index, present = OwnerIndex(), dict[int, IndexedMemory]()
    for written, deleted in batches:
        index.replace([*deleted, *(memory.memory_id for memory in written)], written)
        for memory_id in deleted:
            present.pop(memory_id, None)
        present |= {memory.memory_id: memory for memory in written}
        if compacts:
            index._compact()
    fresh = build(*present.values())
    kept, anew = index.view(), fresh.view()
    assert len(index) == len(fresh) == len(present)
    assert list_sessions(index) == list_sessions(fresh)
    for name in ("ids", "own_times", "updated", "expires", "saturation", "asks", "talk", "answer_links"):
        np.testing.assert_allclose(by_id(index, getattr(kept, name)), by_id(fresh, getattr(anew, name)), 1e-6)
    if present:
        for query in ("tea", "a movie with gina", "绿茶", "4 May 2026"):
            mine, theirs = (score_words(each, read_query(query), None) for each in (index, fresh))
            np.testing.assert_allclose(by_id(index, mine.own), by_id(fresh, theirs.own), 1e-5)
            np.testing.assert_allclose(by_id(index, mine.spread), by_id(fresh, theirs.spread), 1e-5)
            assert mine.best_possible == pytest.approx(theirs.best_possible)
    for speaker in ("gina", "jon"):
        assert spoken_by(index, speaker) == spoken_by(fresh, speaker)


def by_id(index: OwnerIndex, values: np.ndarray) -> np.ndarray:
    return values[index.view().position_of_id]


def list_sessions(index: OwnerIndex) -> set[tuple[int, ...]]:
    """The sessions as their ids in order; which session comes first says nothing."""
    view = index.view()
    return {tuple(ids.tolist()) for ids in np.split(view.ids, view.group_starts[1:])}


def spoken_by(index: OwnerIndex, name: str) -> list[int]:
    view = index.view()
    return sorted(view.ids[np.isin(view.speakers, list(index.find_speakers([name], name)))].tolist())


def test_dead_slots_are_swept_out():
    index = build(*(note(i, f"tea {i}") for i in range(1, 400)))
    for _ in range(5):
        index.replace(list(range(1, 400)), [note(i, f"coffee {i}") for i in range(1, 400)])
    assert len(index) == 399
    assert index.size_bytes < 4 * build(*(note(i, f"coffee {i}") for i in range(1, 400))).size_bytes
    assert rank(index, "tea", own=True) == []
    assert len(rank(index, "coffee", own=True)) == 399


# --- packing -------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 50)), st.integers(0, 120))
def test_packing_keeps_order_and_budget_and_leaves_out_only_what_does_not_fit(sizes, budget):
    items = list(enumerate(sizes))
    chosen = pack_budget(items, budget, lambda item: item[1])
    places = [item[0] for item, _ in chosen]
    assert places == sorted(places)
    assert bool(chosen) == bool(items)
    total = sum(tokens for _, tokens in chosen)
    if total > budget:
        assert places == [0]
        assert min(sizes) > budget
        return
    for place, size in items:
        used_before = sum(sizes[other] for other in places if other < place)
        assert (place in places) == (used_before + size <= budget)
