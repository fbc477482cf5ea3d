"""The cache of vectors."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embeddings.base import check_vector
from embeddings.cache import EmbeddingCache, build_cache_key

VECTOR = check_vector([1.0, 2.0], 2)
KEYS = st.sampled_from("abcdef")
STEPS = st.lists(st.tuples(st.sampled_from(["get", "put", "wait"]), KEYS), max_size=60)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def read(self) -> float:
        return self.now


@given(STEPS, st.integers(0, 4), st.integers(1, 5))
def test_it_forgets_the_old_and_the_long_unused_and_counts_every_look_up(
    steps: list[tuple[str, str]], max_entries: int, ttl: int
) -> None:
    clock = Clock()
    cache = EmbeddingCache(max_entries, ttl, clock.read)
    model: dict[str, float] = {}  # key -> stored at; the order is that of use
    hits = misses = 0
    for step, key in steps:
        if step == "wait":
            clock.now += 1
        elif step == "put":
            model.pop(key, None)
            model[key] = clock.now
            while len(model) > max_entries:
                del model[next(iter(model))]
            cache.put(key, VECTOR)
        else:
            is_kept = key in model and clock.now < model[key] + ttl
            if is_kept:
                model[key] = model.pop(key)
            else:
                model.pop(key, None)
            hits, misses = hits + is_kept, misses + (not is_kept)
            assert (cache.get(key) is VECTOR) == is_kept
    statistics = cache.read_statistics()
    assert (statistics.hits, statistics.misses, statistics.size) == (hits, misses, len(model))


def test_threads_lose_no_count() -> None:
    cache = EmbeddingCache(100, 60)
    cache.put("a", VECTOR)
    with ThreadPoolExecutor(8) as pool:
        assert all(vector is VECTOR for vector in pool.map(lambda _: cache.get("a"), range(800)))
    assert cache.read_statistics().hits == 800


def test_the_key_is_the_signature_and_the_hash_of_the_text() -> None:
    key = build_cache_key("static:bundled:4", "text", "query", False)
    assert key == "static:bundled:4:982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"
    assert key == build_cache_key("static:bundled:4", "text", "document", False)
    assert build_cache_key("s:m:4", "text", "query", True) != build_cache_key("s:m:4", "text", "document", True)


def test_nobody_can_change_a_cached_vector() -> None:
    cache = EmbeddingCache(10, 60)
    cache.put("a", VECTOR)
    vector = cache.get("a")
    assert vector is not None
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 9
