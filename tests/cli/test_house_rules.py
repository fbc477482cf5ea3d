"""Rules of the house that import-linter can't say: they name parts of packages, or attributes."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import ROOT

STOREYS = ("core", "embeddings", "qdrant_admin", "memory", "gateway", "studio", "omniroute")
# Read and changed as often as what they test and measure, so kept as small.
BESIDE_THE_HOUSE = ("tests", "benchmarks", "scripts")
# Rooms that know nothing of HTTP: they can be called from a command, a job or a tool as well.
WEB_FREE = (
    "core/db",
    "core/jobs/queue.py",
    "core/jobs/runner.py",
    "core/outbound",
    "core/providers",
    "core/runtime_settings.py",
    "embeddings",
    "memory/backends",
    "memory/extraction",
    "memory/indexing.py",
    "memory/injection.py",
    "memory/queue.py",
    "memory/retrieval.py",
    "memory/search",
    "memory/services.py",
    "memory/vector_stores",
)
ENVIRONMENT_READERS = ("omniroute/env.py",)
# They tell Django where the settings are and read nothing.
SETTINGS_NAMERS = ("omniroute/asgi.py", "omniroute/celery.py")


def list_sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        path = ROOT / folder
        yield from [path] if path.is_file() else path.rglob("*.py")


def list_imports(source: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_admin(source: Path) -> bool:
    return source.name == "admin.py"


@pytest.mark.parametrize("room", WEB_FREE)
def test_rooms_below_the_doors_know_no_http_of_django(room):
    for source in list_sources(room):
        if not is_admin(source):
            assert not [name for name in list_imports(source) if name.startswith("django.http")], source


def test_only_the_settings_read_the_environment():
    for source in list_sources(*STOREYS):
        name = str(source.relative_to(ROOT))
        if name in ENVIRONMENT_READERS:
            continue
        text = source.read_text()
        if name in SETTINGS_NAMERS:
            text = text.replace('os.environ.setdefault("DJANGO_SETTINGS_MODULE", "omniroute.settings")', "")
        assert "os.environ" not in text.replace("`os.environ`", ""), name
        assert "getenv" not in text, name


@pytest.mark.parametrize("folder", [*STOREYS, *BESIDE_THE_HOUSE])
def test_modules_stay_small(folder):
    lines = {
        str(source.relative_to(ROOT)): len(source.read_text("utf-8").splitlines()) for source in list_sources(folder)
    }
    assert lines, "nothing was measured"
    assert {name: count for name, count in lines.items() if count > 300} == {}


@pytest.mark.parametrize("folder", [*STOREYS, *BESIDE_THE_HOUSE])
def test_no_module_is_a_drawer_for_everything(folder):
    for source in list_sources(folder):
        assert not {"utils", "helpers", "common", "misc"} & {source.stem, source.parent.name}, source
