"""What doesn't embed loads no model library."""

import subprocess
import sys

import pytest

PROGRAM = """
import importlib, pkgutil, sys
import django
django.setup()
import embeddings
for module in pkgutil.iter_modules(embeddings.__path__, "embeddings."):
    importlib.import_module(module.name)
for name in sys.argv[1:]:
    importlib.import_module(name)
from embeddings.base import EmbeddingConfig
from embeddings.resolver import resolve
resolve(EmbeddingConfig("static", None, None, None, True, True))
resolve(EmbeddingConfig("transformers", None, None, None, True, True))
heavy = {"torch", "transformers", "sentence_transformers", "model2vec", "tokenizers", "safetensors",
         "huggingface_hub", "onnxruntime", "sklearn", "scipy"}
print(sorted(heavy & set(sys.modules)))
"""


@pytest.mark.parametrize("doors", [[], ["memory.views", "memory.tasks", "gateway.views"]], ids=["embeddings", "doors"])
def test_importing_loads_no_model_library(doors: list[str], tmp_path: object) -> None:
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, *doors],
        capture_output=True, text=True, timeout=120, check=False,
        env={"DJANGO_SETTINGS_MODULE": "omniroute.settings", "DATA_DIR": str(tmp_path), "LOG_LEVEL": "error"},
    )  # fmt: skip
    assert result.stdout.strip() == "[]", result.stderr
