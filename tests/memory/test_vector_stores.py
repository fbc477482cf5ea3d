"""sqlite-vec passes the contract of all vector stores, with full and with quantised vectors."""

from datetime import timedelta

import numpy as np
import pytest
from django.db import OperationalError
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from embeddings.base import EmbeddingConfig, EmbeddingResolution
from memory import services
from memory.backends.base import MemoryChanges
from memory.models import Memory, VectorIndex
from memory.search.ranking import fuse_reciprocal_ranks, walk_budget
from memory.vector_stores import lifecycle
from memory.vector_stores.base import VectorPoint
from memory.vector_stores.matrix import MatrixCache
from memory.vector_stores.sqlite_vec import SqliteVecStore
from tests.memory.vector_store_contract import DIMENSIONS, VectorStoreContract, remember, unit

CONFIG = EmbeddingConfig("static", None, None, None, transformers_enabled=False, static_enabled=True)


def resolve_to(model: str, dimensions: int | None = DIMENSIONS) -> EmbeddingResolution:
    signature = f"static:{model}:{dimensions or 'null'}"
    return EmbeddingResolution("static", model, dimensions, signature, "for the test")


def open_sqlite_vec(model: str = "one") -> SqliteVecStore:
    store = lifecycle.open_store(lifecycle.open_target(resolve_to(model), CONFIG))
    assert store is not None
    return store


class TestSqliteVec(VectorStoreContract):
    def open(self):
        return open_sqlite_vec()


class TestSqliteVecInt8(VectorStoreContract):
    @pytest.fixture
    def store(self, db, settings):
        settings.MEMORY_VEC_QUANTIZATION = "int8"
        return open_sqlite_vec()


@pytest.mark.django_db
class TestLifecycle:
    def test_the_first_index_answers_at_once(self):
        index = lifecycle.open_target(resolve_to("one"), CONFIG)
        assert index.state == VectorIndex.State.ACTIVE
        assert lifecycle.open_target(resolve_to("one"), CONFIG).pk == index.pk

    def test_another_model_gets_an_index_beside_the_one_that_answers_until_it_is_swapped_in(self):
        first = open_sqlite_vec("one")
        first.upsert([VectorPoint(remember("old"), unit(1))])
        Memory.objects.update(needs_reindex=False)
        target = lifecycle.open_target(resolve_to("two", 4), CONFIG)
        assert target.state == VectorIndex.State.BUILDING
        assert Memory.objects.filter(needs_reindex=True).count() == 1
        assert lifecycle.find_active().signature == "static:one:8"
        assert first.count() == 1
        lifecycle.swap_in(target)
        assert lifecycle.find_active().signature == "static:two:4"

    def test_a_search_that_opened_the_index_before_the_swap_is_still_answered_and_later_the_table_goes(self):
        first = open_sqlite_vec("one")
        kept, deleted = remember("old"), remember("deleted")
        first.upsert([VectorPoint(kept, unit(1)), VectorPoint(deleted, unit(1))])
        lifecycle.swap_in(lifecycle.open_target(resolve_to("two", 4), CONFIG))
        lifecycle.drop_retired()
        assert len(first.search("A", unit(1), 5, Memory.objects.owned_by("A"))) == 2
        services.delete(deleted.id)
        assert first.count() == 1, "what is deleted leaves every table that is there"
        VectorIndex.objects.filter(state="retired").update(retired_at=timezone.now() - timedelta(seconds=61))
        lifecycle.drop_retired()
        with pytest.raises(OperationalError):
            first.count()
        assert VectorIndex.objects.count() == 1

    def test_models_that_change_faster_than_tables_go_never_share_one(self):
        stores = [open_sqlite_vec(model) for model in ("one", "two", "three", "four")]
        assert len({store.table for store in stores}) == 4
        assert VectorIndex.objects.filter(state="retired").count() == 2

    def test_changing_back_before_the_swap_keeps_the_old_index_whole(self):
        first = open_sqlite_vec("one")
        first.upsert([VectorPoint(remember("old"), unit(1))])
        lifecycle.open_target(resolve_to("two"), CONFIG)
        assert lifecycle.open_target(resolve_to("one"), CONFIG).state == VectorIndex.State.ACTIVE
        assert (VectorIndex.objects.exclude(state="retired").count(), first.count()) == (1, 1)

    def test_quantising_is_another_index(self, settings):
        open_sqlite_vec("one")
        settings.MEMORY_VEC_QUANTIZATION = "int8"
        assert lifecycle.open_target(resolve_to("one"), CONFIG).state == VectorIndex.State.BUILDING

    def test_a_width_that_shows_with_the_first_vector_makes_the_table_and_is_the_same_index(self):
        index = lifecycle.open_target(resolve_to("one", None), CONFIG)
        assert lifecycle.open_store(index) is None
        settled = lifecycle.settle_dimensions(index, 8)
        assert lifecycle.open_store(settled).count() == 0
        assert lifecycle.open_target(resolve_to("one", 8), CONFIG).pk == index.pk
        assert lifecycle.open_target(resolve_to("one", None), CONFIG).pk == index.pk

    def test_a_text_that_changes_loses_its_vector_at_once(self):
        store = open_sqlite_vec()
        record, other = remember("one"), remember("two")
        store.upsert([VectorPoint(record, unit(1)), VectorPoint(other, unit(1))])
        services.update(record.id, MemoryChanges(type="semantic"))
        assert store.count() == 2
        services.update(record.id, MemoryChanges(content="another"))
        assert store.count() == 1
        services.delete(other.id)
        assert store.count() == 0


@pytest.mark.django_db
def test_the_matrix_of_an_owner_follows_every_write():
    store = open_sqlite_vec()
    index = lifecycle.find_active()
    cache = MatrixCache()

    def read(owner="A") -> dict[str, list[int]]:
        ids, rows = cache.get(index, store, owner)
        contents = dict(Memory.objects.values_list("memory_id", "content"))
        return {contents[i]: [round(float(x)) for x in row[:3]] for i, row in zip(ids, rows, strict=True) if row.any()}

    def touch():
        Memory.objects.update(needs_reindex=False)

    first, second, foreign = remember("first"), remember("second"), remember("foreign", "B")
    store.upsert([VectorPoint(second, unit(0, 1)), VectorPoint(foreign, unit(1))])
    touch()
    assert read() == {"second": [0, 1, 0]}
    store.upsert([VectorPoint(first, unit(1))])
    touch()
    assert read() == {"first": [1, 0, 0], "second": [0, 1, 0]}
    third = remember("third")
    store.upsert([VectorPoint(third, unit(0, 0, 1)), VectorPoint(first, unit(0, 1))])
    touch()
    assert read() == {"first": [0, 1, 0], "second": [0, 1, 0], "third": [0, 0, 1]}
    from memory import services

    services.delete(second.id)
    assert read() == {"first": [0, 1, 0], "third": [0, 0, 1]}
    assert set(read(None)) == {"first", "third", "foreign"}


@given(st.lists(st.lists(st.integers(1, 40), unique=True, max_size=20), max_size=3), st.integers(0, 200))
def test_rrf_gives_each_id_the_sum_of_its_reciprocal_ranks(rankings, rrf_k):
    scores = fuse_reciprocal_ranks(rankings, rrf_k)
    assert set(scores) == {memory_id for ranking in rankings for memory_id in ranking}
    for memory_id, score in scores.items():
        parts = [1 / (rrf_k + ranking.index(memory_id) + 1) for ranking in rankings if memory_id in ranking]
        assert score == pytest.approx(sum(parts))


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(1, 200))
def test_the_budget_takes_a_prefix_that_fits_or_the_first_alone(sizes, budget):
    chosen = [tokens for _, tokens in walk_budget(sizes, budget, lambda size: size)]
    assert chosen == sizes[: len(chosen)]
    assert sum(chosen) <= budget or len(chosen) == 1
    if len(chosen) < len(sizes):
        assert sum(chosen) + sizes[len(chosen)] > budget
    assert bool(chosen) == bool(sizes)


def test_int8_keeps_the_order_of_near_vectors(db, settings):
    rng = np.random.default_rng(7)
    settings.MEMORY_VEC_QUANTIZATION = "int8"
    store = open_sqlite_vec()
    for _ in range(20):
        vector = rng.normal(size=DIMENSIONS)
        vector = (vector / np.linalg.norm(vector)).astype(np.float32)
        decoded = store._decode(store._encode(vector))[0]
        assert float(decoded @ vector) > 0.99
