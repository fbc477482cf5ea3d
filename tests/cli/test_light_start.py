"""The server starts without what requirements.txt adds to requirements-core.txt, and without what only some requests
need: they import it when it is asked for."""

import subprocess
import sys

from processes import ROOT

OPTIONAL = (
    "mcp",
    "qdrant_client",
    "sentence_transformers",
    "torch",
)
START_WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1:]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
import omniroute.asgi
"""


def test_the_server_starts_without_what_is_dear_to_import(data_dir):
    result = subprocess.run(
        [sys.executable, "-c", START_WITHOUT, *OPTIONAL],
        cwd=ROOT,
        env={"DATA_DIR": str(data_dir)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
