"""Transformers models: the package that may be missing, and what is fetched for them."""

import importlib.util
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from embeddings.base import EmbeddingError
from embeddings.model_files import BUNDLED_FOLDER, choose_cache_folder
from embeddings.resolver import embed_query, prepare, resolve
from tests.embeddings.configs import build_config
from tests.embeddings.model_hub import Hub

pytestmark = pytest.mark.usefixtures("wanted_model")

TRANSFORMERS = build_config("transformers", transformers=True)
HAS_TRANSFORMERS = importlib.util.find_spec("sentence_transformers") is not None


@pytest.mark.skipif(HAS_TRANSFORMERS, reason="sentence-transformers is installed")
def test_without_the_package_the_install_line_is_told() -> None:
    for resolution in (resolve(TRANSFORMERS), prepare(TRANSFORMERS)):
        assert resolution.source == "transformers"
        assert resolution.failure == "model_load_failed"
        assert "pip install -r requirements.txt" in resolution.reason
        assert resolution.signature == "transformers:sentence-transformers/all-MiniLM-L6-v2:384"
    with pytest.raises(EmbeddingError) as caught:
        embed_query(TRANSFORMERS, "cats")
    assert caught.value.reason == "model_load_failed"
    assert "pip install -r requirements.txt" in caught.value.message


@pytest.fixture
def as_if_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the package be found; it is never imported by what these tests do."""
    if not HAS_TRANSFORMERS:
        monkeypatch.setitem(sys.modules, "sentence_transformers", importlib.util.module_from_spec(
            importlib.util.spec_from_loader("sentence_transformers", loader=None)  # type: ignore[arg-type]
        ))  # fmt: skip


def save_transformer_files(folder: Path) -> Path:
    """The files of a sentence-transformers model, enough for what is read without loading it."""
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 12}))
    (folder / "config.json").write_text(json.dumps({"hidden_size": 99}))
    (folder / "tokenizer.json").write_text("{}")
    shutil.copy(BUNDLED_FOLDER / "model.safetensors", folder / "model.safetensors")
    return folder


def test_transformers_are_fetched_by_preparing_and_their_width_is_read(
    settings: Any, hub: Hub, tmp_path: Path, as_if_installed: None
) -> None:
    settings.MEMORY_TRANSFORMERS_MODEL = "some-org/some-model"
    hub.folder = save_transformer_files(tmp_path / "transformer")
    before = resolve(TRANSFORMERS)
    assert before.failure == "model_load_failed"
    assert "not on this machine" in before.reason
    after = prepare(TRANSFORMERS)
    assert after.is_available
    assert (after.model, after.dimensions) == ("some-org/some-model", 12)
    assert after.agrees_with(before.signature)
    folder = choose_cache_folder("some-org/some-model")
    files = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert files == {"config.json", "tokenizer.json", "model.safetensors", "1_Pooling/config.json"}
    assert not any("onnx" in path or "evil" in path or path.endswith(".bin") for path in hub.paths)


def test_a_failed_fetch_of_transformers_is_not_repeated_until_asked(hub: Hub, as_if_installed: None) -> None:
    hub.status = 503
    assert "503" in prepare(TRANSFORMERS).reason
    asked = len(hub.paths)
    prepare(TRANSFORMERS)
    assert len(hub.paths) == asked
    prepare(TRANSFORMERS, retry=True)
    assert len(hub.paths) > asked


def test_the_name_of_the_model_for_another_runtime_is_understood(settings: Any) -> None:
    settings.MEMORY_TRANSFORMERS_MODEL = "Xenova/all-MiniLM-L6-v2"
    assert resolve(TRANSFORMERS).model == "sentence-transformers/all-MiniLM-L6-v2"
