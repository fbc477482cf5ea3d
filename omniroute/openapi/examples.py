"""Answers and bodies shown in the document. They are those of docs/api.md, which a test sends to a running server."""

import json
from pathlib import Path
from typing import Any, Final

EXAMPLES: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("examples.json").read_text(encoding="utf-8"))
