"""`make run` installs requirements-core.txt alone: the server must start without what requirements.txt adds."""

import subprocess
import sys

from processes import ROOT

OPTIONAL = (
    "django_htmx",
    "drf_spectacular",
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


def test_the_server_starts_with_the_core_requirements_alone(data_dir):
    result = subprocess.run(
        [sys.executable, "-c", START_WITHOUT, *OPTIONAL],
        cwd=ROOT,
        env={"DATA_DIR": str(data_dir)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
