"""The local cross-encoder with the real libraries and a model so small that a test can make it."""

from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from embeddings import cross_encoder
from embeddings.cross_encoder import CrossEncoderError, find_obstacle, score_texts

pytestmark = pytest.mark.usefixtures("fresh_engine")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "tea", "cats", "dogs", "what", "purrs"]


def save_bert(folder: Path, head: str, labels: int = 1) -> str:
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    pytest.importorskip("sentence_transformers")
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", model_max_length=64
    ).save_pretrained(folder)
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        num_labels=labels,
    )
    getattr(transformers, head)(config).save_pretrained(folder)
    return str(folder)


def test_texts_are_judged_from_0_to_1_each_for_itself(tmp_path: Path) -> None:
    name = save_bert(tmp_path / "ce", "BertForSequenceClassification")
    texts = ["tea", "cats", "dogs " * 500, "", "tea", "cats dogs tea"]
    together = score_texts(name, "what purrs", texts, timeout_seconds=60)
    assert len(together) == len(texts)
    assert all(0 < score < 1 for score in together)
    alone = [score_texts(name, "what purrs", [text], timeout_seconds=60)[0] for text in texts]
    assert together == pytest.approx(alone, abs=1e-5)
    assert together[0] != together[1]


@pytest.mark.parametrize(("head", "labels"), [("BertModel", 1), ("BertForMaskedLM", 1)])
def test_a_model_without_a_judging_head_is_refused(tmp_path: Path, head: str, labels: int) -> None:
    name = save_bert(tmp_path / "ce", head, labels)
    assert "no cross-encoder" in (find_obstacle(name) or "")
    with pytest.raises(CrossEncoderError):
        score_texts(name, "q", ["tea"], timeout_seconds=60)


def test_a_classifier_of_several_labels_is_refused(tmp_path: Path) -> None:
    name = save_bert(tmp_path / "ce", "BertForSequenceClassification", labels=3)
    with pytest.raises(CrossEncoderError, match="more than one score"):
        score_texts(name, "q", ["tea", "cats"], timeout_seconds=60)


def test_damaged_files_are_told_without_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = save_bert(tmp_path / "ce", "BertForSequenceClassification")
    (tmp_path / "ce" / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(CrossEncoderError) as failure:
        score_texts(name, "q", ["tea"], timeout_seconds=60)
    assert str(tmp_path) not in failure.value.message


def test_without_the_package_the_install_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_encoder.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CrossEncoderError, match="pip install"):
        score_texts("some/model", "q", ["tea"], timeout_seconds=1)


def test_a_folder_without_a_model_is_not_looked_for_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_installed(monkeypatch)
    obstacle = find_obstacle(str(tmp_path)) or ""
    assert "neither" in obstacle
    assert str(tmp_path) not in obstacle


def test_a_slow_model_is_stopped_between_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[int] = []

    def score(pairs: list[Any]) -> list[float]:
        batches.append(len(pairs))
        return [0.0] * len(pairs)

    monkeypatch.setattr(cross_encoder, "_load", lambda name: cross_encoder._LoadedModel(score))
    times = iter([1.0, 1.0, 0.0])

    class Clock:
        def seconds_left(self) -> float:
            return next(times)

    with pytest.raises(CrossEncoderError, match="in time"):
        cross_encoder._score("m", "q", ["tea"] * 50, Clock())  # type: ignore[arg-type]
    assert batches == [cross_encoder.BATCH_PAIRS] * 2


def pretend_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_encoder.importlib.util, "find_spec", lambda name: object())
