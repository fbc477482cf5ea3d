"""Which source a configuration comes to (contract 10, B7)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.providers.configuration import ProviderChanges, save_provider
from embeddings.base import EmbeddingError
from embeddings.resolver import (
    embed_documents,
    embed_query,
    list_embedding_providers,
    pin,
    read_cache_statistics,
    resolve,
)
from tests.embeddings.configs import build_config
from tests.embeddings.stub_api import Reply, StubApi

SMALL = "openai/text-embedding-3-small"


@pytest.fixture(autouse=True)
def bundled(settings: Any, db: None) -> None:
    settings.MEMORY_STATIC_MODEL = "bundled"


def give_key(settings: Any, *names: str) -> None:
    settings.PROVIDER_API_KEYS = dict.fromkeys(names, "sk-1234567890123")


# --- auto ---


def test_auto_takes_the_first_listed_provider_with_a_key(settings: Any) -> None:
    give_key(settings, "VOYAGE_API_KEY", "MISTRAL_API_KEY", "ANTHROPIC_API_KEY")
    resolution = resolve(build_config("auto", static=True))
    assert (resolution.source, resolution.model) == ("remote", "mistral/mistral-embed")
    assert resolution.signature == "remote:mistral/mistral-embed:1024"


def test_auto_lets_the_chosen_model_go_first_when_its_provider_has_a_key(settings: Any) -> None:
    give_key(settings, "OPENAI_API_KEY", "VOYAGE_API_KEY")
    assert resolve(build_config("auto", "voyage-ai/voyage-4")).model == "voyage-ai/voyage-4"
    give_key(settings, "OPENAI_API_KEY")
    assert resolve(build_config("auto", "voyage-ai/voyage-4")).model == SMALL


def test_auto_without_a_key_takes_static_then_transformers_then_nothing() -> None:
    assert resolve(build_config("auto", static=True, transformers=True)).source == "static"
    assert resolve(build_config("auto", transformers=True)).source == "transformers"
    nothing = resolve(build_config("auto"))
    assert (nothing.source, nothing.model, nothing.dimensions) == (None, None, None)
    assert nothing.signature == "null:null:null"
    assert not nothing.is_available
    assert nothing.reason


def test_auto_takes_a_server_on_this_machine_only_once_it_was_added(api: StubApi) -> None:
    assert resolve(build_config("auto")).source is None
    save_provider("ollama-local", ProviderChanges(base_url=api.url))
    assert resolve(build_config("auto")).model == "ollama-local/embeddinggemma"


def test_auto_takes_a_custom_endpoint_that_is_set(settings: Any, api: StubApi) -> None:
    give_key(settings, "OPENAI_API_KEY")
    assert resolve(build_config("auto", custom=api.url, custom_model="m")).model == "memory-custom/m"
    assert resolve(build_config("auto", custom=api.url)).model == SMALL


@pytest.mark.parametrize("status", [429, 500, 401])
def test_what_a_provider_answers_never_changes_the_signature(api: StubApi, status: int) -> None:
    save_provider("openai", ProviderChanges(base_url=api.url, api_key="sk-1234567890123"))
    config = build_config("auto", static=True)
    before = resolve(config)
    api.answer = lambda asked: Reply(status=status)
    for _ in range(3):
        with pytest.raises(EmbeddingError):
            embed_query(config, "one")
    assert resolve(config) == before


# --- explicit sources ---


def test_remote_without_a_model_or_a_key_says_no_key(settings: Any) -> None:
    missing = resolve(build_config("remote"))
    assert missing.source is None
    assert missing.reason.startswith("no_key")
    keyless = resolve(build_config("remote", SMALL))
    assert (keyless.source, keyless.failure) == ("remote", "no_key")
    assert keyless.reason.startswith("no_key")
    give_key(settings, "OPENAI_API_KEY")
    assert resolve(build_config("remote", SMALL)).signature == keyless.signature
    assert resolve(build_config("remote", SMALL)).is_available


def test_asking_without_a_source_is_an_error_of_its_own() -> None:
    for config, reason in (
        (build_config("auto"), "unknown"),
        (build_config("remote"), "no_key"),
        (build_config("remote", SMALL), "no_key"),
        (build_config("static"), "unknown"),
    ):
        for ask in (lambda c=config: embed_query(c, "x"), lambda c=config: embed_documents(c, ["x"])):  # type: ignore[misc]
            with pytest.raises(EmbeddingError) as caught:
                ask()
            assert caught.value.reason == reason
            assert caught.value.source in ("remote", "static")


@pytest.mark.parametrize("name", ["static", "transformers"])
def test_a_local_source_needs_its_switch(name: Any) -> None:
    resolution = resolve(build_config(name))
    assert resolution.source is None
    assert f"{name}Enabled" in resolution.reason


def test_a_custom_endpoint_needs_both_fields(api: StubApi) -> None:
    for config in (build_config(custom=api.url), build_config(custom_model="m")):
        resolution = resolve(config)
        assert resolution.source is None
        assert "customBaseUrl" in resolution.reason
        assert "customModelId" in resolution.reason


def test_the_signature_of_a_custom_endpoint_holds_its_host(api: StubApi) -> None:
    resolution = resolve(build_config(custom=api.url, custom_model="org/m"))
    assert resolution.model == "memory-custom/org/m"
    assert f"127.0.0.1:{api.port}" in resolution.signature
    other = resolve(build_config(custom="http://other.example/v1", custom_model="org/m"))
    assert not other.agrees_with(resolution.signature)


def test_a_provider_nobody_knows_and_echo_are_told(settings: Any) -> None:
    for model in ("nobody/m", "echo/echo", "openai/", "/m", ""):
        resolution = resolve(build_config("remote", model))
        assert resolution.source is None
        assert resolution.reason


def test_a_bare_model_name_is_found_at_the_provider_that_has_it(settings: Any) -> None:
    give_key(settings, "OPENAI_API_KEY")
    assert resolve(build_config("remote", "text-embedding-3-small")).model == SMALL
    assert resolve(build_config("remote", "no-such-model")).source is None


def test_one_model_has_one_signature_however_its_provider_is_spelled(settings: Any) -> None:
    give_key(settings, "VOYAGE_API_KEY")
    signatures = {resolve(build_config("remote", f"{name}/voyage-4")).signature for name in ("voyage", "Voyage-AI")}
    assert signatures == {"remote:voyage-ai/voyage-4:1024"}


# --- pinning ---


def test_a_pinned_configuration_stays_with_its_model(settings: Any, api: StubApi, tiny_model: Path) -> None:
    automatic = build_config("auto", static=True)
    on_static = pin(automatic)
    static = resolve(automatic)
    save_provider("home", ProviderChanges(base_url=api.url))
    on_custom = pin(build_config("auto", custom=api.url, custom_model="m"))
    on_provider = pin(build_config("auto", "home/m"))
    give_key(settings, "OPENAI_API_KEY")
    settings.MEMORY_STATIC_MODEL = str(tiny_model)
    assert resolve(automatic).source == "remote"
    assert resolve(on_static).signature == static.signature
    assert resolve(on_custom).model == "memory-custom/m"
    assert resolve(on_provider).model == "home/m"
    assert pin(on_static) == on_static
    assert pin(build_config("auto", static=True)).provider_model == SMALL
    assert embed_query(on_static, "cats").signature == static.signature


def test_what_comes_to_nothing_is_pinned_as_it_is() -> None:
    config = build_config("remote")
    assert pin(config) == config
    assert pin(replace(config, source="static")) == replace(config, source="static")


# --- lists and figures ---


def test_the_registry_and_then_added_providers_are_listed(settings: Any, api: StubApi) -> None:
    give_key(settings, "OPENAI_API_KEY")
    save_provider("home", ProviderChanges(base_url=api.url))
    save_provider("cohere", ProviderChanges(api_key="co-1234567890123"))
    providers = list_embedding_providers()
    by_name = {provider.provider: provider for provider in providers}
    assert providers[0].provider == "openai"
    assert providers[-1].provider == "home"
    assert (by_name["home"].has_key, by_name["home"].models) == (True, ())
    assert by_name["openai"].has_key
    assert by_name["cohere"].has_key
    assert not by_name["mistral"].has_key
    assert "echo" not in by_name
    assert "anthropic" not in by_name
    small = next(model for model in by_name["openai"].models if model.id == SMALL)
    assert (small.name, small.dimensions) == ("text-embedding-3-small", 1536)
    assert by_name["cohere"].models[0].dimensions is None


def test_the_cache_is_shared_and_its_statistics_are_told() -> None:
    config = build_config("static", static=True)
    document = embed_documents(config, ["cats sleep"])[0]
    query = embed_query(build_config("auto", static=True), "cats sleep")
    assert not isinstance(document, EmbeddingError)
    assert query.cached
    statistics = read_cache_statistics()
    assert (statistics.hits, statistics.misses, statistics.size) == (1, 1, 1)


def test_resolving_asks_no_network(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr("socket.socket", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    settings.HF_HUB_OFFLINE = False
    settings.MEMORY_STATIC_MODEL = "minishlab/potion-base-8M"
    give_key(settings, "OPENAI_API_KEY")
    for config in (
        build_config("auto"),
        build_config("static", static=True),
        build_config("transformers", transformers=True),
        build_config(custom="http://somewhere.example", custom_model="m"),
    ):
        resolve(config)
    embed_query(build_config("static", static=True), "cats")
