"""Searches with the adaptive strategy as tests write them: memories, vectors by hand, results and reasons."""

import numpy as np

from memory import services
from memory.records import MemoryDraft, SearchQuery
from memory.search.adaptive import Explanation, explain, search_adaptive
from memory.search.vector_evidence import VectorEvidence, compare_rows

CHAT = "2023-05-08T13:56:00+00:00"


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
