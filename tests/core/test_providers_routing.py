"""From a model name to a provider, its address and its key."""

import pytest
from django.conf import settings as django_settings
from django.db import IntegrityError
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pytest_django import Settings

from core.errors import InvalidFieldsError, InvalidRequestError, NotFoundError
from core.providers.configuration import ProviderChanges, save_provider
from core.providers.models import Provider
from core.providers.routing import list_routes, resolve_route

pytestmark = pytest.mark.django_db


def set_env_keys(settings: Settings, **keys: str) -> None:
    settings.PROVIDER_API_KEYS = {**dict.fromkeys(django_settings.PROVIDER_API_KEY_NAMES, ""), **keys}


def test_a_model_is_split_at_its_first_slash(settings: Settings) -> None:
    set_env_keys(settings, OPENROUTER_API_KEY="sk-or")
    route = resolve_route(" OpenRouter /meta-llama/llama-3.1-8b:free")
    assert (route.provider, route.model) == ("openrouter", "meta-llama/llama-3.1-8b:free")
    assert (route.base_url, route.api_key) == ("https://openrouter.ai/api/v1", "sk-or")
    assert "sk-or" not in repr(route)


def test_a_stored_provider_wins_over_the_registry(settings: Settings) -> None:
    set_env_keys(settings, OPENAI_API_KEY="sk-env")
    save_provider("OpenAI", ProviderChanges(base_url="http://127.0.0.1:9/v1/", api_key=" sk-row "))
    route = resolve_route("openai/gpt-4o")
    assert (route.base_url, route.api_key) == ("http://127.0.0.1:9/v1", "sk-row")


def test_a_key_of_the_environment_goes_to_the_known_address_only(settings: Settings) -> None:
    set_env_keys(settings, OPENAI_API_KEY="sk-env")
    save_provider("openai", ProviderChanges(system_role="first"))
    assert resolve_route("openai/gpt-4o").api_key == "sk-env"
    save_provider("openai", ProviderChanges(base_url="https://elsewhere.example/v1"))
    assert resolve_route("openai/gpt-4o").api_key == ""


def test_a_provider_without_its_key_says_how_to_add_it(settings: Settings) -> None:
    set_env_keys(settings)
    with pytest.raises(InvalidRequestError) as told:
        resolve_route("groq/llama")
    assert (told.value.status, told.value.code, told.value.param) == (400, "provider_not_configured", "model")
    assert "GROQ_API_KEY" in told.value.message and "add_provider groq" in told.value.message


def test_local_providers_need_no_key(settings: Settings) -> None:
    set_env_keys(settings)
    assert resolve_route("ollama-local/llama3").base_url == "http://127.0.0.1:11434/v1"
    assert resolve_route("LM-Studio/qwen").provider == "lmstudio"


@pytest.mark.parametrize(
    "model", ["", " ", "/", "/gpt", "openai/", "openai/  ", "bad name/gpt", "a\x00/gpt", "\ud83d/x"]
)
def test_a_model_that_names_nothing_is_not_found(model: str) -> None:
    with pytest.raises(NotFoundError) as told:
        resolve_route(model)
    assert (told.value.code, told.value.param) == ("model_not_found", "model")
    assert "provider/model" in told.value.message


def test_an_unknown_provider_is_told_how_to_write_a_model_with_a_slash() -> None:
    with pytest.raises(NotFoundError) as told:
        resolve_route("meta-llama/llama-3.1-8b")
    assert "openrouter/meta-llama/" in told.value.message


@hypothesis_settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=30) | st.tuples(st.text(max_size=12), st.text(max_size=12)).map("/".join))
def test_any_model_gives_a_route_or_a_clear_error(model: str) -> None:
    try:
        route = resolve_route(model)
    except InvalidRequestError as error:
        assert error.code in ("model_not_found", "provider_not_configured")
        return
    assert route.model and route.provider == route.provider.strip().lower()


def test_a_bare_model_goes_to_the_default_provider(settings: Settings) -> None:
    set_env_keys(settings)
    assert resolve_route("gpt-4o").provider == "echo"
    set_env_keys(settings, GROQ_API_KEY="g", MISTRAL_API_KEY="m", VOYAGE_API_KEY="v")
    assert resolve_route("gpt-4o").provider == "mistral"
    settings.DEFAULT_PROVIDER = "groq"
    assert resolve_route("gpt-4o").provider == "groq"
    save_provider("box", ProviderChanges(base_url="http://127.0.0.1:9/v1", is_default=True))
    route = resolve_route(" gpt-4o ")
    assert (route.provider, route.model) == ("box", "gpt-4o")


def test_there_is_one_default_at_most() -> None:
    for name in ("one", "two", "one"):
        save_provider(name, ProviderChanges(base_url="http://127.0.0.1:9", is_default=True))
        assert list(Provider.objects.filter(is_default=True).values_list("name", flat=True)) == [name]
    save_provider("one", ProviderChanges(is_default=False))
    assert not Provider.objects.filter(is_default=True).exists()


def test_the_database_refuses_a_second_default() -> None:
    Provider.objects.create(name="one", is_default=True)
    with pytest.raises(IntegrityError):
        Provider.objects.create(name="two", is_default=True)


def test_system_roles_come_from_the_row_then_the_model_then_the_registry(settings: Settings) -> None:
    set_env_keys(settings, OPENAI_API_KEY="k", ZAI_API_KEY="k", XIAOMI_API_KEY="k")
    assert resolve_route("openai/o1-mini").system_role == "none"
    assert resolve_route("zai/glm-5").system_role == "none"
    assert resolve_route("xiaomi-mimo/mimo").system_role == "first"
    save_provider("openai", ProviderChanges(system_role="any"))
    assert resolve_route("openai/o1-mini").system_role == "any"
    save_provider("openai", ProviderChanges(system_role=""))
    assert resolve_route("openai/o1-mini").system_role == "none"


def test_keys_are_encrypted_and_only_their_end_is_known() -> None:
    provider, created = save_provider("box", ProviderChanges(base_url="http://127.0.0.1:9", api_key="sk-test-LEAKME"))
    assert created and provider.api_key_hint == "AKME"
    assert "LEAKME" not in provider.api_key_encrypted
    assert resolve_route("box/m").api_key == "sk-test-LEAKME"
    short, _ = save_provider("box", ProviderChanges(api_key="short"))
    assert short.api_key_hint == "" and short.has_key
    gone, created = save_provider("box", ProviderChanges(api_key=""))
    assert not created and not gone.has_key and resolve_route("box/m").api_key == ""


def test_a_changed_secret_key_is_told_clearly(settings: Settings) -> None:
    save_provider("box", ProviderChanges(base_url="http://127.0.0.1:9", api_key="sk-test-LEAKME"))
    settings.SECRET_KEY = "another"
    with pytest.raises(InvalidRequestError) as told:
        resolve_route("box/m")
    assert told.value.code == "provider_not_configured"
    assert "SECRET_KEY has changed" in told.value.message and "add_provider box" in told.value.message
    assert [route.provider for route in list_routes()] == ["echo"]


def test_a_key_of_the_environment_that_no_header_can_carry_is_told(settings: Settings) -> None:
    set_env_keys(settings, GROQ_API_KEY="smart “quotes”")
    with pytest.raises(InvalidRequestError, match="GROQ_API_KEY holds"):
        resolve_route("groq/llama")


@pytest.mark.parametrize(
    ("name", "changes", "field"),
    [
        ("", ProviderChanges(base_url="http://127.0.0.1:9"), "name"),
        ("a/b", ProviderChanges(base_url="http://127.0.0.1:9"), "name"),
        ("x" * 65, ProviderChanges(base_url="http://127.0.0.1:9"), "name"),
        ("echo", ProviderChanges(base_url="http://127.0.0.1:9"), "name"),
        ("box", ProviderChanges(), "base_url"),
        ("box", ProviderChanges(base_url="box:9"), "base_url"),
        ("box", ProviderChanges(base_url="http://u:p@box"), "base_url"),
        ("box", ProviderChanges(base_url="http://169.254.169.254/v1"), "base_url"),
        ("box", ProviderChanges(base_url="http://box", api_key="two words"), "api_key"),
        ("box", ProviderChanges(base_url="http://box", api_key="line\r\nx: y"), "api_key"),
        ("box", ProviderChanges(base_url="http://box", system_role="last"), "system_role"),
    ],
)
def test_what_cannot_work_is_not_stored(name: str, changes: ProviderChanges, field: str) -> None:
    with pytest.raises(InvalidFieldsError) as told:
        save_provider(name, changes)
    assert told.value.details[0].field == field
    assert not Provider.objects.exists()


def test_configured_providers_are_listed_once_each(settings: Settings) -> None:
    set_env_keys(settings, OPENAI_API_KEY="a", GROQ_API_KEY="b")
    save_provider("openai", ProviderChanges(api_key="sk-row"))
    save_provider("box", ProviderChanges(base_url="http://127.0.0.1:9"))
    save_provider("mistral", ProviderChanges(system_role="any"))  # stored, but no key anywhere
    assert [(route.provider, route.api_key) for route in list_routes()] == [
        ("box", ""),
        ("openai", "sk-row"),
        ("groq", "b"),
        ("echo", ""),
    ]
