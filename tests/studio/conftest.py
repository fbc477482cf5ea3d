"""Fixtures of the studio's tests: an operator at pages without a server, and at a running one's in a real Chromium."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from memory.summarization import counting
from tests.engine import embedding_api, fresh_engine, tiny_model_folder  # noqa: F401
from tests.live_server import (  # noqa: F401
    launch_server,
    live_server_process,
    preparation,
    session_server,
    session_upstream,
    upstream,
)
from tests.studio.browser import browser, open_studio, operator, signed_in_state, studio_page, studio_server  # noqa: F401
from tests.studio.memories_browser import key, listed  # noqa: F401


@pytest.fixture
def staff(client: Client) -> Client:
    """A browser without a script in which an operator has signed in; it needs no server."""
    client.force_login(User.objects.create_user("ona", is_staff=True))
    return client


@pytest.fixture
def three_are_many_to_compact(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is more is counted and compacted by jobs, which tell how far they are at every step."""
    monkeypatch.setattr(counting, "AT_ONCE_THINGS", 3)
    monkeypatch.setattr(counting, "TELL_SECONDS", 0.0)
