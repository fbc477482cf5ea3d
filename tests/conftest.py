"""Fixtures of the whole suite. Its environment is set by `tests.environment`, see pytest.ini."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings


@pytest.fixture(autouse=True)
def no_upload_is_left() -> Iterator[None]:
    """Uploads lie in a folder, which no rolled back transaction empties: the next test would have them erased."""
    yield
    shutil.rmtree(Path(settings.DATA_DIR) / "imports", ignore_errors=True)
