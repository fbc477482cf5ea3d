"""A folder, a cache and a memory of measurements of its own for each test; an embedding API that does as told."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.providers.configuration import ProviderChanges, save_provider
from embeddings import remote
from embeddings.base import EmbeddingConfig
from embeddings.cache import get_cache
from embeddings.failures import _FAILURES
from embeddings.measurements import forget_dimensions
from embeddings.standins import _REMEMBERED
from embeddings.transformers import _FAILED_DOWNLOADS
from tests.embeddings.configs import build_config
from tests.embeddings.failing import KEY
from tests.embeddings.model_hub import NAME, Hub
from tests.embeddings.stub_api import StubApi
from tests.embeddings.tiny_model import save_tiny_model


@pytest.fixture(autouse=True)
def own_state(settings: Any, tmp_path: Path) -> None:
    settings.MEMORY_STATIC_CACHE_DIR = tmp_path / "embeddings"
    settings.HF_HUB_CACHE = tmp_path / "hub"
    settings.HF_HUB_OFFLINE = True
    settings.PROVIDER_API_KEYS = {}
    get_cache.cache_clear()
    forget_dimensions()
    for remembered in (_FAILURES, _REMEMBERED, _FAILED_DOWNLOADS):
        remembered.clear()


@pytest.fixture
def api() -> Iterator[StubApi]:
    with StubApi() as stub:
        yield stub


@pytest.fixture
def custom(api: StubApi) -> EmbeddingConfig:
    """The API at an address of the operator's own."""
    return build_config(custom=api.url, custom_model="m")


@pytest.fixture
def keyed(api: StubApi, db: None) -> EmbeddingConfig:
    """The API as a provider that takes a key."""
    save_provider("home", ProviderChanges(base_url=f"{api.url}/v1", api_key=KEY))
    return build_config(provider_model="home/m")


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between tries, which are not made."""
    made: list[float] = []
    monkeypatch.setattr(remote, "wait", made.append)
    return made


@pytest.fixture
def tiny_model(tmp_path: Path) -> Path:
    """A static model of a handful of words."""
    return save_tiny_model(tmp_path / "tiny-model")


@pytest.fixture
def wanted_model(settings: Any) -> None:
    """The static model that the settings name: one that has to be fetched."""
    settings.MEMORY_STATIC_MODEL = NAME


@pytest.fixture
def hub(settings: Any, tmp_path: Path) -> Iterator[Hub]:
    """A hub that has a model of a handful of words."""
    with Hub(save_tiny_model(tmp_path / "served")) as served:
        settings.HF_HUB_ENDPOINT = served.url
        settings.HF_HUB_OFFLINE = False
        yield served
