"""Stand-ins for the services behind the backends, started once, and the backends that speak to them."""

from collections.abc import Iterator
from typing import Any

import pytest

from memory.backends.generic_http import GenericMemoryBackend
from memory.backends.manager import MANAGER
from memory.backends.notion import NotionBackend
from memory.backends.obsidian import ObsidianBackend
from tests.backends import notion_workspace, obsidian_vault
from tests.backends.notion_workspace import NotionWorkspace
from tests.backends.obsidian_vault import ObsidianVault
from tests.backends.rest_service import PREFIX, RestService
from tests.engine import embedding_api, fresh_engine, tiny_model_folder  # noqa: F401


@pytest.fixture(scope="session")
def _service() -> Iterator[RestService]:
    with RestService() as service:
        yield service


@pytest.fixture(scope="session")
def _vault() -> Iterator[ObsidianVault]:
    with ObsidianVault() as vault:
        yield vault


@pytest.fixture(scope="session")
def _workspace() -> Iterator[NotionWorkspace]:
    with NotionWorkspace() as workspace:
        yield workspace


@pytest.fixture
def service(_service: RestService) -> RestService:
    _service.forget()
    return _service


@pytest.fixture
def vault(_vault: ObsidianVault) -> ObsidianVault:
    _vault.forget()
    return _vault


@pytest.fixture
def workspace(_workspace: NotionWorkspace) -> NotionWorkspace:
    _workspace.forget()
    return _workspace


@pytest.fixture(autouse=True)
def _fresh_manager() -> Iterator[None]:
    """No backend that another test has opened or registered, and none that is left alone for its failures."""
    yield
    MANAGER.shutdown()
    MANAGER._own.clear()
    MANAGER._paused_until.clear()


def generic_config(service: RestService, **fields: Any) -> dict[str, Any]:
    return {"baseUrl": f"{service.url}{PREFIX}", "apiKey": "rest-key-of-the-tests", **fields}


def obsidian_config(vault: ObsidianVault, **fields: Any) -> dict[str, Any]:
    return {"baseUrl": vault.url, "apiKey": obsidian_vault.KEY, **fields}


def notion_config(workspace: NotionWorkspace, **fields: Any) -> dict[str, Any]:
    return {
        "baseUrl": f"{workspace.url}/v1",
        "apiKey": notion_workspace.KEY,
        "databaseId": notion_workspace.DATABASE,
        "headers": {"Notion-Version": "2022-06-28"},
        **fields,
    }


@pytest.fixture
def generic(service: RestService, db: None) -> GenericMemoryBackend:
    return GenericMemoryBackend(generic_config(service))


@pytest.fixture
def obsidian(vault: ObsidianVault, db: None) -> ObsidianBackend:
    return ObsidianBackend(obsidian_config(vault))


@pytest.fixture
def notion(workspace: NotionWorkspace, db: None) -> NotionBackend:
    return NotionBackend(notion_config(workspace))
