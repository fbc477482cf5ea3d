"""Upkeep makes indexes smaller and changes nothing that a search finds."""

import numpy as np
import pytest
from django.db import connection
from django.utils import timezone

from memory import services, upkeep
from memory.backends.manager import get_primary
from memory.models import VectorIndex
from memory.records import MemoryDraft, MemoryRecord, SearchQuery
from memory.tasks import do_upkeep
from memory.vector_stores import lifecycle
from memory.vector_stores.base import VectorPoint
from memory.vector_stores.sqlite_vec import CHUNK_ROWS

pytestmark = pytest.mark.django_db
DIMENSIONS = 8


@pytest.fixture(params=["none", "int8"])
def store(request):
    index = VectorIndex.objects.create(
        table_name="vec_memories",
        signature=f"static:one:{DIMENSIONS}",
        config={},
        dimensions=DIMENSIONS,
        quantization=request.param,
        state=VectorIndex.State.ACTIVE,
    )
    opened = lifecycle.open_store(index)
    if opened is None:
        pytest.skip("no vec0 here")
    opened.drop_table()
    opened.create_table()
    yield opened
    opened.drop_table()


def make_points(owner: str, memory_ids: range) -> list[VectorPoint]:
    random = np.random.default_rng(memory_ids.start)
    now = timezone.now()
    points = []
    for memory_id in memory_ids:
        vector = random.normal(size=DIMENSIONS).astype(np.float32)
        record = MemoryRecord(memory_id, str(memory_id), owner, "", "factual", "", "text", {}, now, now, None)
        points.append(VectorPoint(record, vector / np.linalg.norm(vector)))
    return points


def test_holes_that_deletions_left_are_closed_and_every_vector_stays_what_it_was(store):
    store.upsert(make_points("big", range(1, 641)))
    store.upsert(make_points("small", range(1001, 1011)))
    store.delete(memory_id for memory_id in range(1, 641) if memory_id % 8)
    ids, vectors = store.read(None)
    before = store.count_chunks()
    assert before == 11
    freed = upkeep.close_vector_holes()
    assert freed > 5 and store.count_chunks() == before - freed
    ids_after, vectors_after = store.read(None)
    assert ids_after.tolist() == ids.tolist()
    assert np.allclose(vectors_after, vectors)
    assert store.read(None, range(1001, 1011))[0].tolist() == list(range(1001, 1011))
    assert upkeep.close_vector_holes() == 0, "there was still something to close"


def test_many_small_owners_are_no_holes(store):
    for owner in range(20):
        store.upsert(make_points(f"owner {owner}", range(owner * 100 + 1, owner * 100 + 6)))
    assert upkeep.close_vector_holes() == 0
    assert store.count_chunks() == 20


def test_a_full_chunk_is_left_alone(store):
    store.upsert(make_points("A", range(1, CHUNK_ROWS * 3 + 1)))
    assert store.list_sparse_chunks() == []


def find(text: str) -> list[tuple[str, float | None]]:
    query = SearchQuery(owner="A", text=text, strategy="hybrid", retention_days=30)
    return [(hit.record.content, hit.keyword_score) for hit in get_primary().search(query).hits]


def count_segments() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(DISTINCT segid) FROM memory_fts_idx")
        return int(cursor.fetchone()[0])


def test_the_full_text_index_is_merged_and_finds_the_same():
    for number in range(40):
        services.create(MemoryDraft("A", f"k{number}", f"apple number {number} in the basket"))
    before = find("apple 7")
    segments = count_segments()
    do_upkeep({})
    assert count_segments() <= max(1, segments)
    assert find("apple 7") == before
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO memory_fts(memory_fts, rank) VALUES ('integrity-check', 1)")
    assert upkeep.merge_fulltext_index() == 0, "merging never ends"
