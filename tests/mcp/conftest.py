"""One really running server for the agents of this folder."""

from collections.abc import Callable

import pytest
from mcp_client import RawCaller

from tests.engine import fresh_engine, tiny_model_folder  # noqa: F401
from tests.live_server import (  # noqa: F401
    Key,
    LiveServer,
    launch_server,
    preparation,
    session_server,
    session_upstream,
    upstream,
)


@pytest.fixture
def server(session_server: LiveServer) -> LiveServer:  # noqa: F811
    return session_server


@pytest.fixture
def key(server: LiveServer) -> Key:
    return server.take_key()


@pytest.fixture
def raw(server: LiveServer) -> Callable[[Key | None], RawCaller]:
    return lambda key: RawCaller(server, key)


@pytest.fixture(scope="session")
def scoped_keys(session_server: LiveServer) -> dict[str, Key]:  # noqa: F811
    """A key that may only read, and one that may only write."""
    return {scope: session_server.create_key(scope, "--scope", scope) for scope in ("read:memory", "write:memory")}
