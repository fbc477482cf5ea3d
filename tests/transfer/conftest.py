"""Fixtures of moving in and out: a data folder of one's own, files to import, an engine."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine import embedding_api, fresh_engine, tiny_model_folder  # noqa: F401


@pytest.fixture(autouse=True)
def data_dir(settings: Any, tmp_path: Path) -> Path:
    """Uploads of these tests lie apart."""
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a file to import: bytes and text as they are, anything else as JSON."""

    def write_file(content: Any, name: str = "file.json") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    return write_file
