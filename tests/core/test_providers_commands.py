"""`add_provider` and `list_providers`, as an operator types them."""

import io
import sys

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from core.providers.models import Provider
from core.providers.routing import resolve_route

pytestmark = pytest.mark.django_db
SECRET = "sk-test-LEAKME"


def run(*words: str) -> str:
    told = io.StringIO()
    call_command(*words, stdout=told, stderr=told)
    assert SECRET not in told.getvalue()
    return told.getvalue()


def test_a_provider_is_added_and_then_changed_without_losing_anything() -> None:
    told = run("add_provider", "Box", "--base-url", "http://127.0.0.1:9/v1/", "--api-key", SECRET, "--default")
    assert told == "Added provider box (http://127.0.0.1:9/v1), key …AKME, default\n"
    assert run("add_provider", "box", "--system-role", "none").startswith("Updated provider box")
    route = resolve_route("anything")
    assert (route.provider, route.api_key, route.system_role) == ("box", SECRET, "none")
    run("add_provider", "box", "--system-role", "auto", "--remove-api-key")
    route = resolve_route("anything")
    assert (route.base_url, route.api_key, route.system_role) == ("http://127.0.0.1:9/v1", "", "any")
    assert Provider.objects.count() == 1


def test_running_it_twice_changes_nothing() -> None:
    words = ("add_provider", "box", "--base-url", "http://127.0.0.1:9", "--api-key", SECRET, "--default")
    run(*words)
    run(*words)
    assert list(Provider.objects.values_list("name", "is_default")) == [("box", True)]


def test_a_known_provider_needs_no_address() -> None:
    assert "https://api.groq.com/openai/v1" in run("add_provider", "groq", "--api-key", SECRET)
    assert resolve_route("groq/llama").base_url == "https://api.groq.com/openai/v1"


def test_the_key_can_come_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{SECRET}\n"))
    run("add_provider", "groq", "--api-key-stdin")
    assert resolve_route("groq/llama").api_key == SECRET


@pytest.mark.parametrize(
    "words",
    [
        ("unknown-box",),
        ("box", "--base-url", "ftp://box"),
        ("box", "--base-url", f"http://user:{SECRET}@box/v1"),
        ("box", "--base-url", "http://metadata.google.internal/"),
        ("bad name", "--base-url", "http://box"),
        ("echo", "--base-url", "http://box"),
        ("groq", "--api-key", ""),
        ("groq", "--api-key", f"{SECRET} and more"),
        ("groq", "--api-key", SECRET, "--api-key-stdin"),
        ("groq", "--system-role", "last"),
    ],
)
def test_mistakes_are_told_in_one_line(words: tuple[str, ...]) -> None:
    with pytest.raises(CommandError) as told:
        run("add_provider", *words)
    assert "\n" not in str(told.value) and SECRET not in str(told.value)
    assert not Provider.objects.exists()


def test_an_empty_standard_input_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    with pytest.raises(CommandError, match="holds no key"):
        run("add_provider", "groq", "--api-key-stdin")


def test_the_list_tells_where_keys_come_from(settings: Settings) -> None:
    settings.PROVIDER_API_KEYS = {"MISTRAL_API_KEY": SECRET}
    run("add_provider", "box", "--base-url", "http://127.0.0.1:9/v1", "--api-key", SECRET, "--default")
    run("add_provider", "groq")
    lines = [line.split() for line in run("list_providers").splitlines()]
    assert lines == [
        ["NAME", "BASE", "URL", "KEY", "DEFAULT"],
        ["box", "http://127.0.0.1:9/v1", "stored", "…AKME", "yes"],
        ["groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "is", "not", "set"],
        ["mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"],
        ["echo", "built", "in", "not", "needed"],
    ]


def test_the_list_of_known_providers_holds_them_all() -> None:
    told = run("list_providers", "--known")
    assert "ollama-local" in told and "OPENAI_API_KEY is not set" in told
    assert [line.split()[0] for line in told.splitlines() if line.endswith("yes")] == ["echo"]
