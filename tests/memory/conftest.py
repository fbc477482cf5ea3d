"""Fixtures of memory's tests: a whole engine, for those that ask for one."""

from tests.engine import embedding_api, fresh_engine, tiny_model_folder  # noqa: F401
from tests.live_server import (  # noqa: F401
    launch_server,
    preparation,
    session_upstream,
    upstream,
)
