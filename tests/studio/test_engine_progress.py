"""How fast a reindex goes and how long it takes, from two looks at it; and the one word for all five rows."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embeddings.cache import CacheStatistics
from memory.engine_status import (
    EmbeddingStatus,
    EngineStatus,
    IndexingStatus,
    IndexStatus,
    KeywordStatus,
    RerankStatus,
    VectorStoreStatus,
)
from memory.indexing import Backlog
from memory.qdrant_control import QdrantStatus
from studio.views.engine_progress import MAX_SPAN_SECONDS, Mark, measure_progress, read_mark
from studio.views.engine_rows import build_rows, judge_rows, make_sentence

NOW = 1_800_000_000.0
QDRANT_OFF = QdrantStatus(
    False, None, None, None, False, False, None, "memory", None, None, 0, 0, 0, "Qdrant is switched off", None, None
)


def make_status(*, total: int = 100, pending: int = 40, given_up: int = 0, running: bool = True) -> EngineStatus:
    backlog = Backlog(total=total, pending=pending, due=pending - given_up, given_up=given_up, next_try_at=None)
    index = IndexStatus("static:m:4", 4, "none", total - pending, total)
    return EngineStatus(
        keyword=KeywordStatus(True, "FTS5", "the full-text index answers"),
        embedding=EmbeddingStatus("static", "m", 4, True, "the static model m", CacheStatistics(0, 0, 0)),
        vector_store=VectorStoreStatus("sqlite-vec", True, total - pending, "sqlite-vec is loaded", index, None),
        qdrant=QDRANT_OFF,
        rerank=RerankStatus(False, None, None, False, "reranking is switched off"),
        indexing=IndexingStatus(backlog, running, None if running else datetime.now(UTC), None),
        sqlite_driver="stdlib",
    )


def test_the_first_look_claims_no_speed():
    progress = measure_progress(make_status(), None, NOW)

    assert (progress.done, progress.total, progress.percent) == (60, 100, 60)
    assert progress.per_second is None
    assert progress.seconds_left is None
    assert progress.mark == Mark(NOW, 60)


def test_two_looks_tell_the_speed_and_the_time_left():
    progress = measure_progress(make_status(pending=20), Mark(NOW - 10, 60), NOW)

    assert progress.per_second == 2.0
    assert progress.seconds_left == 10.0
    assert progress.rate_text == "2"


def test_what_was_given_up_is_not_waited_for():
    progress = measure_progress(make_status(pending=30, given_up=10), Mark(NOW - 10, 60), NOW)

    assert progress.seconds_left == 20.0
    assert progress.given_up == 10


@pytest.mark.parametrize(
    ("mark", "why"),
    [(Mark(NOW - 0.5, 10), "too close"), (Mark(NOW - 10, 60), "nothing was done"), (Mark(NOW - 10, 90), "another run")],
)
def test_no_speed_is_made_up(mark, why):
    assert measure_progress(make_status(), mark, NOW).per_second is None, why


def test_an_old_look_makes_way_for_a_new_one_and_one_of_another_run_at_once():
    assert measure_progress(make_status(), Mark(NOW - MAX_SPAN_SECONDS - 1, 10), NOW).mark == Mark(NOW, 60)
    assert measure_progress(make_status(), Mark(NOW - 5, 90), NOW).mark == Mark(NOW, 60)
    assert measure_progress(make_status(), Mark(NOW - 5, 10), NOW).mark == Mark(NOW - 5, 10)


def test_while_nothing_runs_there_is_neither_speed_nor_look():
    progress = measure_progress(make_status(running=False), Mark(NOW - 10, 10), NOW)

    assert progress.per_second is None
    assert progress.mark is None
    assert progress.is_waiting


def test_an_index_that_is_built_beside_the_old_one_is_what_is_counted():
    status = make_status(pending=0)
    building = IndexStatus("remote:n:8", 8, "none", 25, 100)
    status = replace(status, vector_store=replace(status.vector_store, building=building))

    progress = measure_progress(status, None, NOW)

    assert (progress.done, progress.percent) == (25, 25)


@given(
    total=st.integers(0, 10**6),
    pending=st.integers(0, 10**6),
    at=st.floats(allow_nan=True),
    done=st.integers(-9, 10**7),
)
def test_no_look_whatever_it_holds_gives_figures_that_can_not_be(total, pending, at, done):
    status = make_status(total=total, pending=min(pending, total))

    progress = measure_progress(status, Mark(at, done), NOW)

    assert 0 <= progress.percent <= 100
    assert progress.percent < 100 or progress.done == progress.total
    assert progress.per_second is None or progress.per_second > 0
    assert progress.seconds_left is None or progress.seconds_left >= 0


@given(st.text())
def test_any_text_in_the_address_is_a_look_or_none(text):
    mark = read_mark(text)

    assert mark is None or read_mark(str(mark)) is not None


def test_all_rows_come_to_one_word():
    well = make_status(pending=0)
    assert judge_rows(build_rows(well)).text == "all working"
    deaf = replace(well, embedding=replace(well.embedding, is_available=False, reason="no key"))
    assert judge_rows(build_rows(deaf)).text == "degraded: 4 of 5 working"
    blind = replace(
        deaf,
        keyword=KeywordStatus(False, "none", "the index is gone"),
        vector_store=replace(deaf.vector_store, is_available=False),
    )
    assert judge_rows(build_rows(blind)).text == "down: 2 of 5 working"


@pytest.mark.parametrize(
    ("text", "told"),
    [("no key", "No key."), ("sqlite-vec is loaded", "sqlite-vec is loaded."), ("Why?", "Why?"), ("", "")],
)
def test_reasons_become_sentences_and_names_stay_as_they_are(text, told):
    assert make_sentence(text) == told
