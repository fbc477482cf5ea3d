"""Pages in the pseudo-language, with something of everything in them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.test.utils import override_settings

from omniroute.languages import list_languages
from tests.engine import embedding_api, fresh_engine, tiny_model_folder  # noqa: F401
from tests.translation.pseudo_language import LANGUAGE, make_translation


@pytest.fixture(scope="session")
def translations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of translations that the real commands made, with the pseudo-language in it."""
    return make_translation(tmp_path_factory.mktemp("translation"))


@pytest.fixture
def translated(translations: Path) -> Iterator[None]:
    with override_settings(LOCALE_PATHS=[translations], LANGUAGES=list_languages(translations)):
        yield


@pytest.fixture
def reader(db: None, translated: None) -> Client:
    """An operator whose browser asks for the pseudo-language."""
    client = Client(headers={"Accept-Language": LANGUAGE})
    client.force_login(User.objects.create_superuser("ονα"))
    return client
