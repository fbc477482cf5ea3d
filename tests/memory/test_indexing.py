"""Indexing: flags are the truth, bad rows wait, a model change loses nothing."""

from datetime import timedelta

import numpy as np
import pytest
from django.utils import timezone

from core.jobs import runner
from embeddings.base import Embedding, EmbeddingConfig, EmbeddingError, EmbeddingResolution
from memory import indexing, queue, services
from memory.backends.base import MemoryChanges
from memory.backends.manager import get_primary
from memory.models import Memory, VectorIndex
from memory.records import MemoryDraft, SearchQuery
from memory.vector_stores import lifecycle, resolver


class FakeEmbedder:
    """Stands where the embeddings room is called: a model whose vectors a test can read, and which can fail."""

    def __init__(self) -> None:
        self.model, self.dimensions = "one", 4
        self.bad_texts: set[str] = set()
        self.is_down = False
        self.calls: list[list[str]] = []

    def resolve(self, config):
        return EmbeddingResolution(
            "static", self.model, self.dimensions, f"static:{self.model}:{self.dimensions}", "ok"
        )

    def embed_documents(self, config, texts, *, timeout_seconds=30.0):
        self.calls.append(list(texts))
        if self.is_down:
            raise EmbeddingError("static", self.model, "request_failed", "the source is down")
        return [self.embed(text) for text in texts]

    def embed_query(self, config, text, *, timeout_seconds=5.0):
        if self.is_down:
            raise EmbeddingError("static", self.model, "request_failed", "the source is down")
        return self.embed(text)

    def embed(self, text):
        if text in self.bad_texts:
            return EmbeddingError("static", self.model, "unknown", "the vector is zero", is_outage=False)
        vector = np.zeros(self.dimensions, np.float32)
        vector[{"cats": 0, "dogs": 1, "stocks": 2}.get(text, 3) % self.dimensions] = 1
        if text == "dogs":
            vector[0] = 0.9
            vector /= np.linalg.norm(vector)
        signature = f"static:{self.model}:{self.dimensions}"
        return Embedding(vector.astype(np.float32), "static", self.model, self.dimensions, signature, 0.0, False)


@pytest.fixture
def embedder(monkeypatch, db):
    fake = FakeEmbedder()
    for module in (indexing, resolver):
        for name in ("resolve", "embed_documents", "embed_query"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, getattr(fake, name))
    return fake


def remember(content: str, key: str = "", owner: str = "A"):
    return services.create(MemoryDraft(owner, key, content))


def search(text: str, strategy="semantic", owner="A"):
    return get_primary().search(SearchQuery(owner, text, strategy, 30))


def find(text: str, strategy="semantic") -> list[str]:
    return [hit.record.content for hit in search(text, strategy).hits]


def test_rw_043_a_changed_text_is_found_by_its_new_meaning_and_has_one_vector(embedder):
    remember("dogs")
    record = remember("cats", "k")
    runner.run_waiting_jobs()
    assert find("cats")[0] == "cats"
    services.update(record.id, MemoryChanges(content="stocks"))
    runner.run_waiting_jobs()
    remember("stocks", "k")
    runner.run_waiting_jobs()
    for _ in range(2):
        assert services.request_reindex(is_forced=True) == 2
        runner.run_waiting_jobs()
        assert indexing.count_pending() == 0
    assert (find("stocks")[0], find("cats")[0]) == ("stocks", "dogs")
    assert lifecycle.open_store(lifecycle.find_active()).count() == 2


def test_rw_045_rows_that_cannot_be_embedded_wait_without_stopping_the_others(embedder):
    embedder.bad_texts = {f"bad {number}" for number in range(150)}
    for number in range(150):
        remember(f"bad {number}")
    remember("cats")
    runner.run_waiting_jobs()
    assert (indexing.count_pending(), find("cats")) == (150, ["cats"])
    waiting = Memory.objects.filter(needs_reindex=True)
    assert {row.index_attempts for row in waiting} == {1}
    assert all(row.index_retry_at > timezone.now() for row in waiting)
    calls = len(embedder.calls)
    queue.enqueue_indexing()
    runner.run_waiting_jobs()
    assert len(embedder.calls) == calls, "rows were tried again before their time"
    embedder.bad_texts.clear()
    waiting.update(index_retry_at=timezone.now() - timedelta(seconds=1))
    indexing.index_batch(1000)
    assert indexing.count_pending() == 0


def test_a_row_that_fails_for_good_is_left_alone_until_somebody_asks(embedder):
    embedder.bad_texts = {"bad"}
    remember("bad")
    for _ in range(20):
        Memory.objects.update(index_retry_at=None)
        indexing.index_batch()
    assert len(embedder.calls) == indexing.MAX_ATTEMPTS
    embedder.bad_texts.clear()
    services.request_reindex(is_forced=False)
    runner.run_waiting_jobs()
    assert indexing.count_pending() == 0


def test_an_outage_leaves_the_rows_as_they_are_and_tries_again_later(embedder):
    embedder.is_down = True
    remember("cats")
    runner.run_waiting_jobs()
    row = Memory.objects.get()
    assert (row.needs_reindex, row.index_attempts) == (True, 0)
    from core.jobs.models import Job

    again = Job.objects.get(state="queued")
    assert again.run_at > timezone.now()
    embedder.is_down = False
    remember("dogs")
    runner.run_waiting_jobs()
    assert indexing.count_pending() == 0


def test_a_text_that_changes_while_it_is_embedded_stays_flagged(embedder, monkeypatch):
    record = remember("cats")

    def change_meanwhile(config, texts, *, timeout_seconds=30.0):
        results = embedder.embed_documents(config, texts)
        Memory.objects.filter(uuid=record.id).update(content="stocks")
        return results

    monkeypatch.setattr(indexing, "embed_documents", change_meanwhile)
    report = indexing.index_batch()
    assert report.errors == 0
    assert Memory.objects.get().needs_reindex
    assert lifecycle.open_store(lifecycle.find_active()).count() == 0


def test_what_was_embedded_for_an_index_that_was_retired_meanwhile_stays_flagged_for_the_next(embedder, monkeypatch):
    remember("cats")
    runner.run_waiting_jobs()
    embedder.model = "two"

    def change_the_model_once_more(config, texts, *, timeout_seconds=30.0):
        results = embedder.embed_documents(config, texts)
        embedder.model = "three"
        indexing.prepare_target()
        return results

    with monkeypatch.context() as patched:
        patched.setattr(indexing, "embed_documents", change_the_model_once_more)
        assert indexing.index_batch().errors == 0
    assert Memory.objects.get().needs_reindex, "the index of model three would never get it"
    indexing.index_batch()
    active = lifecycle.find_active()
    assert (active.signature, lifecycle.open_store(active).count()) == ("static:three:4", 1)


def test_a_model_change_is_answered_by_the_old_index_until_the_new_one_is_whole(embedder, monkeypatch):
    for text in ("cats", "dogs"):
        remember(text)
    runner.run_waiting_jobs()
    old = embedder.embed_query
    embedder.model, embedder.dimensions = "two", 3
    monkeypatch.setattr(resolver, "embed_query", lambda config, text, *, timeout_seconds: old_model(text))

    def old_model(text):
        embedder.model, embedder.dimensions = "one", 4
        try:
            return old(None, text)
        finally:
            embedder.model, embedder.dimensions = "two", 3

    assert indexing.index_batch(1).processed == 1
    outcome = search("cats")
    assert [hit.record.content for hit in outcome.hits] == ["cats", "dogs"]
    assert (outcome.vector_store, outcome.embedding_model) == ("sqlite-vec", "one")
    indexing.index_batch(1)
    indexing.index_batch(1)
    assert lifecycle.find_active().signature == "static:two:3"
    assert VectorIndex.objects.exclude(state="retired").count() == 1
    monkeypatch.setattr(resolver, "embed_query", embedder.embed_query)
    assert find("cats")[0] == "cats"


def test_hybrid_fuses_both_legs_and_tells_each_ones_part(embedder):
    remember("cats")
    remember("dogs")
    remember("about cats and more")
    runner.run_waiting_jobs()
    outcome = search("cats", "hybrid")
    first = outcome.hits[0]
    assert (first.record.content, first.tier) == ("cats", "hybrid-rrf")
    assert first.score == pytest.approx(1 / 61 + 1 / 61)
    assert (first.vector_score, first.keyword_score < 0) == (1.0, True)
    by_content = {hit.record.content: hit for hit in outcome.hits}
    assert by_content["dogs"].keyword_score is None
    assert outcome.fallback_reason is None


@pytest.mark.parametrize("strategy", ["semantic", "hybrid"])
def test_when_the_source_fails_keywords_answer_and_the_reason_is_told(embedder, strategy):
    remember("cats")
    runner.run_waiting_jobs()
    embedder.is_down = True
    outcome = search("cats", strategy)
    assert [hit.record.content for hit in outcome.hits] == ["cats"]
    assert outcome.hits[0].tier == "fts5"
    assert "the source is down" in outcome.fallback_reason
    assert outcome.vector_store == "none"


def test_a_source_that_times_out_costs_one_search_and_not_every_one(embedder, monkeypatch):
    remember("cats")
    runner.run_waiting_jobs()
    asked = []

    def hang(config, text, *, timeout_seconds):
        asked.append(text)
        raise EmbeddingError("remote", "one", "timeout", "the source did not answer in time")

    monkeypatch.setattr(resolver, "embed_query", hang)
    monkeypatch.setattr(resolver, "_paused_until", {})
    reasons = [search("cats").fallback_reason for _ in range(3)]
    assert asked == ["cats"]
    assert "did not answer" in reasons[0] and "timed out a moment ago" in reasons[2]
    monkeypatch.setattr(resolver, "_paused_until", {})
    monkeypatch.setattr(resolver, "embed_query", embedder.embed_query)
    assert search("cats").fallback_reason is None


def test_an_owner_without_vectors_falls_back_to_keywords(embedder):
    remember("cats", owner="B")
    runner.run_waiting_jobs()
    remember("cats and dogs")
    outcome = search("cats")
    assert [hit.record.content for hit in outcome.hits] == ["cats and dogs"]
    assert "nothing" in outcome.fallback_reason


def test_lazy_backfill_indexes_a_few_of_the_owners_rows(embedder):
    remember("dogs")
    runner.run_waiting_jobs()
    for number in range(30):
        remember(f"cats {number}")
        remember(f"theirs {number}", owner="B")
    config = EmbeddingConfig("auto", None, None, None, transformers_enabled=False, static_enabled=True)
    indexing.backfill_owner("A", config, limit=20, timeout_seconds=0.3)
    assert Memory.objects.filter(needs_reindex=False).count() == 21
    assert not Memory.objects.filter(needs_reindex=False, api_key_id="B").exists()
