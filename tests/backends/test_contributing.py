"""The examples of CONTRIBUTING.md are backends that keep the contract."""

import json
import types
from collections.abc import Iterator

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from memory import services
from memory.backends.manager import MANAGER, get_primary
from memory.records import MemoryDraft
from tests.backends.conftest import generic_config
from tests.backends.contract import BackendContract
from tests.backends.rest_service import RestService
from tests.backends.stand_in import Seen, StandIn
from tests.docs.markdown import list_blocks, read_page


class Document(StandIn):
    """One JSON document, read and written whole."""

    text = "{}"

    async def handle(self, request: Request, seen: Seen) -> Response:
        if seen.method == "PUT":
            self.text = seen.body.decode()
        return JSONResponse(json.loads(self.text))


def run_example(number: int) -> types.ModuleType:
    page = read_page("CONTRIBUTING.md").split("## Adding a backend")[1]
    block = [it for it in list_blocks(page) if it.language == "python"][number]
    module = types.ModuleType("example")
    exec(compile(block.text, "CONTRIBUTING.md", "exec"), module.__dict__)
    return module


class BrainService(RestService):
    """The same service under other paths."""

    async def handle(self, request: Request, seen: Seen) -> Response:
        seen.path = seen.path.replace("/api/memory", "/memories").replace("/api/health", "/health")
        return await super().handle(request, seen)


@pytest.fixture(scope="module")
def brain() -> Iterator[BrainService]:
    with BrainService() as service:
        yield service


@pytest.fixture(scope="module")
def document() -> Iterator[Document]:
    with Document() as service:
        yield service


class TestBrain(BackendContract):
    @pytest.fixture(autouse=True)
    def _open(self, brain: BrainService, db: None) -> None:
        brain.forget()
        self.backend = run_example(0).BrainBackend(generic_config(brain))


class TestNotebook(BackendContract):
    @pytest.fixture(autouse=True)
    def _open(self, document: Document, db: None) -> None:
        document.text = "{}"
        self.url = document.url
        self.backend = run_example(1).NotebookBackend({"baseUrl": document.url})

    def test_a_line_in_the_registry_is_enough_to_use_it(
        self, document: Document, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        module = run_example(1)
        monkeypatch.setattr("tests.backends.test_contributing.NotebookBackend", module.NotebookBackend, raising=False)
        monkeypatch.setitem(MANAGER._registry, "notebook", "tests.backends.test_contributing.NotebookBackend")
        services.change_settings({"backendConfigs": {"notebook": {"baseUrl": document.url}}})
        services.change_settings({"primaryBackend": "notebook"})
        services.create(MemoryDraft("A", "tea", "green tea"))
        assert get_primary().display_name == "Notebook"
        assert "green tea" in document.text
