"""Static models that are on this machine: where they are found, and which of them are the same."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from embeddings.base import EmbeddingError
from embeddings.resolver import embed_documents, embed_query, prepare, resolve
from tests.embeddings.configs import build_config
from tests.embeddings.model_hub import NAME
from tests.embeddings.tiny_model import save_tiny_model

pytestmark = pytest.mark.usefixtures("wanted_model")

STATIC = build_config("static", static=True)


def test_the_bundled_model_can_be_chosen_and_needs_no_network(settings: Any) -> None:
    settings.MEMORY_STATIC_MODEL = "bundled"
    resolution = prepare(STATIC)
    assert (resolution.source, resolution.model) == ("static", "bundled")
    assert resolution.signature.startswith("static:bundled@")
    assert embed_query(STATIC, "TypeScript.").dimensions == resolution.dimensions


def test_a_folder_is_used_where_it_is_and_its_path_is_not_told(settings: Any, tiny_model: Path) -> None:
    settings.MEMORY_STATIC_MODEL = str(tiny_model)
    resolution = resolve(STATIC)
    assert (resolution.model, resolution.dimensions) == ("local/tiny-model", 4)
    assert str(tiny_model.parent) not in repr(resolution)


def test_another_content_under_the_same_folder_name_is_another_model(
    settings: Any, tmp_path: Path, tiny_model: Path
) -> None:
    settings.MEMORY_STATIC_MODEL = str(tiny_model)
    before = resolve(STATIC).signature
    settings.MEMORY_STATIC_MODEL = str(save_tiny_model(tmp_path / "elsewhere" / "tiny-model"))
    assert resolve(STATIC).signature == before
    settings.MEMORY_STATIC_MODEL = str(save_tiny_model(tmp_path / "other" / "tiny-model", scale=2.0))
    assert resolve(STATIC).signature != before


def test_another_tokenizer_makes_another_model(settings: Any, tiny_model: Path) -> None:
    settings.MEMORY_STATIC_MODEL = str(tiny_model)
    before = resolve(STATIC).signature
    tokenizer = tiny_model / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace('"cats"', '"cows"'))
    assert resolve(STATIC).signature != before


def test_our_cache_and_the_hubs_cache_are_looked_through(settings: Any, tmp_path: Path) -> None:
    snapshot = settings.HF_HUB_CACHE / "models--minishlab--potion-base-8M" / "snapshots" / "abc"
    save_tiny_model(snapshot)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("abc")
    resolution = resolve(STATIC)
    assert (resolution.model, resolution.signature) == (NAME, f"static:{NAME}:4")
    shutil.rmtree(settings.HF_HUB_CACHE)
    assert resolve(STATIC).model == "bundled"
    save_tiny_model(Path(settings.MEMORY_STATIC_CACHE_DIR) / "potion-base-8M")
    assert resolve(STATIC).model == NAME


def test_static_vectors_are_made_of_words_without_their_punctuation(settings: Any, tiny_model: Path) -> None:
    settings.MEMORY_STATIC_MODEL = str(tiny_model)
    results = embed_documents(STATIC, ["typescript.", "typescript", "unheard of"])
    assert not isinstance(results[0], EmbeddingError)
    assert not isinstance(results[1], EmbeddingError)
    assert float(results[0].vector @ results[1].vector) == pytest.approx(1)
    assert isinstance(results[2], EmbeddingError)
    assert not results[2].is_outage


def test_damaged_files_are_told_as_a_model_that_does_not_load(settings: Any, tiny_model: Path) -> None:
    settings.MEMORY_STATIC_MODEL = str(tiny_model)
    (tiny_model / "tokenizer.json").write_text("{}")
    with pytest.raises(EmbeddingError) as caught:
        embed_query(STATIC, "cats")
    assert caught.value.reason == "model_load_failed"
    assert str(tiny_model) not in caught.value.message
    (tiny_model / "model.safetensors").write_bytes(b"\xff" * 100)
    assert resolve(STATIC).failure == "model_load_failed"
