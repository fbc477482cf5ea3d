"""What every embedding source must do. A test module gives the sources; these are the checks."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from embeddings.base import EmbeddingError, EmbeddingSource, Vector
from embeddings.pipeline import embed_texts


@dataclass(frozen=True)
class Subject:
    """A source under test; `open` makes it afresh, and `close_to` are three texts of which the first two are nearer."""

    open: Callable[[], EmbeddingSource]
    dimensions: int
    texts: tuple[str, ...] = ("cats purr", "dogs bark", "tea")
    close_to: tuple[str, str, str] | None = None


def embed(source: EmbeddingSource, texts: list[str]) -> list[Vector]:
    results = source.embed(texts, purpose="document", timeout_seconds=30.0)
    vectors = [result for result in results if not isinstance(result, EmbeddingError)]
    assert len(vectors) == len(texts), [result for result in results if isinstance(result, EmbeddingError)]
    return vectors


class SourceContract:
    """Inherit, and give a fixture `subject`."""

    def test_every_text_gets_its_own_vector_in_order(self, subject: Subject) -> None:
        source = subject.open()
        together = embed(source, list(subject.texts))
        alone = [embed(source, [text])[0] for text in subject.texts]
        for one, other in zip(together, alone, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)
        assert not np.allclose(together[0], together[1], atol=1e-3)

    def test_vectors_are_unit_float32_of_the_told_width_and_can_not_be_changed(self, subject: Subject) -> None:
        source = subject.open()
        for vector in embed(source, list(subject.texts)):
            assert vector.dtype == np.float32
            assert vector.shape == (subject.dimensions,)
            assert abs(float(np.linalg.norm(vector.astype(np.float64))) - 1) < 1e-5
            assert not vector.flags.writeable
        assert source.resolution.dimensions == subject.dimensions

    def test_the_signature_after_the_first_vector_is_that_of_the_model_before(self, subject: Subject) -> None:
        source = subject.open()
        before = source.resolution
        embed(source, [subject.texts[0]])
        assert source.resolution.agrees_with(before.signature)
        assert source.resolution.signature.endswith(f":{subject.dimensions}")
        assert subject.open().resolution.agrees_with(source.resolution.signature)

    def test_the_same_text_has_the_same_vector_in_a_source_opened_anew(self, subject: Subject) -> None:
        first = embed(subject.open(), [subject.texts[0]])[0]
        again = embed(subject.open(), [subject.texts[0]])[0]
        np.testing.assert_allclose(first, again, atol=1e-6)

    def test_no_texts_are_no_vectors(self, subject: Subject) -> None:
        assert subject.open().embed([], purpose="document", timeout_seconds=1.0) == []

    def test_long_and_odd_texts_spoil_no_other(self, subject: Subject) -> None:
        source = subject.open()
        plain = subject.texts[0]
        odd = [plain, "x " * 20_000, "茶" * 3_000, "🙂" * 50, "\x00\x01", "مرحبا", plain]
        results = source.embed(odd, purpose="document", timeout_seconds=60.0)
        assert len(results) == len(odd)
        first, last = results[0], results[-1]
        assert not isinstance(first, EmbeddingError)
        assert not isinstance(last, EmbeddingError)
        np.testing.assert_allclose(first, last, atol=1e-5)

    def test_a_question_and_a_document_are_as_wide(self, subject: Subject) -> None:
        source = subject.open()
        question = source.embed([subject.texts[0]], purpose="query", timeout_seconds=5.0)[0]
        assert not isinstance(question, EmbeddingError)
        assert question.shape == (subject.dimensions,)

    def test_threads_get_what_one_alone_gets(self, subject: Subject) -> None:
        source = subject.open()
        expected = dict(zip(subject.texts, embed(source, list(subject.texts)), strict=True))
        with ThreadPoolExecutor(4) as pool:
            texts = list(subject.texts) * 6
            for text, vector in zip(texts, pool.map(lambda text: embed(source, [text])[0], texts), strict=True):
                np.testing.assert_allclose(vector, expected[text], atol=1e-5)

    def test_more_texts_than_a_batch_come_back_whole_and_are_cached(self, subject: Subject) -> None:
        source = subject.open()
        texts = [subject.texts[number % len(subject.texts)] + " tea" * number for number in range(40)]
        first = embed_texts(source, texts, "document", 30.0)
        second = embed_texts(source, texts, "document", 30.0)
        for one, other in zip(first, second, strict=True):
            assert not isinstance(one, EmbeddingError)
            assert not isinstance(other, EmbeddingError)
            assert other.cached
            assert other.latency_ms == 0
            assert one.signature == other.signature
            np.testing.assert_array_equal(one.vector, other.vector)

    def test_what_is_alike_lies_near(self, subject: Subject) -> None:
        if subject.close_to is None:
            return
        one, near, far = embed(subject.open(), list(subject.close_to))
        assert float(one @ near) > float(one @ far)
