"""Which requests are answered in the browser's language: pages are, programs never."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client
from django.test.utils import override_settings
from django.urls import path
from django.utils import translation
from django.utils.translation import gettext_lazy

from omniroute.languages import list_languages

# Django's own word, in Django's own German.
YES = gettext_lazy("yes,no,maybe")


def tell_language(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"{translation.get_language()}: {YES}")


async def tell_language_async(request: HttpRequest) -> HttpResponse:
    return tell_language(request)


ADDRESSES = ("page", "api/tell", "v1/tell", "page-async", "v1/tell-async")
urlpatterns = [path(it, tell_language_async if it.endswith("async") else tell_language) for it in ADDRESSES]
PAGES, PROGRAMS = ("/page", "/page-async"), ("/api/tell", "/v1/tell", "/v1/tell-async")


@pytest.fixture(autouse=True)
def two_languages() -> Iterator[None]:
    with override_settings(ROOT_URLCONF=__name__, LANGUAGES=[("en", "English"), ("de", "Deutsch")]):
        yield


def ask(address: str, **headers: str) -> Any:
    return Client(headers={"Accept-Language": "de-CH, en;q=0.5", **headers}).get(address)


@pytest.mark.parametrize("address", PAGES)
def test_a_page_speaks_the_language_of_the_browser(address):
    answer = ask(address)
    assert answer.content.decode() == "de: Ja,Nein,Vielleicht"
    assert answer.headers["Content-Language"] == "de"
    assert "Accept-Language" in answer.headers["Vary"]


@pytest.mark.parametrize("address", PAGES)
def test_a_cookie_says_more_than_the_browser(address):
    client = Client(headers={"Accept-Language": "de"})
    client.cookies["django_language"] = "en"
    assert client.get(address).content.decode().startswith("en:")


@pytest.mark.parametrize("address", PAGES)
@pytest.mark.parametrize("asked", ["fr", "", "*", "\u00e4;q=x", "x" * 3000])
def test_where_there_is_no_translation_a_page_is_english(address, asked):
    assert Client(headers={"Accept-Language": asked}).get(address).content.decode() == "en: yes,no,maybe"


@pytest.mark.parametrize("address", PROGRAMS)
def test_programs_are_answered_in_english_also_after_a_page(address):
    assert ask("/page").content.decode().startswith("de:")
    answer = ask(address)
    assert answer.content.decode() == "en: yes,no,maybe"
    assert "Content-Language" not in answer.headers
    assert "Accept-Language" not in answer.headers.get("Vary", "")


def test_an_asynchronous_server_keeps_the_languages_of_requests_apart():
    async def ask_all() -> list[str]:
        client = AsyncClient()
        asked = [("/page-async", "de"), ("/v1/tell-async", "de"), ("/page", "en"), ("/page-async", "de")]
        answers = await asyncio.gather(
            *(client.get(it, headers={"Accept-Language": language}) for it, language in asked)
        )
        return [answer.content.decode()[:3] for answer in answers]

    assert asyncio.run(ask_all()) == ["de:", "en:", "en:", "de:"]


def test_a_language_is_one_when_somebody_has_compiled_a_translation(tmp_path: Path):
    assert list_languages(tmp_path / "none") == [("en", "English")]
    for name, file in (("de", "django.mo"), ("pt_BR", "django.mo"), ("fr", "django.po"), ("tlh", "django.mo")):
        (tmp_path / name / "LC_MESSAGES").mkdir(parents=True)
        (tmp_path / name / "LC_MESSAGES" / file).touch()
    assert list_languages(tmp_path) == [
        ("en", "English"),
        ("de", "Deutsch"),
        ("pt-br", "Português Brasileiro"),
        ("tlh", "tlh"),
    ]
