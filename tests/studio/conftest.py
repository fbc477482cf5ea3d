"""Fixtures of the studio's tests: a really running server with an operator, and pages in a real Chromium."""

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
