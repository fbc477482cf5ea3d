"""The backend contract over every backend there is."""

import pytest

from memory.backends.generic_http import GenericMemoryBackend
from memory.backends.notion import NotionBackend
from memory.backends.obsidian import ObsidianBackend
from memory.backends.sqlite import SQLiteBackend
from tests.backends.contract import BackendContract
from tests.backends.rest_service import RestService


class TestSQLite(BackendContract):
    @pytest.fixture(autouse=True)
    def _open(self, db: None, fresh_engine: None) -> None:
        self.backend = SQLiteBackend()


class TestGenericHttp(BackendContract):
    @pytest.fixture(autouse=True)
    def _open(self, generic: GenericMemoryBackend) -> None:
        self.backend = generic


class TestPlainRestService(BackendContract):
    """A service that tells no totals, ignores every filter and has no search."""

    @pytest.fixture(autouse=True)
    def _open(self, service: RestService, generic: GenericMemoryBackend) -> None:
        service.is_plain = True
        generic._endpoints["search"] = ""
        self.backend = generic


class TestObsidian(BackendContract):
    @pytest.fixture(autouse=True)
    def _open(self, obsidian: ObsidianBackend) -> None:
        self.backend = obsidian


class TestNotion(BackendContract):
    @pytest.fixture(autouse=True)
    def _open(self, notion: NotionBackend) -> None:
        self.backend = notion
