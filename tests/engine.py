"""Fixtures of a whole search engine: a static model of a handful of words, an index, nothing remembered from before."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.db.sqlite import vec0
from core.jobs import runner
from embeddings import cross_encoder, failures, remote, standins
from embeddings.cache import get_cache
from embeddings.measurements import forget_dimensions
from memory import services
from memory.search import rerank
from memory.search.index_cache import INDEXES
from memory.vector_stores import resolver
from memory.vector_stores.matrix import MATRICES
from tests.embeddings.stub_api import StubApi
from tests.embeddings.tiny_model import save_tiny_model


@pytest.fixture(scope="session")
def tiny_model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("models") / "tiny-model")


@pytest.fixture
def fresh_engine(settings: Any, tmp_path: Path, tiny_model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No network, no key, and no state of the process that another test could have left."""
    settings.MEMORY_STATIC_MODEL = str(tiny_model_folder)
    settings.MEMORY_STATIC_CACHE_DIR = tmp_path / "embeddings"
    settings.HF_HUB_CACHE = tmp_path / "hub"
    settings.HF_HUB_OFFLINE = True
    settings.PROVIDER_API_KEYS = {}
    for name in ("available", "version", "reason"):
        monkeypatch.setattr(vec0.STATUS, name, getattr(vec0.STATUS, name))
    monkeypatch.setattr(remote, "wait", lambda seconds: None)
    get_cache.cache_clear()
    forget_dimensions()
    INDEXES.clear()
    MATRICES.clear()
    for remembered in (
        failures._FAILURES,
        standins._REMEMBERED,
        rerank._FAILURES,
        rerank._PAUSED_UNTIL,
        resolver._paused_until,
        cross_encoder._FAILED_DOWNLOADS,
        cross_encoder._LOADED,
    ):
        remembered.clear()


@pytest.fixture
def embedding_api() -> Iterator[StubApi]:
    """An embedding server of one's own that does as told."""
    with StubApi() as stub:
        yield stub


def use_static_model() -> None:
    services.change_settings({"embeddingSource": "static", "staticEnabled": True})
    runner.run_waiting_jobs()


def use_embedding_server(api: StubApi) -> None:
    services.change_settings({"embeddingSource": "remote", "customBaseUrl": api.url, "customModelId": "m"})
    runner.run_waiting_jobs()


def do_jobs() -> None:
    """Do what a server would do in the background."""
    runner.run_waiting_jobs()
