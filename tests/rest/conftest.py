"""Callers of the management endpoints, alone and at once."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections
from rest_api import MANAGEMENT_KEY, Api

from tests.engine import embedding_api, fresh_engine, tiny_model_folder  # noqa: F401


@pytest.fixture
def anonymous() -> Api:
    return Api(None)


@pytest.fixture
def api(settings: Any, db: None) -> Api:
    settings.OMNIROUTE_API_KEY = MANAGEMENT_KEY
    return Api(MANAGEMENT_KEY)


@pytest.fixture
def at_once() -> Iterator[Callable[..., list[Any]]]:
    """Run functions in threads of their own and return their results in order."""

    def run(*calls: Callable[[], Any]) -> list[Any]:
        def call_and_close(call: Callable[[], Any]) -> Any:
            try:
                return call()
            finally:
                connections.close_all()

        with ThreadPoolExecutor(len(calls)) as pool:
            return list(pool.map(call_and_close, calls))

    yield run
