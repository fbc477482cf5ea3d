"""Vectors of texts that were embedded lately, shared by all callers of the process."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from threading import Lock

from django.conf import settings

from embeddings.base import Purpose, Vector


@dataclass(frozen=True)
class CacheStatistics:
    """Look-ups since the process started, and how many vectors are kept now."""

    hits: int
    misses: int
    size: int


class EmbeddingCache:
    """A dictionary that forgets what is older than `ttl_seconds` and, when full, what was used longest ago.

    Values are read-only arrays, so nobody can change what the next caller gets. Only successes belong in here.
    """

    def __init__(self, max_entries: int, ttl_seconds: float, read_clock: Callable[[], float] = time.monotonic) -> None:
        self._max_entries = max_entries
        self._ttl_seconds = ttl_seconds
        self._read_clock = read_clock
        self._lock = Lock()
        self._entries: OrderedDict[str, tuple[float, Vector]] = OrderedDict()
        self._hits = 0
        self._misses = 0

    def get(self, key: str) -> Vector | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None and self._read_clock() < entry[0]:
                self._entries.move_to_end(key)
                self._hits += 1
                return entry[1]
            self._entries.pop(key, None)
            self._misses += 1
            return None

    def put(self, key: str, vector: Vector) -> None:
        with self._lock:
            self._entries[key] = (self._read_clock() + self._ttl_seconds, vector)
            self._entries.move_to_end(key)
            while len(self._entries) > self._max_entries:
                self._entries.popitem(last=False)

    def clear(self) -> None:
        """Forget every vector and the counts."""
        with self._lock:
            self._entries.clear()
            self._hits = self._misses = 0

    def read_statistics(self) -> CacheStatistics:
        with self._lock:
            return CacheStatistics(self._hits, self._misses, len(self._entries))


def build_cache_key(signature: str, text: str, purpose: Purpose, tells_purposes_apart: bool) -> str:
    """Return `source:model:dimensions:sha256`; a source that tells queries from documents has a key for each."""
    told = f"{purpose}\0{text}" if tells_purposes_apart else text
    return f"{signature}:{sha256(told.encode()).hexdigest()}"


@cache
def get_cache() -> EmbeddingCache:
    """Return the one cache of the process, as large and as patient as the settings say."""
    return EmbeddingCache(settings.MEMORY_EMBEDDING_CACHE_MAX, settings.MEMORY_EMBEDDING_CACHE_TTL_MS / 1000)
