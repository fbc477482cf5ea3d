"""The literal tables of providers and models hold together."""

import pytest
from django.conf import settings

from core.outbound import check_url
from core.providers.registry import ALIASES, ECHO, PROVIDER_NAME, PROVIDERS, find_provider, read_system_role
from core.providers.registry_models import EMBEDDING_MODELS, RERANK_MODELS


def test_every_entry_is_usable() -> None:
    ids = [provider.id for provider in PROVIDERS]
    assert len(ids) == len(set(ids))
    for provider in PROVIDERS:
        assert PROVIDER_NAME.fullmatch(provider.id)
        if provider.id != ECHO:
            check_url(provider.base_url)
            assert not provider.base_url.endswith("/")
            assert provider.base_url.startswith("https://" if provider.needs_key else "http://127.0.0.1:")


def test_the_environment_names_are_those_that_settings_read() -> None:
    assert {provider.env_name for provider in PROVIDERS if provider.needs_key} == set(settings.PROVIDER_API_KEY_NAMES)


def test_models_belong_to_providers_that_can_serve_them() -> None:
    by_id = {provider.id: provider for provider in PROVIDERS}
    assert all(by_id[provider].embeds for provider in EMBEDDING_MODELS)
    assert {provider.id for provider in PROVIDERS if provider.reranks} == set(RERANK_MODELS)
    assert EMBEDDING_MODELS["openai"]["text-embedding-3-small"] == 1536
    assert EMBEDDING_MODELS["cohere"]["embed-v4.0"] is None


def test_aliases_lead_to_entries() -> None:
    for alias, provider_id in ALIASES.items():
        found = find_provider(f" {alias.upper()} ")
        assert found is not None and found.id == provider_id
    assert find_provider("nobody") is None


@pytest.mark.parametrize(
    "provider", ["glm", "glmt", "glm-cn", "zai", "qianfan", "o1", "o1-mini", "o1-preview", " GLM "]
)
def test_rw_016_providers_without_system_role(provider: str) -> None:
    assert read_system_role(provider, "any-model") == "none"


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        ("openai", "o1", "none"),
        ("openai", "o1-mini-2024-09-12", "none"),
        ("openrouter", "openai/o1-preview", "none"),
        ("openrouter", "openai/O1-Mini:free", "none"),
        ("openai", "gpt-4o1", "any"),
        ("openai", "o1-pro", "any"),
        ("openai", "o10", "any"),
        ("openai", "o3-mini", "any"),
        ("unknown-x", "m", "any"),
        ("xiaomi-mimo", "mimo-v2-flash", "first"),
    ],
)
def test_the_model_name_counts_too(provider: str, model: str, expected: str) -> None:
    assert read_system_role(provider, model) == expected
