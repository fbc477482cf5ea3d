"""Fixtures of memory's tests: a whole engine and a cache without an index, for those that ask for one."""

from collections.abc import Iterator

import pytest

from memory.search.index_cache import INDEXES
from tests.engine import embedding_api, fresh_engine, tiny_model_folder  # noqa: F401
from tests.live_server import (  # noqa: F401
    launch_server,
    preparation,
    session_upstream,
    upstream,
)


@pytest.fixture
def empty_index_cache() -> Iterator[None]:
    """No index that another test has built, and none for the next one."""
    INDEXES.clear()
    yield
    INDEXES.clear()
