"""Running servers for the pages' examples."""

from tests.live_server import (  # noqa: F401
    launch_server,
    live_server_process,
    preparation,
    session_server,
    session_upstream,
    upstream,
)
