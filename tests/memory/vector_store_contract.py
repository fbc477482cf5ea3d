"""What every vector store must do. A store's test module subclasses this and says how to open one."""

from datetime import timedelta

import numpy as np
import pytest
from django.utils import timezone

from memory import services
from memory.models import Memory
from memory.records import MemoryDraft, MemoryRecord, SearchQuery
from memory.rows import select_usable
from memory.vector_stores.base import Vector, VectorPoint, VectorStore

DIMENSIONS = 8


def unit(*components: float) -> Vector:
    vector = np.zeros(DIMENSIONS, np.float32)
    vector[: len(components)] = components
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def remember(content: str, owner: str = "A", **fields) -> MemoryRecord:
    return services.create(MemoryDraft(owner, "", content, **fields))


@pytest.mark.django_db
class VectorStoreContract:
    def open(self) -> VectorStore:
        raise NotImplementedError

    @pytest.fixture
    def store(self, db) -> VectorStore:
        return self.open()

    def find(self, store: VectorStore, vector: Vector, k: int = 10, owner: str | None = "A", session=None) -> list[str]:
        usable = select_usable(SearchQuery(owner, "x", "semantic", 30, session_id=session))
        contents = dict(Memory.objects.values_list("memory_id", "content"))
        return [contents[hit.memory_id] for hit in store.search(owner, vector, k, usable)]

    def test_the_nearest_come_first_with_the_distance_between_unit_vectors(self, store):
        points = [VectorPoint(remember("far"), unit(0, 1)), VectorPoint(remember("near"), unit(1, 0.1))]
        store.upsert(points)
        assert self.find(store, unit(1)) == ["near", "far"]
        usable = select_usable(SearchQuery("A", "x", "semantic", 30))
        near, far = store.search("A", unit(1), 2, usable)
        expected = np.linalg.norm(unit(1) - unit(1, 0.1))
        assert (near.distance, far.distance) == pytest.approx((expected, 2**0.5), abs=0.03)
        assert far.similarity == pytest.approx(1 / (1 + 2**0.5), abs=0.01)

    def test_storing_a_point_again_replaces_it(self, store):
        record, other = remember("it"), remember("other")
        store.upsert([VectorPoint(record, unit(1)), VectorPoint(other, unit(0.5, 1))])
        store.upsert([VectorPoint(record, unit(0, 0, 1))])
        assert store.count() == 2
        assert self.find(store, unit(1)) == ["other", "it"]

    def test_a_deleted_point_is_gone_and_deleting_it_again_is_harmless(self, store):
        record = remember("it")
        store.upsert([VectorPoint(record, unit(1))])
        store.delete([record.memory_id])
        store.delete([record.memory_id, 999_999])
        assert (store.count(), self.find(store, unit(1))) == (0, [])

    def test_rw_044_a_small_owner_beside_many_nearer_foreign_vectors_gets_all_of_its_own(self, store):
        foreign = [VectorPoint(remember(f"foreign {number}", "B"), unit(1)) for number in range(300)]
        ours = [VectorPoint(remember(f"ours {number}"), unit(1, 0.2 + number)) for number in range(3)]
        store.upsert([*foreign, *ours])
        assert self.find(store, unit(1), k=3) == ["ours 0", "ours 1", "ours 2"]
        assert self.find(store, unit(1), k=100_000) == ["ours 0", "ours 1", "ours 2"]
        assert len(self.find(store, unit(1), k=50, owner=None)) == 50
        assert self.find(store, unit(1), owner="C") == []

    def test_rw_046_rows_that_may_not_be_used_take_no_place(self, store):
        now = timezone.now()
        useless = [remember(f"expired {number}", expires_at=now - timedelta(seconds=1)) for number in range(40)]
        stale, deleted = remember("stale"), remember("deleted by SQL")
        Memory.objects.filter(uuid=stale.id).update(updated_at=now - timedelta(days=31))
        wanted, session = remember("wanted", session_id="s1"), remember("elsewhere", session_id="s2")
        records = [*useless, stale, deleted, session]
        store.upsert([*(VectorPoint(record, unit(1)) for record in records), VectorPoint(wanted, unit(1, 1))])
        Memory.objects.filter(uuid=deleted.id)._raw_delete("default")
        assert self.find(store, unit(1), k=1, session="s1") == ["wanted"]
        assert self.find(store, unit(1), k=5) == ["elsewhere", "wanted"]

    def test_an_owner_whose_usable_rows_are_the_furthest_of_very_many_still_gets_them(self, store):
        rows = [
            Memory(uuid=f"00000000-0000-4000-8000-{number:012}", api_key_id="A", type="factual", content="x")
            for number in range(5000)
        ]
        Memory.objects.bulk_create(rows)
        Memory.objects.update(expires_at=timezone.now() - timedelta(days=1))
        wanted = remember("wanted")
        template = wanted.__class__
        ids = Memory.objects.exclude(uuid=wanted.id).values_list("memory_id", "uuid")
        fields = [getattr(wanted, name) for name in template.__slots__]
        points = [VectorPoint(template(memory_id, uuid, *fields[2:]), unit(1)) for memory_id, uuid in ids]
        store.upsert([*points, VectorPoint(wanted, unit(0, 1))])
        assert self.find(store, unit(1), k=3) == ["wanted"]
